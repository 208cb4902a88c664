# SPDX-License-Identifier: BSD-3-Clause
"""A control: peer memory that the IOMMU does not map for the NICs. Then not one frame may come out right, whatever the
router itself counts: what is proven is proven outside."""

import pytest
from lib.scan import Memory
from lib.traffic import exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer memory")
FRAMES = 200
LEAVE_UNMAPPED = "PKTPIT_TEST_LEAVE_PAYLOAD_UNMAPPED=1"


@requirement("a NIC reaches peer memory by the IOMMU's mapping and by nothing else")
def test_nothing_comes_out_right(bench, machine, routers, report, seed):
    router = routers.want(machine, "ivshmem", bench.few, LEAVE_UNMAPPED)
    machine.forget_messages()
    burst = bench.few.burst(FRAMES, f"{seed} unmapped")
    outcome = exchange(machine.wires, burst, window=FRAMES, patience=1.0)
    faults = machine.iommu_faults()
    ram, peer = Memory(machine.ram), Memory(machine.peer_memory("ivshmem"))
    report.row("control: ivshmem not mapped", outcome, ram.payloads(burst), peer.payloads(burst), peer.headers(burst))
    report.note(f"Not mapped: the router counted {router.verdicts().get('forwarded', 0)} frames as forwarded, {outcome.good} came "
                f"out right, the IOMMU reported {len(faults)} faults.")
    assert outcome.sent == FRAMES
    assert outcome.good == 0
    assert faults, "the IOMMU has stopped nothing"
    assert peer.payloads(burst) == 0
