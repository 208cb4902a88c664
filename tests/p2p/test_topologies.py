# SPDX-License-Identifier: BSD-3-Clause
"""Two switches and NICs at three root ports: some reach the memory within its switch, others by way of the root complex. All of
it is emulated, and so are the ways: it shows that addresses and mappings are right for each, and what the doctor says."""

import json

import pytest
from lib import peer_device
from lib.configuration import configuration
from lib.scan import Memory
from lib.topology import PORTS, SPREAD
from lib.traffic import assert_all_right, exchange
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer memory")
FRAMES = 1_000
IN_THE_SWITCH = SPREAD.nics[:2]


@pytest.fixture(scope="module")
def spread(bench, routers, progress):
    made = bench.boot(more=peer_device.options, layout=SPREAD)
    progress(f"a machine with two switches is up after {made.boot_seconds:.1f} s")
    for memory in ("ivshmem", "peer"):
        text = json.dumps(configuration(memory, bench.few.name, SPREAD))
        made.guest.run(f"printf %s '{text}' >/etc/pktpit/{memory}-{bench.few.name}.json")
    yield made
    routers.stop()
    made.close()


def forwarded(bench, spread, report, name, seed):
    """From each port to each, and where it has been."""
    for wire in spread.wires:
        wire.drain()
    spread.forget_messages()
    burst = bench.few.burst(FRAMES, f"{seed} {name}")
    assert len({(frame.ingress, frame.egress) for frame in burst.frames.values()}) == PORTS * PORTS
    outcome = exchange(spread.wires, burst)
    ram, bar = Memory(spread.ram), Memory(spread.peer_memory("ivshmem"))
    report.row(name, outcome, ram.payloads(burst), bar.payloads(burst), bar.headers(burst))
    assert_all_right(outcome, FRAMES)
    assert ram.payloads(burst) == 0 and bar.payloads(burst) > 0
    assert not spread.iommu_faults()
    return burst, ram


@requirement("the doctor tells NICs behind the memory's switch from those that reach it by way of the root complex")
def test_the_doctor(spread, report):
    status, text = spread.guest.run("pktpit doctor", check=False)
    report.passage(f"two switches, three root ports: guest$ pktpit doctor        (exit status {status})\n{text}")
    found = spread.guest.json("pktpit doctor --json; true")
    ways = {(pair["nic"], pair["memory"]): pair["way"] for pair in found["pairs"]}
    assert set(ways) == {(nic, memory) for nic in SPREAD.nics for memory in (SPREAD.ivshmem, SPREAD.nvme)}
    for (nic, _), way in ways.items():
        assert way == ("same switch" if nic in IN_THE_SWITCH else "root complex")


@requirement("four NICs behind two switches and at root ports of their own forward NIC to NIC, whichever way they reach the memory")
def test_nic_to_nic(bench, spread, routers, report, seed):
    router = routers.want(spread, "ivshmem", bench.few)
    router.settle()
    assert all(port["nic"]["direct"] for port in router.show("ports")["ports"])
    forwarded(bench, spread, report, "two switches, three root ports", seed)


@requirement("a peer device polls and rings NICs behind another switch and at another root port, too")
def test_with_a_peer_device(bench, spread, routers, report, seed):
    routers.stop()  # who had the memory for payloads
    device = peer_device.PeerDevice(spread, [spread.bar(nic, 0) for nic in SPREAD.nics])
    device.memory[:peer_device.FIRST_PAGE] = bytes(peer_device.FIRST_PAGE)  # payloads of the test before lie there
    device.start()
    try:
        router = routers.want(spread, "peer", bench.few)
        wait_for(device.ready, "the peer device has its programs")
        router.settle()
        before = device.total("forwarded")
        burst, ram = forwarded(bench, spread, report, "a peer device, two switches, three root ports", seed)
        assert device.total("forwarded") - before == FRAMES and ram.headers(burst) == 0
        routers.stop()
    finally:
        device.close()
