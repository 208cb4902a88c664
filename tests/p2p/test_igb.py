# SPDX-License-Identifier: BSD-3-Clause
"""The same with igb (Intel 82576) NICs, whose driver differs in its registers and descriptors. QEMU has them from
version 8 on; Debian's backports have such a one.

The chip leaves a frame that is no longer than a header cell in that cell as a whole ("split always"): only longer ones
have a payload that can stay off main memory.
"""

import pytest
from guests.apt import NotAvailable
from lib.host import ping
from lib.scan import Memory
from lib.topology import PORTS
from lib.traffic import assert_all_right, exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has a driver of its own")
FRAMES, SHORT = 3_000, 500
CELL = 128


@pytest.fixture(scope="module")
def igb(bench, progress):
    try:
        made = bench.boot("igb")
    except NotAvailable as reason:
        progress(f"igb is skipped: {reason}")
        pytest.skip(f"no emulator with igb: {reason}")
    progress(f"a machine with four igb is up after {made.boot_seconds:.1f} s")
    yield made
    made.close()


@pytest.fixture(scope="module")
def seen(bench, igb, routers, report, seed):
    router = routers.want(igb, "ivshmem", bench.few)
    short = exchange(igb.wires, bench.few.burst(SHORT, f"{seed} igb short", largest=CELL))
    report.row(f"igb, frames up to {CELL} bytes", short)
    burst, before = bench.few.burst(FRAMES, f"{seed} igb", smallest=CELL + 1), router.hardware_split()
    outcome = exchange(igb.wires, burst)
    ram, peer = Memory(igb.ram), Memory(igb.peer_memory("ivshmem"))
    found = {"ram": ram.payloads(burst), "peer": peer.payloads(burst), "headers": peer.headers(burst),
             "split": router.hardware_split() - before}
    report.row("igb, longer frames, in ivshmem", outcome, **found)
    router.settle()
    answered = all(ping(igb, port, family) for port in range(PORTS) for family in (4, 6))
    yield (outcome, short), found, answered, igb.iommu_faults()
    routers.stop()


@requirement("every frame leaves, by the port that the longest matching prefix names; none lost, none twice, none altered")
def test_every_frame_leaves_right(seen):
    for outcome, sent in zip(seen[0], (FRAMES, SHORT)):
        assert_all_right(outcome, sent)


@requirement("payload in peer memory alone, headers in RAM alone, split by the NIC")
def test_payload_stays_off_ram(seen):
    found = seen[1]
    assert found["ram"] == 0 and found["peer"] > 0 and found["headers"] == 0
    assert found["split"] == FRAMES


@requirement("the router answers echo requests")
def test_ping_is_answered(seen):
    assert seen[2]


@requirement("no device reaches for an address that is not mapped for it")
def test_the_iommu_has_reported_no_fault(seen):
    assert not seen[3]
