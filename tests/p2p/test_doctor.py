# SPDX-License-Identifier: BSD-3-Clause
"""`pktpit doctor` on a machine whose paths are known: what it says of them, and to whom."""

import pytest
from lib.configuration import MEMORIES
from lib.topology import IVSHMEM, NIC_ADDRESSES, NVME

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has no doctor")


@requirement("the doctor finds every NIC and every memory, and that they meet in the switch")
def test_finds_the_switch(machine, report):
    status, text = machine.guest.run("pktpit doctor", check=False)
    report.passage(f"guest$ pktpit doctor        (exit status {status})\n{text}")
    found = machine.guest.json("pktpit doctor --json; true")
    pairs = {(pair["nic"], pair["memory"]): pair for pair in found["pairs"]}
    assert set(pairs) == {(nic, memory) for nic in NIC_ADDRESSES for memory in (IVSHMEM, NVME)}
    for (nic, memory), pair in pairs.items():
        assert pair["way"] == "same switch" and not pair["redirected"] and pair["turn"] == "0000:01:00.0"
        assert pair["hops"][0] == nic and pair["hops"][-1] == memory
        assert pair["verdict"] in ("direct", "hindered")
    assert status == {"direct": 0, "hindered": 1}[found["verdict"]]
    for address in (*NIC_ADDRESSES, IVSHMEM, NVME):
        assert address in text


@requirement("the doctor's exit status is its verdict on a configuration: payload in main memory is no P2P")
@pytest.mark.parametrize("memory", ["ivshmem", "cmb", "hugepages"])
def test_verdict_on_a_configuration(machine, memory):
    device = MEMORIES[memory]["payload_memory"].get("pci")
    pairs = [pair for pair in machine.guest.json("pktpit doctor --json; true")["pairs"] if pair["memory"] == device]
    assert len(pairs) == (len(NIC_ADDRESSES) if device else 0)
    status, said = machine.guest.run(f"pktpit doctor /etc/pktpit/{memory}-few.json", check=False)
    assert status == (int(any(pair["verdict"] == "hindered" for pair in pairs)) if device else 2), said
    assert (device or "hugepages") in said
