# SPDX-License-Identifier: BSD-3-Clause
"""Faults at every call to the kernel: a first start, a restart over a running data path, and a reload are killed there, or
refused. An earlier data path loses no packet; the next start succeeds; what `show` says is what packets meet."""

import json
import os
from collections import Counter

import pytest
from injection import GONE, INJECTED, STATUS_REFUSED, TOO_SLOW, Tracer, choose, outcome, read_calls, strace
from lib.namespaces import CommandFailed, end
from lib.packets import token, udp4
from lib.pktpit_router import SOCKETS
from lib.stream import Stream, assert_nothing_lost
from lib.tools import compiled
from lib.waiting import wait_for

pytestmark = [pytest.mark.pktpit("Linux forwarding has no daemon"), pytest.mark.xdp("calls of this dataplane")]
requirement = pytest.mark.requirement

# So many tests share a way's points, each with namespaces of its own.
SHARES = int(os.environ.get("PKTPIT_FAULT_SHARES", "4"))
# So many points share a stream.
BATCH = 12
MISSED = "missed"
MOVING = "203.0.113.0/24"

shares = pytest.mark.parametrize("share", range(SHARES))


def smaller(topology):
    # strace injects an error in the place of a call with a number that no filter knows.
    return {"seccomp": False, "fib": {"next_hop_groups": 1024, "adjacencies": 256, "table_memory_mib": 8}, "icmp": topology.config()["icmp"]}


class Bench:
    """A router between a and b, which a reload gives a third port, another route, an address and a neighbour."""

    def __init__(self, net, directory):
        self.net, self.router, self.directory = net, net.router, directory
        self.namespace = net.topology.router_namespace
        whole = self.router.config
        self.after = {**whole, "routes": [*whole["routes"], {"prefix": MOVING, "next_hops": [{"via": net.c.ip4}]}],
                      "neighbours": [{"interface": "p3", "address": net.c.ip4, "mac": net.c.mac}]}
        self.after["interfaces"] = {**whole["interfaces"], "p1": {"addresses": [*whole["interfaces"]["p1"]["addresses"], "10.91.0.1/24"]}}
        self.before = {**whole, "interfaces": {name: each for name, each in whole["interfaces"].items() if name != "p3"},
                       "routes": [*(route for route in whole["routes"] if route["next_hops"][0]["via"] not in (net.c.ip4, net.c.ip6)),
                                  {"prefix": MOVING, "next_hops": [{"via": net.b.ip4}]}]}
        self.streams = []

    # What is there.

    def programs(self):
        links = json.loads(self.namespace.ip("-j", "link", "show").stdout)
        return {link["ifname"] for link in links if "xdp" in link}

    def left(self):
        """What a clean end leaves: nothing, but the hash seed and the configurations that can be gone back to."""
        pins = [pin.name for pin in self.router.pins.iterdir()] if self.router.pins.exists() else []
        return self.programs(), pins, [path.name for path in SOCKETS.glob(f"{self.router.instance}.*") if path.suffix not in (".lock", ".hash_seed", ".configs")]

    def switches(self):
        script = "cat /proc/sys/net/ipv6/conf/p[123]/forwarding /proc/sys/net/ipv6/conf/p[123]/keep_addr_on_down"
        return self.namespace.run("sh", "-c", script).stdout.split()

    def arrives(self, destination, at):
        mark = token()
        return at.answer_to(lambda: self.net.a.send(udp4(self.net.a, at, mark, dst=destination)), mark) is not None

    def agrees(self):
        """`show ports` has the ports that have a program and are addressed so, and `lookup` names the host that packets reach."""
        ports = {port["name"]: port for port in self.router.json("show", "ports")["ports"]}
        assert set(ports) == self.programs()
        kernel = {link["ifname"]: {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"] if each["scope"] == "global"}
                  for link in json.loads(self.namespace.ip("-j", "address", "show").stdout)}
        for name, port in ports.items():
            shown = {address for address in port["addresses"] if not address.startswith("fe80")}
            assert shown == kernel[name], f"{name}: {shown}, the kernel has {kernel[name]}"
        config = self.router.json("show", "config")
        via = next(route for route in config["routes"] if route["prefix"] == MOVING)["next_hops"][0]["via"]
        host = {host.ip4: host for host in self.net.hosts}[via]
        wait_for(lambda: self.arrives("203.0.113.5", host), f"packets to {MOVING} reach {host.label}, as `show config` says")

    def stream(self):
        self.streams.append(Stream(compiled("traffic"), self.directory, self.net.a, self.net.b, rate=3000))
        return self.streams[-1]

    def start(self):
        self.router.start()

    def stop(self):
        assert end(self.router.process) == 0

    def alive(self):
        """The daemon does what it says; or its exit status, where the fault has come only now."""
        try:
            self.agrees()
        except CommandFailed:
            wait_for(lambda: self.router.process.poll() is not None, "the daemon that does not answer has ended")
        return self.router.process.poll()

    # The ways, each with a fault: back to where it began.

    def first_start(self, *expressions, log):
        self.router.launch(before=strace(log, *expressions))
        status = outcome(self.router)
        if status is None:
            status = self.alive()
        if status is None:
            status = end(self.router.process)
            assert status in (0, GONE)
        if status == STATUS_REFUSED:
            assert self.left() == (set(), [], []), "a first start that is refused leaves nothing"
        self.start()
        self.agrees()
        self.stop()
        assert self.left() == (set(), [], [])
        return status

    def restart(self, *expressions, log):
        pins = sorted(pin.name for pin in self.router.pins.iterdir())
        self.router.launch(before=strace(log, *expressions))
        status = outcome(self.router)
        if status is None:
            status = self.alive() or 0
            self.router.kill()
        assert self.programs() == {"p1", "p2"}
        if status == STATUS_REFUSED:
            assert sorted(pin.name for pin in self.router.pins.iterdir()) == pins, "pins are as they were"
        self.start()
        self.agrees()
        self.router.kill()
        return status

    def reload(self, *expressions, log):
        self.router.write(self.after)
        tracer = Tracer(self.namespace, self.router.process.pid, log, *expressions)
        try:
            refused = self.router.cli("reload", check=False).returncode != 0
            status = self.alive()
        finally:
            tracer.close()
        if status is None:
            status = STATUS_REFUSED if refused else 0
            self.router.reload()
        else:
            self.start()
        self.agrees()
        assert self.programs() == {"p1", "p2", "p3"}
        self.router.write(self.before)
        self.router.reload()
        self.agrees()
        return status


def try_points(way, points, log):
    """How often a daemon ended how, and how many points it did not come to."""
    statuses = Counter()
    for point in points:
        try:
            status = way(point.injection(), log=log)
            assert status in point.outcomes(), f"the daemon ended with {status}"
        except AssertionError as error:
            raise AssertionError(f"{point}: {error}") from error
        statuses[status] += 1
        statuses[MISSED] += status != GONE and INJECTED not in log.read_text(errors="replace")
    return statuses


def in_batches(bench, way, points, log):
    """The same, over a stream that may lose nothing."""
    statuses = Counter()
    for first in range(0, len(points), BATCH):
        batch = points[first:first + BATCH]
        running = bench.stream()
        statuses += try_points(way, batch, log)
        try:
            assert_nothing_lost(running.finish())
        except AssertionError as error:
            raise AssertionError(f"points {first} to {first + len(batch) - 1}, {'; '.join(map(str, batch))}: {error}") from error
    return statuses


def say(points, name, calls, tried, statuses):
    at = len({point.call for point in tried})
    points(name, len(tried), at, len(calls),
           f"{name}: {len(tried)} points at {at} of {len(calls)} calls; {statuses[GONE]} killed, {statuses[STATUS_REFUSED]} refused, "
           f"{statuses[TOO_SLOW]} too slow, {statuses[0]} went on, {statuses[MISSED]} of them without coming to the call")
    assert statuses[MISSED] <= len(tried) // 3, "most points are reached"


@pytest.fixture
def bench(build_net, tmp_path):
    net = build_net(start=False, configure=smaller)
    made = Bench(net, tmp_path)
    yield made
    for running in made.streams:
        running.abort()


@requirement("a first start killed or refused at any call: nothing is left of a refused one, the next succeeds")
@shares
def test_first_start(bench, share, points, tmp_path):
    bench.router.write(bench.before)
    found = bench.switches()
    log = tmp_path / "calls"
    assert bench.first_start(log=log) == 0
    calls = read_calls(log, bench.router.file.name)
    tried = choose(calls, share, SHARES)
    statuses = try_points(bench.first_start, tried, log)
    assert bench.switches() == found
    say(points, "first start", calls, tried, statuses)


@requirement("a restart killed or refused at any call: the earlier data path loses nothing, the next start succeeds")
@shares
def test_restart(bench, share, points, tmp_path):
    bench.router.write(bench.before)
    found = bench.switches()
    bench.start()
    bench.agrees()
    bench.router.kill()
    log = tmp_path / "calls"
    assert bench.restart(log=log) == 0
    calls = read_calls(log, bench.router.file.name)
    tried = choose(calls, share, SHARES)
    statuses = in_batches(bench, bench.restart, tried, log)
    bench.start()
    bench.stop()
    assert bench.switches() == found and bench.left() == (set(), [], [])
    say(points, "restart", calls, tried, statuses)


@requirement("a reload killed or refused at any call: what it does not change loses nothing, what `show` says is what packets meet, "
             "the next one or the next start succeeds")
@shares
def test_reload(bench, share, points, tmp_path):
    bench.router.write(bench.before)
    bench.start()
    bench.agrees()
    log = tmp_path / "calls"
    bench.reload(log=log)  # the first has more to do
    assert bench.reload(log=log) == 0
    calls = read_calls(log)
    tried = choose(calls, share, SHARES)
    statuses = in_batches(bench, bench.reload, tried, log)
    bench.stop()
    assert bench.left() == (set(), [], [])
    say(points, "reload", calls, tried, statuses)
