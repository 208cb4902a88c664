# SPDX-License-Identifier: BSD-3-Clause
"""A NIC that writes where it was not told to, as with malicious firmware: its receive ring is moved, behind the daemon's back, to
descriptors that the test writes. What the IOMMU lets through is what the NIC's domain may write."""

import struct

import pytest
from lib.topology import IVSHMEM, IVSHMEM_BAR, NIC_ADDRESSES, PORTS
from lib.traffic import assert_all_right, exchange, flood, wait_until_free
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has one owner of all memory")
FRAMES = 300
MALICIOUS, VICTIM = 0, 1
# Registers of the 82574L (datasheet, 10.2.5): base of the receive ring.
RECEIVE_BASE_LOW, RECEIVE_BASE_HIGH = 0x2800, 0x2804
DESCRIPTORS = 256
BUFFERS = 4  # of a descriptor of its packet split
LINE = 4096


class Rogue:
    """The NIC, and the payload memory as seen from outside of the machine, shared out evenly among the ports."""

    def __init__(self, machine, router):
        self.machine, self.router = machine, router
        self.registers, _ = machine.bar(NIC_ADDRESSES[MALICIOUS], 0)
        self.bus, size = machine.bar(IVSHMEM, IVSHMEM_BAR)
        self.part = size // PORTS
        self.file = machine.peer_memory("ivshmem")

    def end_of_part(self, port, back):
        """Offset: slots there are free, since the lowest are taken first."""
        return (port + 1) * self.part - back

    def write(self, offset, data):
        with open(self.file, "r+b") as memory:
            memory.seek(offset)
            memory.write(data)

    def read(self, offset, length):
        with open(self.file, "rb") as memory:
            memory.seek(offset)
            return memory.read(length)

    def base(self):
        return [int(self.machine.guest.output(f"devmem {self.registers + at:#x} 32"), 16) for at in (RECEIVE_BASE_LOW, RECEIVE_BASE_HIGH)]

    def move_ring(self, address):
        for at, value in ((RECEIVE_BASE_LOW, address & 0xFFFFFFFF), (RECEIVE_BASE_HIGH, address >> 32)):
            self.machine.guest.run(f"devmem {self.registers + at:#x} 32 {value}")

    def receive_into(self, offset):
        """All descriptors name this place. They lie where the NIC may write, since it writes them back."""
        ring = self.end_of_part(MALICIOUS, 16 * LINE)
        self.write(ring, struct.pack(f"<{BUFFERS}Q", *([self.bus + offset] * BUFFERS)) * DESCRIPTORS)
        self.move_ring(self.bus + ring)

    def resets(self):
        return self.router.counters()["ports"][f"p{MALICIOUS}"]["nic"]["resets"]


@pytest.fixture
def rogue(bench, machine, routers):
    router = routers.want(machine, "ivshmem", bench.few)
    router.settle()
    machine.forget_messages()
    yield Rogue(machine, router)
    machine.forget_messages()
    routers.stop()


def burst_into(bench, seed, what, port, frames=FRAMES):
    return bench.few.burst(frames, f"{seed} {what}", ports=[port])


def all_is_well_again(bench, machine, rogue, before, seed, report, what):
    """The daemon finds the ring out of step and resets the NIC, which then has its own ring back."""
    wait_for(lambda: rogue.resets() > before, "the NIC was reset")
    wait_for(lambda: all(port["up"] for port in rogue.router.show("ports")["ports"]), "the link is up again")
    wait_until_free(machine.wires, bench.few.burst(20, f"{seed} {what} free"))
    outcome = exchange(machine.wires, bench.few.burst(FRAMES, f"{seed} {what} afterwards"))
    report.row(f"after {what}", outcome)
    assert_all_right(outcome, FRAMES)


@requirement("a NIC writes its own slots and no other's: the IOMMU refuses, names the NIC, and the slot is untouched")
@pytest.mark.parametrize("owner", [VICTIM, MALICIOUS], ids=["of another", "its own (control)"])
def test_slots(bench, machine, rogue, report, seed, owner):
    before = rogue.resets()
    target = rogue.end_of_part(owner, 4 * LINE)
    rogue.write(target, bytes(LINE))
    rogue.receive_into(target)
    flood(machine.wires, burst_into(bench, seed, f"slots {owner}", MALICIOUS))
    wait_for(lambda: rogue.resets() > before, "the NIC was reset")
    faults = machine.iommu_faults()
    if owner == MALICIOUS:
        assert rogue.read(target, LINE) != bytes(LINE) and not faults, faults
    else:
        assert rogue.read(target, LINE) == bytes(LINE), "nothing was written"
        assert any("Write" in fault and NIC_ADDRESSES[MALICIOUS][5:] in fault for fault in faults), faults
    all_is_well_again(bench, machine, rogue, before, seed, report, "writes into " + ("another's slots" if owner == VICTIM else "its own slots"))


@requirement("a NIC reaches no other's rings, not even to read, and the other forwards on")
def test_rings(bench, machine, rogue, report, seed):
    before = rogue.resets()
    victim = Rogue(machine, rogue.router)
    victim.registers, _ = machine.bar(NIC_ADDRESSES[VICTIM], 0)
    low, high = victim.base()
    rogue.move_ring(high << 32 | low)
    flood(machine.wires, burst_into(bench, seed, "rings", MALICIOUS))
    wait_for(lambda: machine.iommu_faults(), "a fault")
    assert any(NIC_ADDRESSES[MALICIOUS][5:] in fault for fault in machine.iommu_faults())
    for wire in machine.wires:
        wire.drain()
    outcome = exchange(machine.wires, bench.few.burst(FRAMES, f"{seed} meanwhile", ports=[VICTIM], wanted=lambda egress: egress != MALICIOUS))
    report.row(f"p{VICTIM}, while p{MALICIOUS} is at its ring", outcome)
    assert_all_right(outcome, FRAMES)
    if rogue.resets() == before:  # it received nothing that the daemon could miss: the next frames do not come
        flood(machine.wires, burst_into(bench, seed, "rings again", MALICIOUS))
    all_is_well_again(bench, machine, rogue, before, seed, report, "reading another's ring")
