# SPDX-License-Identifier: BSD-3-Clause
"""Routes taken over from the kernel's table, live: `ip route`, and with it BIRD and FRR."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from lib.packets import arrives, icmp_answer, token, udp4, udp6
from lib.pktpit_router import TOOL
from lib.waiting import DEADLINE, wait_for
from lib.wire import NothingReceived

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has its own routes anyway")
NET = {"config": {"kernel_routes": {"enabled": True, "protocols": ["static", "bird"]}}}


def ip_route(net, *words):
    net.topology.router_namespace.ip("-6" if any(":" in str(word) for word in words) else "-4", "route", *words)


def unreachable(net, destination):
    def once():
        mark = token()
        make = udp6 if ":" in destination else udp4
        net.a.send(make(net.a, net.b, mark, dst=destination))
        try:
            return icmp_answer(net.a, mark, 0.2)
        except NothingReceived:
            return None

    return wait_for(once, f"packets to {destination} are answered with an error")


@requirement("`ip route add`, `replace` and `del` are followed live")
@pytest.mark.parametrize("prefix, destination, via", [("203.0.113.0/24", "203.0.113.5", "ip4"),
                                                      ("2001:db8:bbbb::/48", "2001:db8:bbbb::5", "ip6")])
def test_ip_route_is_followed(net, prefix, destination, via):
    unreachable(net, destination)
    ip_route(net, "add", prefix, "via", getattr(net.b, via), "proto", "static")
    arrives(net.a, net.b, destination)
    ip_route(net, "replace", prefix, "via", getattr(net.c, via), "proto", "static")
    arrives(net.a, net.c, destination)
    ip_route(net, "del", prefix)
    unreachable(net, destination)


@requirement("multipath routes of the kernel become next-hop groups with their weights")
@pytest.mark.parametrize("prefix, via", [("203.0.113.0/24", "ip4"), ("2001:db8:bbbb::/48", "ip6")])
def test_multipath(net, prefix, via):
    ip_route(net, "add", prefix, "proto", "static", "nexthop", "via", getattr(net.b, via), "weight", 3,
             "nexthop", "via", getattr(net.c, via), "weight", 1)
    address = prefix.split("/")[0].rstrip(":").rstrip("0").rstrip(".") + ("::5" if ":" in prefix else ".5")

    def members():
        group = net.router.json("show", "route", address, check=False)["group"]
        return group and {member["via"]: member["weight"] for member in group["members"]}

    wait_for(lambda: members() == {getattr(net.b, via): 3, getattr(net.c, via): 1}, "both next hops with their weights")
    ip_route(net, "del", prefix)
    wait_for(lambda: not members(), "the group is gone")


@requirement("blackhole, unreachable and prohibit routes of the kernel keep their meaning")
def test_route_types(net):
    for kind, code in (("unreachable", 1), ("prohibit", 13)):
        ip_route(net, "add", kind, "203.0.113.0/24", "proto", "static")
        wait_for(lambda code=code: bytes(unreachable(net, "203.0.113.5"))[35] == code, f"code {code} for {kind}")
        ip_route(net, "del", kind, "203.0.113.0/24", "proto", "static")


@requirement("only the protocols that the configuration names are taken over")
def test_other_protocols_are_left_alone(net):
    ip_route(net, "add", "203.0.113.0/25", "via", net.c.ip4, "proto", "zebra")
    ip_route(net, "add", "203.0.113.0/24", "via", net.b.ip4, "proto", "bird")
    arrives(net.a, net.b, "203.0.113.5")
    ip_route(net, "del", "203.0.113.0/25", "proto", "zebra")
    ip_route(net, "del", "203.0.113.0/24", "proto", "bird")


@requirement("the best by preference wins: the configuration's route (10) before the kernel's (20), which takes over later")
def test_preference_between_sources(net):
    ip_route(net, "add", "203.0.113.0/24", "via", net.b.ip4, "proto", "static")
    arrives(net.a, net.b, "203.0.113.5")
    net.router.route("add", "203.0.113.0/24", "via", net.c.ip4)
    arrives(net.a, net.c, "203.0.113.5")
    sources = [one["source"] for one in net.router.json("show", "route", "203.0.113.5")["candidates"]]
    assert sources == ["cli", "kernel"]
    net.router.route("del", "203.0.113.0/24")
    arrives(net.a, net.b, "203.0.113.5")
    ip_route(net, "del", "203.0.113.0/24")


@requirement("thousands of routes at once are followed, none is missed when the netlink socket overflows")
def test_many_routes_at_once(net):
    lines = [f"route add 100.{64 + i // 256}.{i % 256}.0/24 via {net.b.ip4} proto static" for i in range(5000)]
    net.topology.router_namespace.batch(lines)
    total = lambda: net.router.json("show", "routes", "--source", "kernel", "--limit", "1")["total"]  # noqa: E731
    wait_for(lambda: total() == 5000, "5000 routes of the kernel in the RIB")
    arrives(net.a, net.b, "100.83.135.9")
    net.topology.router_namespace.batch([line.replace("add", "del") for line in lines])
    wait_for(lambda: total() == 0, "all are gone again")


@requirement("a resilient group keeps its flows where they are until its idle timer has run out, when a member comes; one that "
             "goes takes only its own flows along, at once")
def test_resilient_group_keeps_idle_timer(net):
    import time

    router, idle = net.topology.router_namespace, 3

    def group(members):
        router.ip("nexthop", "replace", "id", "10", "group", members, "type", "resilient", "buckets", "16", "idle_timer", idle)

    def where(host):
        """The flows, by source port, that arrive there."""
        mark = token()
        for port in range(64):
            net.a.send(udp4(net.a, net.b, mark, dst="203.0.113.9", sport=1000 + port))
        deadline = time.monotonic() + 60
        found = {"b": set(), "c": set()}
        while sum(map(len, found.values())) < 64 and time.monotonic() < deadline:
            for one in (net.b, net.c):
                for frame in one.wire.waiting(lambda frame: mark in frame):
                    found[one.label].add(int.from_bytes(frame[34:36], "big") - 1000)
        assert sum(map(len, found.values())) == 64, found
        return found[host]

    router.ip("nexthop", "replace", "id", "1", "via", net.b.ip4, "dev", "p2")
    router.ip("nexthop", "replace", "id", "2", "via", net.c.ip4, "dev", "p3")
    group("1")
    router.ip("route", "add", "203.0.113.0/24", "nhid", "10", "proto", "static")
    arrives(net.a, net.b, "203.0.113.9")
    began = time.monotonic()
    group("1/2")
    while time.monotonic() - began < idle - 0.7:
        moved = where("c")  # for longer than expected where there is no CPU for it
        assert not moved or time.monotonic() - began >= idle, "flows moved at once"
    wait_for(lambda: 16 <= len(where("c")) <= 48, "about half of the flows go to the member that came")
    assert time.monotonic() - began >= idle
    stays = where("b")
    group("1")
    wait_for(lambda: not where("c"), "all go back at once")
    assert stays <= where("b")
    router.ip("route", "del", "203.0.113.0/24")
    router.ip("nexthop", "flush")


@requirement("a reload that changes kernel_routes while the kernel's routes change: both are handled, and the daemon goes on")
@pytest.mark.parametrize("by", ["signal", "api"])
def test_reload_of_kernel_routes_beside_a_route(net, by):
    router, config = net.router, net.router.config
    pid = router.process.pid
    for turn in range(3):
        # All of it waits when the daemon goes on, and comes in one batch of events.
        os.kill(pid, signal.SIGSTOP)
        try:
            router.write({**config, "kernel_routes": {**config["kernel_routes"], "preference": 30 + turn}})
            ip_route(net, "replace", f"203.0.{120 + turn}.0/24", "via", net.c.ip4, "proto", "static")
            asking = subprocess.Popen([TOOL, "--instance", router.instance, "reload"], stdout=subprocess.DEVNULL) if by == "api" else None
            if asking:
                wait_for(lambda: waits_for_an_answer(asking.pid), "the reload has been asked for")
            else:
                os.kill(pid, signal.SIGHUP)
        finally:
            os.kill(pid, signal.SIGCONT)
        if asking:
            assert asking.wait(DEADLINE) == 0
        wait_for(lambda: router.json("show", "config")["kernel_routes"]["preference"] == 30 + turn, "the reload is done")
        assert router.process.poll() is None
        arrives(net.a, net.c, f"203.0.{120 + turn}.5")
    for turn in range(3):
        ip_route(net, "del", f"203.0.{120 + turn}.0/24", "via", net.c.ip4)
    router.apply(config)


def waits_for_an_answer(pid):
    """It has sent its question: it sleeps in a call that waits for bytes."""
    return Path(f"/proc/{pid}/wchan").read_text() in ("unix_stream_data_wait", "unix_stream_read_generic", "do_sys_poll", "do_select",
                                                      "poll_schedule_timeout", "ep_poll", "poll_schedule_timeout.constprop.0")
