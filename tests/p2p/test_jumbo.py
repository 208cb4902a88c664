# SPDX-License-Identifier: BSD-3-Clause
"""Frames of up to 9,014 bytes in slots that hold them; and at the end a clean stop."""

import pytest
from lib.configuration import JUMBO_MTU
from lib.scan import Memory
from lib.topology import PORTS
from lib.traffic import assert_all_right, exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux would go by way of RAM")
FRAMES = 500
LARGEST = JUMBO_MTU + 14


@requirement("jumbo frames are forwarded whole, their payloads off main memory, as far as a slot holds them")
def test_jumbo_frames(bench, machine, routers, report, seed):
    router = routers.want(machine, "jumbo", bench.few)
    machine.forget_messages()
    burst = bench.few.burst(FRAMES, f"{seed} jumbo", smallest=1515, largest=LARGEST)
    before = router.hardware_split()
    outcome = exchange(machine.wires, burst, window=64)
    ram, peer = Memory(machine.ram), Memory(machine.peer_memory("ivshmem"))
    report.row("jumbo frames, in ivshmem", outcome, ram.payloads(burst), peer.payloads(burst), peer.headers(burst),
               router.hardware_split() - before)
    assert_all_right(outcome, FRAMES)
    assert any(len(frame.sent) == LARGEST for frame in burst.frames.values())
    assert ram.payloads(burst) == 0 and peer.payloads(burst) > 0 and peer.headers(burst) == 0
    assert not machine.iommu_faults()


@requirement("SIGTERM: exit status 0; the NICs go back to whoever had them, taps and socket are gone, no DMA goes on")
def test_clean_stop_leaves_nothing(bench, machine, routers):
    routers.want(machine, "jumbo", bench.few)
    machine.forget_messages()
    assert "p0" in interfaces(machine)
    routers.stop()
    assert not interfaces(machine) & {f"p{port}" for port in range(PORTS)}
    assert "p2p.sock" not in machine.guest.output("ls /run/pktpit")
    assert machine.guest.output("ls /sys/bus/pci/drivers/vfio-pci | grep ^0000 || true") == ""
    assert not machine.iommu_faults()


def interfaces(machine):
    return set(machine.guest.output("ls /sys/class/net").split())
