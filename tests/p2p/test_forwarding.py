# SPDX-License-Identifier: BSD-3-Clause
"""Ten thousand frames a memory: where they leave, what they look like, and where their bytes have been."""

from dataclasses import dataclass

import pytest
from lib.scan import Memory
from lib.traffic import Burst, Outcome, exchange

requirement = pytest.mark.requirement
FRAMES = 10_000


@dataclass
class Seen:
    burst: Burst
    outcome: Outcome
    ram: int
    ram_headers: int
    peer: int
    peer_headers: int
    split: int
    faults: list


@pytest.fixture(scope="session")
def seen(bench, machine, memory, routers, report, progress, seed):
    router = routers.want(machine, memory, bench.full)
    burst = bench.full.burst(FRAMES, f"{seed} {memory}")
    machine.forget_messages()
    before = router.hardware_split()
    outcome = exchange(machine.wires, burst)
    progress(f"{outcome.good:,} of {outcome.sent:,} frames came out right; reading the machine's memory")
    split = router.hardware_split() - before
    ram, peer = Memory(machine.ram), Memory(machine.peer_memory(memory))
    found = Seen(burst, outcome, ram.payloads(burst), ram.headers(burst), peer.payloads(burst), peer.headers(burst), split,
                 machine.iommu_faults())
    report.row(f"payloads in {memory}", outcome, found.ram, found.peer, found.peer_headers, found.split)
    report.note(f"Payloads in {memory}: for {burst.decided:,} of {FRAMES:,} frames a shorter prefix would have led elsewhere.")
    return found


@requirement("every frame leaves, by the port that the longest matching prefix names; none lost, none twice")
def test_every_frame_leaves_by_the_right_port(seen):
    misled = [(port, wanted.egress) for port, _, wanted in seen.outcome.wrong if port != wanted.egress]
    assert not misled, f"{len(misled)} frames left elsewhere, (port, port wanted): {misled[:10]}"
    assert not seen.outcome.missing, f"{len(seen.outcome.missing)} frames are lost, first {seen.outcome.missing[:3]}"
    assert seen.outcome.twice == 0
    assert seen.outcome.good == seen.outcome.sent == FRAMES


@requirement("RFC 1812 5.2.1, RFC 8200 3: a forwarded packet is the packet, but for MACs, TTL and checksum")
def test_every_frame_is_what_was_sent(seen):
    changed = [(frame, wanted) for port, frame, wanted in seen.outcome.wrong if port == wanted.egress]
    assert not changed, f"{len(changed)} frames are altered; first:\n{changed[0][0].hex()}\nwanted:\n{changed[0][1].expected.hex()}"


@requirement("the longest match chooses: shorter prefixes that cover a destination lead elsewhere for many frames")
def test_longest_match_had_to_choose(seen):
    assert seen.burst.decided > FRAMES // 10
    assert len({frame.egress for frame in seen.burst.frames.values()}) == 4


@requirement("payload is never in main memory")
@pytest.mark.pktpit("Linux forwards by way of RAM")
def test_no_payload_in_ram(seen):
    assert seen.ram == 0


@requirement("payload goes from NIC to NIC by way of the peer memory")
@pytest.mark.pktpit("Linux knows no peer memory")
def test_payload_in_peer_memory(seen):
    assert seen.peer > 0


@requirement("headers are in main memory alone")
@pytest.mark.pktpit("Linux knows no peer memory")
def test_headers_in_ram_alone(seen):
    assert seen.ram_headers > 0
    assert seen.peer_headers == 0


@requirement("it is the NIC that splits header and payload, for every frame with a payload")
@pytest.mark.pktpit("Linux does not ask for it")
def test_every_frame_was_split_by_hardware(seen):
    assert seen.split == seen.outcome.sent


@requirement("no device reaches for an address that is not mapped for it")
def test_the_iommu_has_reported_no_fault(seen):
    assert not seen.faults
