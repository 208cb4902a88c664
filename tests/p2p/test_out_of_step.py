# SPDX-License-Identifier: BSD-3-Clause
"""A NIC that goes on at another place of its receive ring than the driver waits at, as after write-backs that are wrong."""

import pytest
from lib.topology import NIC_ADDRESSES
from lib.traffic import assert_all_right, exchange, flood, wait_until_free
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has a driver of its own")
FRAMES = 500
PORT = 1
RECEIVE_HEAD = 0x2810  # RDH of the 82574L, in units of 16 bytes
DESCRIPTOR = 2  # of them
RING = 256


@requirement("a receive ring out of step is told, the NIC is reset and counted, and forwards again")
def test_is_reset(bench, machine, routers, report, seed):
    router = routers.want(machine, "ivshmem", bench.few)
    router.settle()
    machine.forget_messages()

    def resets():
        return router.counters()["ports"][f"p{PORT}"]["nic"]["resets"]

    assert resets() == 0
    bar = int(machine.guest.output(f"head -n 1 /sys/bus/pci/devices/{NIC_ADDRESSES[PORT]}/resource").split()[0], 16)
    head = int(machine.guest.output(f"devmem {bar + RECEIVE_HEAD:#x} 32"), 16)
    machine.guest.run(f"devmem {bar + RECEIVE_HEAD:#x} 32 {(head + 128 * DESCRIPTOR) % (RING * DESCRIPTOR)}")
    flood(machine.wires, bench.few.burst(FRAMES, f"{seed} lost", ports=[PORT]))
    wait_for(lambda: resets() == 1, "the NIC was reset")
    assert "out of step" in router.log()
    wait_for(lambda: all(port["up"] for port in router.show("ports")["ports"]), "the link is up again")
    wait_until_free(machine.wires, bench.few.burst(20, f"{seed} free"))
    burst = bench.few.burst(FRAMES, f"{seed} after the reset")
    outcome = exchange(machine.wires, burst)
    report.row("after a ring out of step", outcome)
    assert_all_right(outcome, FRAMES)
    assert resets() == 1
    assert not machine.iommu_faults()
