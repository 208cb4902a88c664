# SPDX-License-Identifier: BSD-3-Clause
"""Routes over routes: a gateway behind other routes, as BGP's next hop behind an IGP's, and counted routes."""

import re

import pytest
from lib.packets import goes_to, token, udp4, udp6, wait_for_crossing
from lib.pktpit_router import inline_only
from lib.waiting import wait_for
from test_paths import flows4, flows6, spread

requirement = pytest.mark.requirement
LOOPBACK4, LOOPBACK6 = "10.255.0.1", "2001:db8:ffff::1"


def behind_a_loopback(topology):
    """What a route reflector and an IGP would say: remote prefixes via a loopback, and that over b and c alike."""
    b, c = topology.b, topology.c
    return {"routes": [
        {"prefix": "198.51.100.0/24", "via": LOOPBACK4, "counters": True},
        {"prefix": "2001:db8:e1::/48", "via": LOOPBACK6},
        {"prefix": f"{LOOPBACK4}/32", "next_hops": [{"via": b.ip4}, {"via": c.ip4}]},
        {"prefix": f"{LOOPBACK6}/128", "next_hops": [{"via": b.ip6}, {"via": c.ip6}]},
    ]}


NET = {"configure": behind_a_loopback}
pytestmark = pytest.mark.pktpit("Linux resolves no next hops over other routes")


def next_hop(net, destination):
    shown = net.router.json("show", "route", destination)
    return shown["candidates"][0]["next_hops"][0]


def link(net, host, state):
    net.topology.router_namespace.ip("link", "set", host.port, state)


@requirement("flows to a recursive next hop spread over the paths of the route that resolves it")
@pytest.mark.parametrize("make, destination", [(flows4, "198.51.100.9"), (flows6, "2001:db8:e1::9")])
def test_flows_spread_over_the_resolving_paths(net, make, destination):
    total = spread(net, make(400, destination))
    assert all(140 <= total[label] <= 260 for label in "bc"), total


@requirement("a link of the resolving paths fails: every flow goes on over the other, and they come back with it")
@pytest.mark.parametrize("make, destination", [(flows4, "198.51.100.9"), (flows6, "2001:db8:e1::9")])
def test_link_failure_moves_flows_to_the_other_path(net, make, destination):
    hops = lambda: [hop["interface"] for hop in next_hop(net, destination)["recursive"]["next_hops"]]
    assert sorted(hops()) == [net.b.port, net.c.port]
    link(net, net.b, "down")
    try:
        wait_for(lambda: hops() == [net.c.port], "the failed path is left out")
        assert spread(net, make(100, destination)) == {"b": 0, "c": 100}
    finally:
        link(net, net.b, "up")
    wait_for(lambda: sorted(hops()) == [net.b.port, net.c.port], "the path is back")
    for family in (udp4, udp6):
        wait_for_crossing(net.a, net.b, family)
    total = spread(net, make(400, destination))
    assert all(140 <= total[label] <= 260 for label in "bc"), total


@requirement("a route whose gateway does not resolve yields to the next best one of its prefix")
def test_without_a_way_the_next_best_route_takes_over(net):
    try:
        net.router.route("add", f"{LOOPBACK4}/32", "via", "172.31.0.1", "preference", "5")
        assert goes_to(net, "198.51.100.9") in ("b", "c"), "a better route that cannot be used changes nothing"
        net.router.route("replace", f"{LOOPBACK4}/32", "blackhole", "preference", "5")
        assert goes_to(net, "198.51.100.9") is None
        hop = next_hop_of_route(net, "198.51.100.0/24")
        assert (hop["state"], hop["interface"]) == ("inactive", None)
        assert f"{LOOPBACK4}/32" in hop["reason"]
        net.router.route("add", "198.51.100.0/24", "via", net.c.ip4, "preference", "200")
        assert goes_to(net, "198.51.100.9") == "c"
    finally:
        net.router.route("del", "198.51.100.0/24", check=False)
        net.router.route("del", f"{LOOPBACK4}/32", check=False)
    assert goes_to(net, "198.51.100.9") in ("b", "c")


def next_hop_of_route(net, prefix, source="config"):
    routes = net.router.json("show", "routes", "--within", prefix, "--source", source)["routes"]
    return routes[0]["next_hops"][0]


@requirement("the route to a gateway is added, replaced and removed by hand: the routes over it follow at once")
def test_routes_follow_their_gateway(net):
    net.router.route("add", "203.0.113.0/24", "via", "10.254.0.1")
    try:
        assert goes_to(net, "203.0.113.5") is None
        assert "no route" in net.router.cli("show", "routes", "--within", "203.0.113.0/24").stdout
        net.router.route("add", "10.254.0.0/16", "via", net.b.ip4)
        assert goes_to(net, "203.0.113.5") == "b"
        net.router.route("add", "10.254.0.0/24", "via", net.c.ip4)
        assert goes_to(net, "203.0.113.5") == "c"
        net.router.route("replace", "10.254.0.0/24", "via", "203.0.113.77")
        assert goes_to(net, "203.0.113.5") is None, "a loop is never forwarded"
        assert "loop" in next_hop_of_route(net, "203.0.113.0/24", "cli")["reason"]
        net.router.route("del", "10.254.0.0/24")
        assert goes_to(net, "203.0.113.5") == "b"
        shown = net.router.cli("show", "routes", "--within", "203.0.113.0/24").stdout
        assert re.search(rf"via 10\.254\.0\.1 \(recursive\)\n +via {re.escape(net.b.ip4)} dev {net.b.port}", shown), shown
    finally:
        for prefix in ("203.0.113.0/24", "10.254.0.0/24", "10.254.0.0/16"):
            net.router.route("del", prefix, check=False)


@requirement("not over the default route, unless /routing/resolve_via_default says so; a reload changes it")
def test_default_route_resolves_only_where_allowed(net):
    more = [{"prefix": "0.0.0.0/0", "via": net.c.ip4}, {"prefix": "203.0.113.0/24", "next_hops": [{"via": "10.253.0.1"}]}]
    config = {**net.router.config, "routes": net.router.config["routes"] + more}
    try:
        net.router.apply(config)
        hop = next_hop_of_route(net, "203.0.113.0/24")
        assert (hop["state"], "default route" in hop["reason"]) == ("inactive", True)
        net.router.apply({**config, "routing": {"resolve_via_default": True}})
        assert next_hop_of_route(net, "203.0.113.0/24")["recursive"]["over"] == "0.0.0.0/0"
        assert goes_to(net, "203.0.113.5") == "c"
    finally:
        net.router.apply()


def counted(net, prefix):
    found = [route for route in net.router.json("show", "counters")["routes"] if route["prefix"] == prefix]
    return (found[0]["packets"], found[0]["bytes"]) if found else None


@requirement("a counted route counts the packets and bytes that it forwards, and nobody else's")
def test_counted_route_counts_what_it_forwards(net):
    packets, size = counted(net, "198.51.100.0/24")
    frames = flows4(50, "198.51.100.9")
    spread(net, frames)
    spread(net, flows6(20, "2001:db8:e1::9"))
    after = counted(net, "198.51.100.0/24")
    each = len(bytes(frames[0])) + 14 + len(token())  # an Ethernet header before, the mark behind
    assert after == (packets + 50, size + 50 * each)
    shown = net.router.json("show", "route", "198.51.100.9")["candidates"][0]
    assert shown["counters"] == {"packets": after[0], "bytes": after[1]}
    assert net.router.json("show", "route", "2001:db8:e1::9")["candidates"][0]["counters"] is None
    assert "198.51.100.0/24" in net.router.cli("show", "counters").stdout


@requirement("counts stay over a reload that changes the route's next hops, and go with the counting")
def test_counts_survive_a_reload(net):
    before = counted(net, "198.51.100.0/24")
    routes = [dict(route) for route in net.router.config["routes"]]
    route = next(route for route in routes if route["prefix"] == "198.51.100.0/24")
    try:
        route["via"] = net.c.ip4
        net.router.apply({**net.router.config, "routes": routes})
        assert counted(net, "198.51.100.0/24") == before
        assert goes_to(net, "198.51.100.9") == "c"
        assert counted(net, "198.51.100.0/24")[0] == before[0] + 1
        route["counters"] = False
        net.router.apply({**net.router.config, "routes": routes})
        assert counted(net, "198.51.100.0/24") is None
    finally:
        net.router.apply()
    assert counted(net, "198.51.100.0/24") == (0, 0), "a new counter begins at 0"


@requirement("counts stay over kill -9 and a restart, and packets in between are counted too")
@inline_only
def test_counts_survive_a_restart(net):
    net.router.route("add", "203.0.113.0/24", "via", net.b.ip4, "counters")
    spread(net, flows4(10, "198.51.100.9") + flows4(5, "203.0.113.9"))
    before = counted(net, "198.51.100.0/24")
    net.router.kill()
    spread(net, flows4(20, "198.51.100.9"))
    net.router.start()
    assert counted(net, "198.51.100.0/24")[0] == before[0] + 20
    assert counted(net, "203.0.113.0/24")[0] == 5
    assert [route["source"] for route in net.router.json("show", "counters")["routes"]] == ["config", "cli"]
    net.router.route("del", "203.0.113.0/24")
    assert counted(net, "203.0.113.0/24") is None
