# SPDX-License-Identifier: BSD-3-Clause
"""The memory device is taken away while frames flow: drops under a name, and not one byte written after that."""

import hashlib
import threading

import pytest
from lib.configuration import MEMORIES
from lib.host import ping
from lib.topology import PORTS
from lib.traffic import assert_all_right, exchange, flood
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer memory")
COUNTER = "drop_memory_revoked"
LATE = 300


def digest(file):
    return hashlib.blake2b(file.read_bytes()).hexdigest()


def answers(machine):
    return [ping(machine, port, family) for port in range(PORTS) for family in (4, 6)]


class Flow(threading.Thread):
    """A burst on its way while the test does something else."""

    def __init__(self, wires, burst):
        super().__init__(daemon=True)
        self.wires, self.burst, self.good, self.outcome = wires, burst, 0, None
        self.start()

    def run(self):
        self.outcome = exchange(self.wires, self.burst, window=64, patience=1.0, progress=self.count)

    def count(self, good):
        self.good = good


@pytest.fixture(scope="session")
def revoked(bench, machine, memory, routers, report, progress, seed):
    """What was seen around the removal; afterwards the device is there again."""
    router = routers.want(machine, memory, bench.few)
    device = MEMORIES[memory]["payload_memory"]["pci"]
    machine.peer_memory(memory)  # its address is known from now on
    flow = Flow(machine.wires, bench.few.burst(8_000, f"{seed} revoked {memory}"))
    probe = bench.few.burst(40, f"{seed} probe {memory}")
    try:
        wait_for(lambda: flow.good > 200, "frames flow")
        machine.guest.run(f"echo 1 > /sys/bus/pci/devices/{device}/remove")
        flow.join()

        def a_drop():
            flood(machine.wires, probe)
            return router.verdicts().get(COUNTER, 0)

        wait_for(a_drop, f"a drop counted as {COUNTER}", 0.2)
        router.settle()
        pings = answers(machine)  # ports take frames in their order: what was sent before has had its turn
        counted, before = router.verdicts()[COUNTER], digest(machine.peer_memory(memory))
        late = bench.few.burst(LATE, f"{seed} late {memory}")
        outcome = exchange(machine.wires, late, window=LATE, patience=1)
        pings += answers(machine)
        assert not any(late.tag_of(frame) for wire in machine.wires for frame in wire.pending)
        after, dropped = digest(machine.peer_memory(memory)), router.verdicts()[COUNTER] - counted
        progress(f"{memory} was taken away; {dropped} drops since")
        report.row(f"control: {memory} taken away", outcome)
        report.note(f"{memory} taken away: {flow.outcome.good:,} frames before, none after; {dropped} drops counted as {COUNTER}.")
        yield flow.outcome, outcome, before == after, dropped, pings
    finally:
        flow.join()
        routers.stop()
        machine.guest.run("echo 1 > /sys/bus/pci/rescan")
        machine.guest.wait_for(f"test -e /sys/bus/pci/devices/{device}/resource2")


@requirement("what leaves around the removal is right or does not leave")
def test_no_frame_leaves_damaged(revoked):
    before, after = revoked[:2]
    assert not before.wrong and not after.wrong
    assert before.twice == after.twice == 0


@requirement("without its memory the router drops, and counts the drops by their reason")
def test_frames_are_dropped_under_a_name(revoked):
    _, outcome, _, dropped, _ = revoked
    assert outcome.good == 0
    assert outcome.sent == dropped == LATE


@requirement("nothing is written to memory that has been revoked: it may be somebody else's by now")
def test_no_byte_of_the_memory_changes(revoked):
    assert revoked[2]


@requirement("the host's own traffic goes on without peer memory")
def test_ping_is_answered(revoked):
    assert all(revoked[4])


@requirement("the device comes back: a restarted daemon forwards by it again")
def test_forwards_again_with_the_device_back(revoked, bench, machine, memory, routers, seed):
    routers.stop()
    machine.guest.run("echo 1 > /sys/bus/pci/rescan")
    router = routers.want(machine, memory, bench.few)
    burst = bench.few.burst(500, f"{seed} back {memory}")
    outcome = exchange(machine.wires, burst)
    assert_all_right(outcome, 500)
    assert router.hardware_split() >= 500
