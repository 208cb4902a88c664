# SPDX-License-Identifier: BSD-3-Clause
"""Which route a packet takes where several could have it (docs/routing.md), held against what Linux says of the same routes."""

import re

import pytest
from lib.packets import token, udp4, udp6
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has its own routes anyway")
NET = {"config": {"kernel_routes": {"enabled": True}}}


def linux_way(net, destination):
    """The device that Linux sends by; None: it does not."""
    family = "-6" if ":" in destination else "-4"
    said = net.topology.router_namespace.ip(family, "route", "get", destination, check=False)
    found = re.search(r"\bdev (\S+)", said.stdout)
    return found.group(1) if said.returncode == 0 and found else None


def as_linux(net, destination, port):
    """Both send by the port; None: neither sends."""
    assert linux_way(net, destination) == port
    wanted = next((host.label for host in net.hosts if host.port == port), None)
    wait_for(lambda: went(net, destination) == wanted, f"{destination} leaves by {port}")


def went(net, destination):
    """The label of the host that one packet comes to; None: the router has dropped it by the route. A lost one fails the test."""
    def dropped():
        counts = net.router.counters()
        return sum(counts.get(name, 0) for name in ("drop_blackhole", "unreachable", "no_route"))

    before, mark = dropped(), token()
    net.a.send((udp6 if ":" in destination else udp4)(net.a, net.b, mark, dst=destination))

    def where():
        there = [host.label for host in (net.b, net.c) if host.wire.waiting(lambda frame: mark in frame)]
        return there or (["nowhere"] if dropped() > before else None)

    label = wait_for(where, f"a packet to {destination} arrives or is dropped")[0]
    return None if label == "nowhere" else label


def wait_for_echo(net, there):
    wait_for(lambda: net.a.namespace.run("ping", "-c", "1", "-W", "1", there, check=False).returncode == 0, f"{there} answers")


ROUTES = [
    pytest.param(("blackhole", "10.2.0.2/32"), "10.2.0.2", None, id="nowhere"),
    pytest.param(("unreachable", "10.2.0.0/25"), "10.2.0.2", None, id="nowhere_around"),
    pytest.param(("10.2.0.2/32", "via", "10.3.0.2"), "10.2.0.2", "p3", id="by_a_gateway"),
    pytest.param(("10.2.0.0/28", "via", "10.3.0.2"), "10.2.0.2", "p3", id="by_a_gateway_around"),
    pytest.param(("10.2.0.0/24", "via", "10.3.0.2", "metric", "7"), "10.2.0.2", "p2", id="of_the_nets_length"),
    pytest.param(("blackhole", "2001:db8:2::2/128"), "2001:db8:2::2", None, id="nowhere6"),
    pytest.param(("2001:db8:2::/124", "via", "2001:db8:3::2"), "2001:db8:2::2", "p3", id="by_a_gateway_around6"),
]


@requirement("longest prefix first: a host that is known on its link is how a connected net is reached, not a route that beats longer ones; as in Linux")
@pytest.mark.parametrize("words, destination, port", ROUTES)
def test_longer_than_the_connected_net(net, words, destination, port):
    as_linux(net, destination, "p2")
    family = "-6" if ":" in destination else "-4"
    net.topology.router_namespace.ip(family, "route", "add", *words)
    try:
        as_linux(net, destination, port)
        net.topology.router_namespace.ip(family, "neigh", "flush", "dev", "p2")  # met again, or not, with the route there
        as_linux(net, destination, port)
    finally:
        net.topology.router_namespace.ip(family, "route", "del", *words)
    as_linux(net, destination, "p2")


@requirement("the same by hand: a blackhole for a host under attack ends it at once, and its end brings the host back")
def test_by_hand(net):
    for prefix in ("10.2.0.2/32", "10.2.0.0/25", "2001:db8:2::2/128"):
        destination = prefix.split("/")[0] if prefix.endswith(("32", "128")) else "10.2.0.2"
        net.router.route("add", "blackhole", prefix)
        assert went(net, destination) is None
        net.router.route("del", prefix)
        assert went(net, destination) == "b"


@requirement("a route by an interface alone is a link: its hosts are in the FIB like any neighbours, and are reached after a kill -9")
@pytest.mark.xdp("other dataplanes stop with their daemon")
@pytest.mark.parametrize("prefix, there", [("203.0.113.7/32", "203.0.113.7"), ("203.0.113.0/24", "203.0.113.9"), ("2001:db8:77::/64", "2001:db8:77::9")])
def test_interface_route(build_net, prefix, there):
    net = build_net(config={"routes": [{"prefix": prefix, "interface": "p2"}]})
    net.b.namespace.ip("address", "add", f"{there}/{128 if ':' in there else 32}", "dev", "eth0")
    wait_for_echo(net, there)

    def punted():
        return net.router.counters().get("no_neighbour", 0)

    wait_for(lambda: net.router.json("show", "route", there)["group"]["members"][0]["kind"] == "forward", "it is in the FIB")
    before = punted()
    for _ in range(10):
        assert went(net, there) == "b"
    assert punted() == before, "no packet of a known host goes by the daemon"
    net.router.kill()
    wait_for_echo(net, there)
