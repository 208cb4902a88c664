# SPDX-License-Identifier: BSD-3-Clause
"""A peer device forwards: rings, headers, payloads and the FIB image lie in its memory, and neither the daemon nor the
machine's kernel has to live. The device is simulated, a process beside the emulator (peer/main.cpp); so are the NICs, the
switch and the bus. It shows that it works, and nothing about speed."""

import hashlib
import os
import struct

import pytest
from lib import accesses as plugin
from lib import peer_device
from lib.host import error_about, ping, token, transit
from lib.packets import packed
from lib.pktpit_router import SHOW
from lib.routes import NEXT_HOPS
from lib.scan import Memory
from lib.topology import BAR_MIB, IVSHMEM, IVSHMEM_BAR, NIC_ADDRESSES, PORTS, mac
from lib.traffic import Load, assert_all_right, exchange, flood, wait_until_free
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer device")
FRAMES = 1_000
AFTER_THE_PANIC = int(os.environ.get("PKTPIT_PEER_FRAMES", "100000"))
CHUNK = 10_000
BATCH = 20
SECOND_OPERATION = 24 + 32  # of a program, behind its header and its first operation
ADDRESS = 8  # of an operation


@pytest.fixture(scope="module")
def beside(bench, routers, progress):
    made = bench.boot(more=lambda directory: peer_device.options(directory) + plugin.options(directory), threads=plugin.THREADS)
    progress(f"a machine for a peer device is up after {made.boot_seconds:.1f} s")
    yield made
    routers.stop()
    made.close()


@pytest.fixture(scope="module")
def accesses(bench, beside, device, routers):
    """With all routes in the image: what the daemon has not done by a panic it never will. Its tests are the last, since
    from here on each access is counted, and the machine is slow."""
    router = forwards(bench, beside, device, routers, bench.full)
    wait_for(router.all_in_fib, "all routes are in the image")
    made = plugin.Accesses(beside, IVSHMEM, IVSHMEM_BAR, BAR_MIB)
    made.begin()
    return made


@pytest.fixture(scope="module")
def device(beside):
    made = peer_device.PeerDevice(beside)
    made.start()
    yield made
    made.close()


def forwards(bench, beside, device, routers, world):
    router = routers.want(beside, "peer", world)
    wait_for(device.ready, "the peer device has its programs")
    router.settle()
    for wire in beside.wires:
        wire.drain()
    return router


@pytest.fixture
def router(bench, beside, device, routers):
    return forwards(bench, beside, device, routers, bench.few)


def keepers(beside):
    """Processes that hold devices for the daemon."""
    return beside.guest.output("grep -l '^pktpit-keeper$' /proc/[0-9]*/comm | cut -d / -f 3; true").split()


def assert_nothing_is_written(bench, beside, device, seed, frames=300):
    """Of what comes in nothing comes out, and no byte of rings, headers and payloads changes."""
    first, seen = device.end_of_hosts_part(), []

    def at_rest():
        """The device has done with what lay in the rings."""
        device.turn()
        seen.append(hashlib.sha256(device.memory[first:]).digest())
        return len(seen) > 2 and seen[-1] == seen[-2] == seen[-3]

    wait_for(at_rest, "the device is at rest")
    for wire in beside.wires:
        wire.drain()
    outcome = exchange(beside.wires, bench.few.burst(frames, seed), patience=1)
    assert (outcome.good, outcome.wrong) == (0, [])
    assert hashlib.sha256(device.memory[first:]).digest() == seen[-1]
    return outcome


@requirement("what the device cannot decide goes to the daemon by a queue, and its answers by another")
def test_the_hosts_own_traffic(beside, device, router):
    before = device.total("handed_over")
    assert all(ping(beside, port, family, 600) for port in range(PORTS) for family in (4, 6))
    assert device.total("handed_over") >= before + 2 * PORTS
    assert device.total("queue_full") == 0
    ports = router.show("counters")["ports"]
    assert sum(port["nic"]["peer_handed_over"] for port in ports.values()) == device.total("handed_over")


@requirement("twenty packets in one commit are one doorbell")
def test_a_batch_is_one_doorbell(bench, beside, device, router, report, seed):
    burst = bench.few.burst(BATCH, f"{seed} batch", ports=[0], wanted=lambda egress: egress == 1)
    before, all_before = device.lane(1), device.total("doorbells")
    device.stand_still()
    try:
        beside.wires[0].send(*(frame.sent for frame in burst.frames.values()))
        wait_for(lambda: device.waiting(0) >= BATCH, "the frames lie in the NIC's ring")
    finally:
        device.go_on()
    outcome = exchange(beside.wires, burst, sent=True)
    after = device.lane(1)
    sent, commits = (after[name] - before[name] for name in ("tx_packets", "commits"))
    report.note(f"A peer device: {BATCH} packets for one port that lay in a ring left in one commit, by one doorbell.")
    assert outcome.good == BATCH
    # The host may have sent something of its own by this port meanwhile.
    assert commits <= 1 + (sent - BATCH), (sent, commits)
    assert after["doorbells"] - before["doorbells"] == commits
    assert device.total("doorbells") == device.total("commits") and device.total("doorbells") > all_before


@requirement("forwarding goes on while the daemon stands still, and what is for the host waits for it")
def test_the_daemon_stands_still(bench, beside, device, router, report, seed):
    beside.guest.run(f"kill -STOP {router.pid}")
    try:
        burst = bench.few.burst(FRAMES, f"{seed} stopped")
        outcome = exchange(beside.wires, burst)
        report.row("a peer device, the daemon stopped", outcome, Memory(beside.ram).payloads(burst))
        assert_all_right(outcome, FRAMES)
    finally:
        beside.guest.run(f"kill -CONT {router.pid}")
    assert ping(beside, 0, 4)


@requirement("a device that has stood still for longer than it is waited for gets its programs again, also when it goes on at once")
def test_the_device_stands_still_for_a_moment(bench, beside, device, router, seed):
    for time in range(3):
        generation = device.word(peer_device.GENERATION)
        device.stand_still()
        try:
            wait_for(lambda: device.word(peer_device.GENERATION) > generation, "its programs are withdrawn", 0.001)
        finally:
            device.go_on()
        assert_all_right(exchange(beside.wires, bench.few.burst(BATCH, f"{seed} a moment {time}")), BATCH)


@requirement("a route that changes is in the image at once: no program is written anew for it")
def test_a_route_changes(beside, device, router):
    serial, address = device.word(peer_device.SERIAL), "198.18.7.7"
    for hop in (NEXT_HOPS[2], NEXT_HOPS[3]):
        router.guest.run(f"{SHOW} route replace {address}/32 via {hop.address(4)}")
        mark = token()
        beside.wires[0].send(transit(0, 4, packed(address), 64, mark))
        left = beside.wires[hop.port].receive(lambda frame: mark in frame, f"the frame, by port {hop.port}")
        assert left[:12] == hop.mac + mac(hop.port)
    router.guest.run(f"{SHOW} route delete {address}/32")
    assert device.word(peer_device.SERIAL) == serial


@requirement("the host answers with ICMP for what the device does not decide")
def test_time_exceeded(bench, beside, device, router):
    for family in (4, 6):
        (network, _), hop = next(iter(bench.few.table.routes[family].items()))
        sent = transit(0, family, network.to_bytes(4 if family == 4 else 16, "big"), 1, token())
        beside.wires[0].send(sent)
        assert error_about(beside, 0, family, sent) == ((11, 0) if family == 4 else (3, 0)), hop


@requirement("programs of an older generation are not executed; with the newer one nothing that waited is lost")
def test_a_stale_generation_stops(bench, beside, device, router, seed):
    generation, stale = device.word(peer_device.GENERATION), device.total("stale")
    burst = bench.few.burst(BATCH, f"{seed} stale")
    device.set_word(peer_device.GENERATION, generation + 1)
    device.turn()
    left = device.total("tx_packets")
    flood(beside.wires, burst)
    wait_for(lambda: sum(device.waiting(port) for port in range(PORTS)) >= BATCH, "the frames lie in the NICs' rings")
    device.turn()
    assert device.total("tx_packets") == left
    assert device.total("stale") > stale
    device.set_word(peer_device.GENERATION, generation)
    assert_all_right(exchange(beside.wires, burst, sent=True), BATCH)


@requirement("a program with an address outside of its windows is refused, one for a window beyond the device's reach, too")
def test_a_malicious_program_is_refused(bench, beside, device, router, report, seed):
    offset, size = device.program("transmit", 1)
    good, where = bytes(device.memory[offset:offset + size]), offset + SECOND_OPERATION + ADDRESS
    _, _, entry = device.window("p1 TDT")
    base = bytes(device.memory[entry:entry + 8])
    only = bench.few.burst(BATCH, f"{seed} refused", ports=[0], wanted=lambda egress: egress == 1)
    try:
        device.change(where, struct.pack("<Q", 0x100000))
        assert "0x100000, " in device.refusal() and "is in no registered window" in device.refusal()
        left = device.lane(1)["tx_packets"]
        assert exchange(beside.wires, only, patience=1).good == 0
        assert device.lane(1)["tx_packets"] == left
        report.note(f"A peer device refuses: {device.refusal()[:120]}…")
    finally:
        device.change(offset, good)
    assert device.refusal() == ""
    try:
        device.change(entry, struct.pack("<Q", 0x100000))
        assert device.word(peer_device.REFUSED) >= 2, "the window, and who writes there"
        assert exchange(beside.wires, only, patience=1).good == 0
    finally:
        device.change(entry, base)
    again = bench.few.burst(BATCH, f"{seed} taken again")
    assert_all_right(exchange(beside.wires, again), BATCH)


@requirement("kill -9 of the daemon under load: not a frame is lost, and forwarding goes on without it")
def test_the_daemon_is_killed(bench, beside, device, routers, router, report, seed):
    first, generation = device.end_of_hosts_part(), device.word(peer_device.GENERATION)
    burst = bench.few.burst(2 * FRAMES, f"{seed} killed")

    def kill(arrived):
        if arrived == FRAMES // 2:
            router.kill()

    outcome = exchange(beside.wires, burst, progress=kill)
    routers.current = None
    assert not router.running() and len(keepers(beside)) == 1
    ram = Memory(beside.ram)
    report.row("a peer device, the daemon killed meanwhile", outcome, ram.payloads(burst))
    assert_all_right(outcome, 2 * FRAMES)
    assert (ram.payloads(burst), ram.headers(burst)) == (0, 0)
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} without a daemon")), FRAMES)
    assert device.word(peer_device.GENERATION) == generation
    assert "CapEff:\t0000000000000000" in beside.guest.output(f"cat /proc/{keepers(beside)[0]}/status")

    let_go = router.said(f"has let go of {PORTS} NICs")
    with Load(beside.wires, bench.few.burst(500, f"{seed} load")):
        forwards(bench, beside, device, routers, bench.few)
    assert router.said(f"has let go of {PORTS} NICs") == let_go + 1, "the next daemon has said so"
    wait_until_free(beside.wires, bench.few.burst(BATCH, f"{seed} free"))
    assert len(keepers(beside)) == 1, "another one"
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} started again")), FRAMES)
    assert first == device.end_of_hosts_part()


@requirement("the keeper killed: forwarding goes on; both killed: it ends, and no NIC writes any more; the next daemon begins anew")
def test_the_keeper_is_killed(bench, beside, device, routers, router, seed):
    ended = router.said("the process that keeps the devices has ended")
    beside.guest.run(f"kill -9 {keepers(beside)[0]}")
    wait_for(lambda: router.said("the process that keeps the devices has ended") > ended, "the daemon has seen it")
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} no keeper")), FRAMES)
    router.kill()
    routers.current = None
    assert_nothing_is_written(bench, beside, device, f"{seed} both killed")
    assert keepers(beside) == []
    # The device has died meanwhile, too: it knows no rings, and touches none of an earlier daemon's.
    device.stop()
    device.start()
    device.turn()
    forwards(bench, beside, device, routers, bench.few)
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} all anew")), FRAMES)


@requirement("both killed at once under load: as if there had been no keeper; the next daemon begins anew")
def test_both_are_killed_at_once(bench, beside, device, routers, router, seed):
    with Load(beside.wires, bench.few.burst(500, f"{seed} load both")):
        beside.guest.run(f"kill -9 {router.pid} {keepers(beside)[0]}")
        wait_for(lambda: not router.running(), "the daemon's end")
    routers.current = None
    assert_nothing_is_written(bench, beside, device, f"{seed} both at once")
    forwards(bench, beside, device, routers, bench.few)
    wait_until_free(beside.wires, bench.few.burst(BATCH, f"{seed} free again"))
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} anew")), FRAMES)


@requirement("a device that was dead is found out, and one that knows no rings touches none; a restart of the daemon begins anew")
def test_the_device_dies(bench, beside, device, routers, router, seed):
    silent, reset = (router.said(words) for words in ("has not gone on for", "the device was reset"))
    device.stop()
    wait_for(lambda: router.said("has not gone on for") > silent, "the daemon has seen it")
    device.start()
    wait_for(lambda: router.said("the device was reset") > reset, "the daemon has been told")
    assert exchange(beside.wires, bench.few.burst(BATCH, f"{seed} dead"), patience=1).good == 0
    routers.stop()
    assert keepers(beside) == [], "a daemon that ends in order takes its keeper along"
    forwards(bench, beside, device, routers, bench.few)
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} alive")), FRAMES)


@requirement("SIGUSR2 ends the daemon and leaves the data path: not a frame is lost; `pktpit detach` ends that in order")
def test_the_daemon_leaves(bench, beside, device, routers, router, seed):
    burst = bench.few.burst(2 * FRAMES, f"{seed} left")

    def leave(arrived):
        if arrived == FRAMES // 2:
            beside.guest.run(f"kill -USR2 {router.pid}")

    outcome = exchange(beside.wires, burst, progress=leave)
    wait_for(lambda: not router.running(), "the daemon's end")
    routers.current = None
    assert_all_right(outcome, 2 * FRAMES)
    assert_all_right(exchange(beside.wires, bench.few.burst(FRAMES, f"{seed} left alone")), FRAMES)
    assert f"{PORTS} NICs were let go" in beside.guest.output(f"{SHOW} detach --yes")
    assert device.word(peer_device.GENERATION) == 0
    wait_for(lambda: keepers(beside) == [], "the keeper's end")
    assert_nothing_is_written(bench, beside, device, f"{seed} detached")


@requirement("the daemon is dead and the memory is taken away: the keeper revokes the programs, and nothing is written there any more")
def test_the_memory_is_taken_away_of_a_dead_daemon(bench, beside, device, routers, router, report, seed):
    router.kill()
    routers.current = None
    assert_all_right(exchange(beside.wires, bench.few.burst(BATCH, f"{seed} before")), BATCH)
    beside.guest.run(f"echo 1 >/sys/bus/pci/devices/{IVSHMEM}/remove")
    wait_for(lambda: device.word(peer_device.GENERATION) == 0, "the programs are revoked")
    wait_for(lambda: keepers(beside) == [], "the keeper's end")
    outcome = assert_nothing_is_written(bench, beside, device, f"{seed} revoked of the dead")
    report.row("control: the memory taken away, the daemon dead", outcome)
    beside.guest.run("echo 1 >/sys/bus/pci/rescan")


@requirement("the daemon is dead and the kernel wants a NIC back: the keeper lets go, and the kernel does not wait")
def test_a_nic_is_taken_out_of_a_dead_daemon(bench, beside, device, routers, router):
    router.kill()
    routers.current = None
    beside.guest.run(f"echo 1 >/sys/bus/pci/devices/{NIC_ADDRESSES[1]}/remove")
    wait_for(lambda: device.word(peer_device.GENERATION) == 0, "the programs are revoked")
    wait_for(lambda: keepers(beside) == [], "the keeper's end")
    beside.guest.run("echo 1 >/sys/bus/pci/rescan")


@requirement("the memory is taken away while the daemon stands still: the keeper revokes the programs, and nothing is written there")
def test_the_memory_is_taken_away_of_a_stopped_daemon(bench, beside, device, routers, router, seed):
    beside.guest.run(f"kill -STOP {router.pid}")
    try:
        beside.guest.run(f"echo 1 >/sys/bus/pci/devices/{IVSHMEM}/remove")
        wait_for(lambda: device.word(peer_device.GENERATION) == 0, "the programs are revoked")
        assert_nothing_is_written(bench, beside, device, f"{seed} revoked of the stopped")
    finally:
        beside.guest.run(f"kill -CONT {router.pid}")
    router.guest.wait_for(f"{SHOW} show ports --json | grep -q revoked", "the daemon has done with it")
    routers.stop()
    beside.guest.run("echo 1 >/sys/bus/pci/rescan")


@requirement("the program is revoked with the memory: packets drop, and nothing is written there any more")
def test_the_memory_is_taken_away(bench, beside, device, routers, router, report, seed):
    beside.guest.run(f"echo 1 >/sys/bus/pci/devices/{IVSHMEM}/remove")
    wait_for(lambda: device.word(peer_device.GENERATION) == 0, "the programs are revoked")
    router.guest.wait_for(f"{SHOW} show ports --json | grep -q revoked", "the daemon has done with it")
    outcome = assert_nothing_is_written(bench, beside, device, f"{seed} revoked")
    report.row("control: the peer's memory taken away", outcome)
    router.guest.run(f"{SHOW} route add 198.18.0.0/15 via {NEXT_HOPS[0].address(4)}")  # the image is the daemon's own now
    assert router.routes() > router.expected
    routers.stop()
    beside.guest.run("echo 1 >/sys/bus/pci/rescan")  # the next daemon forwards again


@requirement("payloads and headers are in the peer's memory alone, and no CPU touches them")
def test_no_byte_leaves_the_peers_memory(bench, beside, device, accesses, report, seed):
    first, forwarded = device.end_of_hosts_part(), device.total("forwarded")
    burst, before = bench.full.burst(FRAMES, f"{seed} peer"), accesses.total(first)
    outcome = exchange(beside.wires, burst)
    touched = accesses.total(first) - before
    ram, bar = Memory(beside.ram), Memory(beside.peer_memory("ivshmem"))
    report.row("a peer device forwards", outcome, ram.payloads(burst), bar.payloads(burst), bar.headers(burst))
    assert_all_right(outcome, FRAMES)
    assert device.total("forwarded") - forwarded == FRAMES, "all by the device's own decision"
    assert (ram.payloads(burst), ram.headers(burst), touched) == (0, 0, 0)
    assert bar.payloads(burst) > 0 and bar.headers(burst) > 0


@requirement("forwarding goes on when the machine's kernel has panicked: none lost, none wrong, no CPU in it")
def test_the_kernel_panics(bench, beside, device, accesses, routers, report, progress, seed):
    beside.guest.run("echo 0 >/proc/sys/kernel/panic")  # it stays as it is
    try:
        beside.guest.begin("echo c >/proc/sysrq-trigger")
        wait_for(lambda: "end Kernel panic" in beside.words(), "the kernel's panic")
        before, rung, sent, bursts = accesses.total(), device.total("doorbells"), 0, []
        while sent < AFTER_THE_PANIC:
            burst = bench.full.burst(min(CHUNK, AFTER_THE_PANIC - sent), f"{seed} panic {sent}")
            outcome = exchange(beside.wires, burst)
            assert_all_right(outcome, len(burst.frames))
            sent += len(burst.frames)
            burst.frames.clear()  # its markers are enough
            bursts.append(burst)
        touched, ram, bar = accesses.total() - before, Memory(beside.ram), Memory(beside.peer_memory("ivshmem"))
        tags, headers = sum(map(ram.payloads, bursts)), sum(map(ram.headers, bursts))
        report.row("the kernel has panicked (the last frames)", outcome, tags, bar.payloads(burst), bar.headers(burst))
        report.note(f"After the kernel's panic a simulated peer device forwarded {sent:,} of {sent:,} frames right (tags in main "
                    f"memory: {tags}, headers: {headers}), by "
                    f"{device.total('doorbells') - rung:,} doorbells; the CPUs touched its memory {touched} times.")
        assert (tags, headers, touched) == (0, 0, 0)
        assert bar.payloads(burst) > 0
        assert "end Kernel panic" in beside.words(), "it is still dead"
    finally:
        routers.current = None  # nobody can be asked to stop
