# SPDX-License-Identifier: BSD-3-Clause
"""kill -9 while frames flow, and a fresh daemon: the NICs are reset, and no DMA goes on without its owner."""

import hashlib

import pytest
from lib.scan import Memory
from lib.traffic import assert_all_right, exchange, flood, wait_until_free

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux forwarding has no daemon")
FRAMES = 1_000


def digest(file):
    return hashlib.blake2b(file.read_bytes()).hexdigest()


@requirement("a daemon that is gone leaves no NIC behind that still writes; the next one resets them and forwards")
def test_killed_and_started_again(bench, machine, memory, routers, report, progress, seed):
    router = routers.want(machine, memory, bench.few)
    machine.forget_messages()
    flood(machine.wires, bench.few.burst(500, f"{seed} killed {memory}"))
    router.kill()
    left = digest(machine.peer_memory(memory))
    flood(machine.wires, bench.few.burst(500, f"{seed} dead {memory}"))
    machine.guest.run("true")  # the guest has had its turn
    assert digest(machine.peer_memory(memory)) == left, "a NIC writes into peer memory though its daemon is gone"
    router.start()
    progress("the daemon was killed and started again")
    wait_until_free(machine.wires, bench.few.burst(20, f"{seed} free {memory}"))
    burst = bench.few.burst(FRAMES, f"{seed} restarted {memory}")
    outcome = exchange(machine.wires, burst)
    ram, peer = Memory(machine.ram), Memory(machine.peer_memory(memory))
    report.row(f"after kill -9, {memory}", outcome, ram.payloads(burst), peer.payloads(burst), peer.headers(burst))
    assert_all_right(outcome, FRAMES)
    assert ram.payloads(burst) == 0 and peer.payloads(burst) > 0
    assert not machine.iommu_faults()
