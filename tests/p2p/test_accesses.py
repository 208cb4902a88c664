# SPDX-License-Identifier: BSD-3-Clause
"""What a search of memory afterwards cannot see: CPUs that touch payloads in pieces, or wipe their copies. So each load and
store of the emulated CPUs is counted while frames flow, and the machine is stopped in their midst."""

import pytest
from lib.accesses import THREADS, Accesses, options
from lib.host import ping
from lib.scan import Memory
from lib.topology import BAR_MIB, IVSHMEM, IVSHMEM_BAR, PORTS
from lib.touch_payloads import environment
from lib.traffic import assert_all_right, exchange
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux forwards by way of RAM")
FRAMES = 1_000


@pytest.fixture(scope="module")
def counted(bench, progress):
    made = bench.boot(more=options, threads=THREADS)
    progress(f"a machine whose CPUs' accesses are counted is up after {made.boot_seconds:.1f} s")
    yield made
    made.close()


@pytest.fixture(scope="module")
def router(bench, counted, routers):
    made = routers.want(counted, "ivshmem", bench.few)
    made.settle()
    yield made
    routers.stop()


@pytest.fixture(scope="module")
def accesses(counted, router):
    made = Accesses(counted, IVSHMEM, IVSHMEM_BAR, BAR_MIB)
    made.begin()
    return made


@requirement("in transit no CPU loads or stores a byte of the payload memory; the control: what is for the host is counted")
def test_no_cpu_touches_a_payload(bench, counted, router, accesses, report, seed):
    before = accesses.total()
    burst = bench.few.burst(FRAMES, f"{seed} counted")
    outcome = exchange(counted.wires, burst)
    touched = accesses.total() - before
    report.row("CPU accesses counted", outcome)
    report.note(f"While {FRAMES:,} frames went through, the CPUs loaded from and stored to the payload memory {touched} times "
                "(counted by a plugin of the emulator).")
    assert_all_right(outcome, FRAMES)
    assert touched == 0
    before = accesses.total()
    assert all(ping(counted, port, 4, 600) for port in range(PORTS))
    assert accesses.total() > before, "the payload of a ping is read by the host's CPU"


@requirement("the count sees one read of four bytes")
def test_a_single_read_is_counted(counted, accesses):
    before = accesses.total()
    counted.guest.run(f"devmem {accesses.address + (BAR_MIB // 2 << 20):#x} 32")
    assert accesses.total() == before + 1


@requirement("stopped in the midst of traffic, no payload is in main memory")
def test_stopped_in_the_midst(bench, counted, router, report, seed):
    burst = bench.few.burst(FRAMES, f"{seed} stopped")
    found = []

    def stop_and_search(arrived):
        if arrived in (FRAMES // 4, FRAMES // 2, 3 * FRAMES // 4):
            counted.qmp.ask("stop")
            found.append((Memory(counted.ram).payloads(burst), Memory(counted.peer_memory("ivshmem")).payloads(burst)))
            counted.qmp.ask("cont")

    outcome = exchange(counted.wires, burst, progress=stop_and_search)
    report.row("stopped three times", outcome, max((ram for ram, _ in found), default=None), max((peer for _, peer in found), default=None))
    assert_all_right(outcome, FRAMES)
    assert len(found) == 3
    assert all(ram == 0 and peer > 0 for ram, peer in found), found


@requirement("the controls: a daemon that copies payloads is found by the search, one that reads them in pieces and wipes them by the count")
@pytest.mark.parametrize("how", ["copy", "pieces"])
def test_who_touches_payloads_is_found(bench, counted, routers, accesses, report, seed, how):
    router = routers.want(counted, "ivshmem", bench.few, environment(how))  # counted, which is slow
    router.settle()
    before = accesses.total()
    burst = bench.few.burst(FRAMES, f"{seed} {how}")
    outcome = exchange(counted.wires, burst)
    wait_for(lambda: accesses.total() > before, "the CPU's accesses are counted")
    if how == "copy":
        wait_for(lambda: Memory(counted.ram).payloads(burst) > 0, "the search of main memory finds the copies")
    ram = Memory(counted.ram).payloads(burst)
    report.row(f"control: payloads are touched ({how})", outcome, ram, Memory(counted.peer_memory("ivshmem")).payloads(burst))
    assert outcome.good == FRAMES
    if how == "pieces":
        assert ram == 0, "what the search alone would have passed"
