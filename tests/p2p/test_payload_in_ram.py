# SPDX-License-Identifier: BSD-3-Clause
"""A control: with payloads in hugepages every packet goes by way of RAM, and the search of RAM must say so."""

import pytest
from lib.scan import Memory
from lib.traffic import assert_all_right, exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no payload memory")
FRAMES = 1_000


@pytest.fixture(scope="module")
def seen(bench, machine, routers, report, seed):
    router = routers.want(machine, "hugepages", bench.few)
    burst = bench.few.burst(FRAMES, f"{seed} hugepages")
    split = router.hardware_split()
    outcome = exchange(machine.wires, burst)
    found = Memory(machine.ram).payloads(burst)
    peers = [Memory(machine.peer_memory(name)) for name in ("ivshmem", "cmb")]
    peer, headers = sum(memory.payloads(burst) for memory in peers), sum(memory.headers(burst) for memory in peers)
    report.row("control: payloads in hugepages", outcome, found, peer, headers, router.hardware_split() - split)
    return outcome, found, peer


@requirement("without peer memory the router forwards all the same")
def test_every_frame_is_forwarded(seen):
    outcome = seen[0]
    assert_all_right(outcome, FRAMES)


@requirement("the search of RAM finds payload that is there: where it finds none, there is none")
def test_payload_is_found_in_ram(seen):
    assert seen[1] > 0
    assert seen[2] == 0
