# SPDX-License-Identifier: BSD-3-Clause
"""The router's own traffic: configured routes, and those given by hand, stand in the kernel's table, too."""

import json
import time

import pytest
from lib.asking import Asking
from lib.packets import wait_for_crossing
from lib.pktpit_router import TOOL, inline_only
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux's routes are its own"),
              pytest.mark.xdp("routes in the kernel are the control plane's matter: once is enough")]

PROTOCOL = "112"


def behind(host):
    """Addresses that lie behind the host, on it: it answers for them."""
    host.namespace.ip("address", "replace", f"{host.behind4}/32", "dev", "lo")
    host.namespace.ip("address", "replace", f"{host.behind6}/128", "dev", "lo")


def ours(net, *words, family="-4", table="main"):
    shown = net.topology.router_namespace.ip("-j", family, "route", "show", "table", table, "proto", PROTOCOL, *words, check=False)
    return {route["dst"]: route for route in (json.loads(shown.stdout) if shown.stdout.strip() else [])}


def wait_for_route(net, prefix, gateway, **where):
    family = "-6" if ":" in prefix else "-4"
    wait_for(lambda: ours(net, family=family, **where).get(prefix, {}).get("gateway") == gateway, f"{prefix} via {gateway} in the kernel")


@requirement("a host behind a configured static route can ping the router, and the router it")
def test_host_behind_a_static_route_pings_the_router(net):
    behind(net.b)
    for source, router in ((net.b.behind4, net.b.router_ip4), (net.b.behind6, net.b.router_ip6)):
        net.b.namespace.run("ping", "-c", "2", "-W", "30", "-I", source, router)
        net.topology.router_namespace.run("ping", "-c", "2", "-W", "30", source)
    assert ours(net)["198.18.2.0/24"]["metric"] >= 0xFEFF0000


@requirement("routes given by hand come into the kernel and go again, with all their next hops, and change with them")
def test_routes_given_by_hand(net):
    net.router.route("add", "198.51.100.0/24", "via", net.b.ip4)
    wait_for_route(net, "198.51.100.0/24", net.b.ip4)
    net.router.route("replace", "198.51.100.0/24", "nexthop", "via", net.b.ip4, "weight", "3", "nexthop", "via", net.c.ip4)
    hops = lambda: {hop["gateway"]: hop["weight"] for hop in ours(net).get("198.51.100.0/24", {}).get("nexthops", [])}  # noqa: E731
    wait_for(lambda: hops() == {net.b.ip4: 3, net.c.ip4: 1}, "both next hops")
    net.router.route("replace", "unreachable", "198.51.100.0/24")
    wait_for(lambda: ours(net).get("198.51.100.0/24", {}).get("type") == "unreachable", "an unreachable route")
    net.router.route("del", "198.51.100.0/24")
    wait_for(lambda: "198.51.100.0/24" not in ours(net), "no route")
    net.router.route("add", "2001:db8:e2::/48", "via", net.c.ip6)
    wait_for_route(net, "2001:db8:e2::/48", net.c.ip6)
    net.router.route("del", "2001:db8:e2::/48")
    wait_for(lambda: "2001:db8:e2::/48" not in ours(net, family="-6"), "no route")


@requirement("a gateway behind another route is installed as what it resolves to")
def test_recursive_route(net):
    net.router.route("add", "198.51.101.0/24", "via", net.b.behind4)
    wait_for_route(net, "198.51.101.0/24", net.b.ip4)
    net.router.route("del", "198.51.101.0/24")


@requirement("the kernel forgets routes of a link that goes down: they are there again when it is up")
def test_routes_come_back_with_the_link(net):
    for words in (("down",), ("up",)):
        net.topology.router_namespace.ip("link", "set", "p3", *words)
        if words == ("down",):
            wait_for(lambda: "198.18.3.0/24" not in ours(net), "the route goes with its link")
    wait_for_route(net, "198.18.3.0/24", net.c.ip4)
    wait_for_route(net, "2001:db8:3:100::/56", net.c.ip6)
    wait_for_crossing(net.a, net.c)


@requirement("a foreign route of the same prefix is not replaced, and goes before ours; it is said")
def test_foreign_route_stays(build_net):
    def foreign_first(topology):
        return {"routes": [{"prefix": "203.0.113.0/24", "via": topology.b.ip4}]}

    net = build_net(configure=foreign_first, start=False)
    router = net.topology.router_namespace
    router.ip("address", "add", "10.3.0.1/24", "dev", "p3")
    router.ip("route", "add", "203.0.113.0/24", "via", net.c.ip4, "proto", "static")
    net.router.start()
    wait_for_route(net, "203.0.113.0/24", net.b.ip4)
    assert net.c.ip4 in router.ip("route", "get", "203.0.113.9").stdout
    assert "203.0.113.0/24: the kernel has another route for it, of protocol static" in net.router.log()
    assert [item for item in net.router.json("show", "drift")["drift"] if item["where"] == "203.0.113.0/24"]
    net.router.stop()
    assert router.ip("route", "show", "203.0.113.0/24").stdout.split()[:3] == ["203.0.113.0/24", "via", net.c.ip4]


@requirement("routes of ours never come back as routes of the kernel, whichever protocols are taken over")
@pytest.mark.parametrize("protocols", [[], [PROTOCOL, "static"]], ids=["all", "by_number"])
def test_own_routes_are_not_taken_over(build_net, protocols):
    net = build_net(config={"kernel_routes": {"enabled": True, "protocols": protocols}})
    wait_for_route(net, "198.18.2.0/24", net.b.ip4)
    net.topology.router_namespace.ip("route", "add", "203.0.113.0/24", "via", net.b.ip4, "proto", "static")
    of_kernel = lambda: [route["prefix"] for route in net.router.json("show", "routes", "--source", "kernel")["routes"]]  # noqa: E731
    wait_for(lambda: "203.0.113.0/24" in of_kernel(), "the foreign route is taken over")
    assert not [prefix for prefix in of_kernel() if prefix.startswith("198.18.")]


@requirement("an orderly stop takes the routes out; after kill -9 the next start adopts them, and removes those that are wanted no more")
@inline_only
def test_stop_and_kill(build_net):
    net = build_net(settle=False)
    net.router.route("add", "198.51.100.0/24", "via", net.b.ip4)
    wait_for_route(net, "198.51.100.0/24", net.b.ip4)
    net.router.kill()
    assert "198.18.2.0/24" in ours(net) and "198.51.100.0/24" in ours(net)
    net.router.config["routes"] = [route for route in net.router.config["routes"] if route["prefix"] != "198.18.3.0/24"]
    net.router.write()
    net.router.start()
    wait_for(lambda: "198.18.3.0/24" not in ours(net), "what is wanted no more is gone")
    assert {"198.18.1.0/24", "198.18.2.0/24", "198.51.100.0/24"} <= set(ours(net))
    net.router.stop()
    assert not ours(net) and not ours(net, family="-6")


@requirement("`pktpit detach` takes the routes of a daemon that is gone out of the kernel, too")
@inline_only
def test_detach_takes_the_routes_out(build_net):
    net = build_net(settle=False)
    wait_for_route(net, "198.18.2.0/24", net.b.ip4)
    net.router.kill()
    net.topology.router_namespace.run(TOOL, "--instance", net.router.instance, "detach", "--yes")
    assert not ours(net) and not ours(net, family="-6")


@requirement("\"install\": false keeps the kernel's table free of ours; a reload turns it off and on, and changes the table")
def test_install_can_be_turned_off(build_net):
    net = build_net(config={"kernel_routes": {"install": False}}, settle=False)
    assert not ours(net)
    net.router.config["kernel_routes"] = {"install": True, "table": 100}
    net.router.apply()
    wait_for_route(net, "198.18.2.0/24", net.b.ip4, table="100")
    assert not ours(net)
    net.router.config["kernel_routes"] = {"install": False}
    net.router.apply()
    wait_for(lambda: not ours(net, table="100"), "none is left")


@requirement("two routers in one network namespace leave each other's routes alone")
def test_routes_of_another_instance_stay(build_net):
    net = build_net(settle=False)
    router = net.topology.router_namespace
    router.ip("route", "add", "198.18.77.0/24", "via", net.b.ip4, "proto", PROTOCOL, "metric", str(0xFEFF0000))  # of `default`
    net.router.reload()
    net.router.stop()
    assert list(ours(net)) == ["198.18.77.0/24"]


COUNT = 20_000


def with_many_routes(build_net):
    routes = [{"prefix": f"100.{64 + i // 256}.{i % 256}.0/24", "via": "10.2.0.2"} for i in range(COUNT)]
    return build_net(config={"routes": routes}, settle=False)


def all_installed(net):
    lines = net.topology.router_namespace.run("wc", "-l", "/proc/net/route").stdout
    return int(lines.split()[0]) > COUNT and len(ours(net)) >= COUNT


@requirement("20,000 routes are installed in the kernel")
def test_many_routes(build_net):
    net = with_many_routes(build_net)
    wait_for(lambda: all_installed(net), what="all routes are in the kernel")


@requirement("many routes are installed beside the daemon's other work: the API answers while it goes on")
@pytest.mark.measure("the time that answers take, beside those of an idle daemon")
def test_many_routes_do_not_hold_up_the_loop(build_net):
    net = with_many_routes(build_net)
    with Asking(net.router.socket) as asking:
        wait_for(lambda: all_installed(net), what="all routes are in the kernel")
    with Asking(net.router.socket) as idle:
        time.sleep(1)
    print(f"{COUNT} routes are being installed: {asking}; idle: {idle}")
    assert not asking.failed and max(asking.seconds) < max(0.5, 5 * max(idle.seconds))
