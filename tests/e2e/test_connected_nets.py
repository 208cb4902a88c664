# SPDX-License-Identifier: BSD-3-Clause
"""Nets on links and the host's own addresses, held against what Linux says of the same ones (docs/routing.md): peers, ports that share a net,
addresses without a prefix route, local routes. All are set beside a running daemon, by others than its configuration."""

import pytest
from lib.packets import token, udp4
from lib.waiting import wait_for
from test_which_route import as_linux, linux_way, wait_for_echo, went

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has its own routes anyway")
NET = {"config": {"kernel_routes": {"enabled": True, "protocols": ["boot"]}}}


@pytest.fixture
def added(net):
    """added(namespace, word, …) is `ip word add …`, taken back when the test is over."""
    done = []

    def add(namespace, *words):
        family = "-6" if any(":" in str(word) for word in words) else "-4"
        namespace.ip(family, words[0], "add", *words[1:])
        done.append((namespace, (family, words[0], "del", *(word for word in words[1:] if word not in ("nodad", "noprefixroute")))))

    yield add
    for namespace, words in reversed(done):
        namespace.ip(*words, check=False)


@pytest.fixture
def router(net):
    return net.topology.router_namespace


@requirement("a point-to-point address: the peer is on the link and is reached through the router, the router's own address is the host's; as in Linux")
@pytest.mark.parametrize("own, peer, bits, net_of_peer", [("10.77.0.1", "10.77.0.2", 32, None), ("10.77.0.1", "10.77.1.2", 24, "10.77.1.9"),
                                                          ("2001:db8:77::1", "2001:db8:77::2", 128, None),
                                                          ("2001:db8:77::1", "2001:db8:78::2", 64, "2001:db8:77::9")])
def test_peer(net, router, added, own, peer, bits, net_of_peer):
    nodad = ["nodad"] if ":" in own else []
    added(net.b.namespace, "address", peer, "peer", f"{own}/{128 if ':' in own else 32}", "dev", "eth0", *nodad)
    added(router, "address", own, "peer", f"{peer}/{bits}", "dev", net.b.port, *nodad)
    assert linux_way(net, peer) == net.b.port
    wait_for_echo(net, peer)
    wait_for_echo(net, own)
    as_linux(net, peer, net.b.port)
    kinds = {member["kind"] for member in net.router.json("show", "route", peer)["group"]["members"]}
    assert kinds == {"forward"}, "like any neighbour on a connected net"
    if net_of_peer:
        assert linux_way(net, net_of_peer) == net.b.port
        added(net.b.namespace, "address", f"{net_of_peer}/{128 if ':' in own else 32}", "dev", "eth0", *nodad)
        wait_for_echo(net, net_of_peer)


@requirement("a peer is reached after a kill -9, like the hosts of other connected nets")
@pytest.mark.xdp("other dataplanes stop with their daemon")
def test_peer_without_a_daemon(build_net):
    net = build_net()
    net.b.namespace.ip("address", "add", "10.77.0.2", "peer", "10.77.0.1/32", "dev", "eth0")
    net.topology.router_namespace.ip("address", "add", "10.77.0.1", "peer", "10.77.0.2/32", "dev", "p2")
    wait_for_echo(net, "10.77.0.2")
    net.router.kill()
    wait_for_echo(net, "10.77.0.2")


@requirement("a gateway that is a peer: routes go by it, whether or not it was known before")
def test_gateway_is_a_peer(net, router, added):
    added(net.b.namespace, "address", "10.77.0.2", "peer", "10.77.0.1/32", "dev", "eth0")
    added(router, "address", "10.77.0.1", "peer", "10.77.0.2/32", "dev", net.b.port)
    net.router.route("add", "203.0.113.0/24", "via", "10.77.0.2")
    try:
        as_went(net, "203.0.113.9", "b")
        router.ip("neigh", "flush", "dev", net.b.port)
        as_went(net, "203.0.113.9", "b")
    finally:
        net.router.route("del", "203.0.113.0/24")


def as_went(net, destination, label):
    def once():
        mark = token()
        host = next(host for host in net.hosts if host.label == label)
        return host.answer_to(lambda: net.a.send(udp4(net.a, net.b, mark, dst=destination)), mark)

    wait_for(once, f"{destination} arrives at {label}")


SHARED = [pytest.param("10.88.0.{}/24", "10.88.0.9", id="ipv4"), pytest.param("2001:db8:88::{}/64", "2001:db8:88::9", id="ipv6")]


def give_to_hosts(net, added, there):
    for host in (net.b, net.c):
        added(host.namespace, "address", f"{there}/{128 if ':' in there else 32}", "dev", "eth0", *(["nodad"] if ":" in there else []))


@requirement("two ports whose addresses are of one net: the address that came first has it, then the other when its port is set down; as in Linux")
@pytest.mark.parametrize("address, there", SHARED)
def test_first_address(net, router, added, address, there):
    give_to_hosts(net, added, there)
    added(router, "address", address.format(2), "dev", net.c.port)
    added(router, "address", address.format(1), "dev", net.b.port)
    as_linux(net, there, net.c.port)
    router.ip("address", "del", address.format(2), "dev", net.c.port)
    as_linux(net, there, net.b.port)
    added(router, "address", address.format(2), "dev", net.c.port)
    as_linux(net, there, net.b.port)


@requirement("the port that has a shared net is set down: the other one has it, and keeps it when the first is up again; as in Linux")
def test_set_down(net, router, added):
    give_to_hosts(net, added, "10.88.0.9")
    added(router, "address", "10.88.0.2/24", "dev", net.c.port)
    added(router, "address", "10.88.0.1/24", "dev", net.b.port)
    as_linux(net, "10.88.0.9", net.c.port)
    router.ip("link", "set", net.c.port, "down")
    try:
        as_linux(net, "10.88.0.9", net.b.port)
    finally:
        router.ip("link", "set", net.c.port, "up")
    as_linux(net, "10.88.0.9", net.b.port)


@requirement("of two addresses in one net the one with the better metric, also when it is changed; as in Linux")
@pytest.mark.parametrize("address, there", SHARED)
def test_metric(net, router, added, address, there):
    give_to_hosts(net, added, there)
    added(router, "address", address.format(1), "dev", net.b.port, "metric", "200")
    added(router, "address", address.format(2), "dev", net.c.port, "metric", "100")
    as_linux(net, there, net.c.port)
    router.ip("-6" if ":" in there else "-4", "address", "change", address.format(1), "dev", net.b.port, "metric", "50")
    as_linux(net, there, net.b.port)
    router.ip("-6" if ":" in there else "-4", "address", "change", address.format(1), "dev", net.b.port, "metric", "200")
    as_linux(net, there, net.c.port)


@requirement("an address with noprefixroute makes no net; the prefix route that a network manager then sets itself does; as in Linux")
@pytest.mark.parametrize("address, there", SHARED)
def test_noprefixroute(net, router, added, address, there):
    give_to_hosts(net, added, there)
    family = "-6" if ":" in there else "-4"
    prefix = "2001:db8:88::/64" if ":" in there else "10.88.0.0/24"
    added(router, "address", address.format(1), "dev", net.b.port, "noprefixroute", *(["nodad"] if ":" in there else []))
    wait_for_echo(net, address.format(1).split("/")[0])
    assert linux_way(net, there) is None
    assert went(net, there) is None
    added(router, "address", address.format(2), "dev", net.c.port, "metric", "100")
    as_linux(net, there, net.c.port)
    router.ip(family, "route", "add", prefix, "dev", net.b.port, "proto", "kernel", "metric", "50")
    as_linux(net, there, net.b.port)
    router.ip(family, "route", "del", prefix, "dev", net.b.port)
    as_linux(net, there, net.c.port)


@requirement("the kernel's own prefix route deleted by hand: the net is on no link any more, until it is set again; as in Linux, also for a daemon that starts")
@pytest.mark.xdp("a tap goes with its daemon")
def test_route_deleted_by_hand(build_net):
    net = build_net()
    router = net.topology.router_namespace
    for host in (net.b, net.c):
        host.namespace.ip("address", "add", "10.88.0.9/32", "dev", "eth0")
    router.ip("address", "add", "10.88.0.1/24", "dev", net.b.port)
    router.ip("address", "add", "10.88.0.2/24", "dev", net.c.port)
    as_linux(net, "10.88.0.9", net.b.port)
    router.ip("route", "del", "10.88.0.0/24", "dev", net.b.port)
    as_linux(net, "10.88.0.9", net.c.port)
    router.ip("route", "add", "10.88.0.0/24", "dev", net.b.port, "proto", "kernel", "scope", "link", "metric", "9")
    as_linux(net, "10.88.0.9", net.c.port)
    router.ip("route", "del", "10.88.0.0/24", "dev", net.c.port)
    as_linux(net, "10.88.0.9", net.b.port)
    router.ip("route", "append", "10.88.0.0/24", "dev", net.c.port, "proto", "kernel", "scope", "link", "metric", "9")
    net.router.kill()
    router.ip("route", "del", "10.88.0.0/24", "dev", net.b.port)
    router.ip("route", "append", "10.88.0.0/24", "dev", net.b.port, "proto", "kernel", "scope", "link", "metric", "9")
    net.start()
    as_linux(net, "10.88.0.9", net.c.port)
    router.ip("route", "del", "10.88.0.0/24", "dev", net.c.port)
    as_linux(net, "10.88.0.9", net.b.port)


@requirement("unnumbered links: the configuration gives two ports one address without a net, and their hosts have routes by the interface alone")
def test_unnumbered(build_net):
    net = build_net()
    for host, there in ((net.b, "10.99.0.2"), (net.c, "10.99.0.3")):
        net.router.config["interfaces"][host.port]["addresses"].append("10.99.0.1/32")
        net.router.config["routes"].append({"prefix": f"{there}/32", "interface": host.port})
        host.namespace.ip("address", "add", f"{there}/32", "dev", "eth0")
    net.router.apply()
    for there, port in (("10.99.0.2", "p2"), ("10.99.0.3", "p3")):
        wait_for_echo(net, there)
        as_linux(net, there, port)
    wait_for_echo(net, "10.99.0.1")
    net.router.config["interfaces"]["p2"]["addresses"].remove("10.99.0.1/32")
    net.router.apply()
    wait_for_echo(net, "10.99.0.1")
    wait_for_echo(net, "10.99.0.3")


@requirement("addresses that are the host's by a local route (AnyIP), or by a net on lo, are delivered to its stack; as in Linux")
@pytest.mark.parametrize("words, there", [pytest.param(("route", "local", "198.51.100.0/24", "dev", "lo"), "198.51.100.77", id="anyip"),
                                          pytest.param(("route", "local", "2001:db8:99::/64", "dev", "lo"), "2001:db8:99::77", id="anyip6"),
                                          pytest.param(("route", "local", "198.51.100.0/24", "dev", "p2"), "198.51.100.77", id="by_a_port"),
                                          pytest.param(("address", "198.51.100.1/24", "dev", "lo"), "198.51.100.77", id="net_on_lo"),
                                          pytest.param(("address", "2001:db8:99::77/64", "dev", "lo"), "2001:db8:99::77", id="lo6")])
def test_local(net, router, added, words, there):
    default = "::/0" if ":" in there else "0.0.0.0/0"
    net.router.route("add", default, "via", net.c.ip6 if ":" in there else net.c.ip4)
    try:
        wait_for(lambda: went(net, there) == "c", "the default route has it")
        added(router, *words)
        wait_for_echo(net, there)
        namespace, word, *rest = router, words[0], *words[1:]
        namespace.ip("-6" if ":" in there else "-4", word, "del", *rest)
        wait_for(lambda: went(net, there) == "c", "the default route has it again")
    finally:
        net.router.route("del", default)


SPLIT = "a split port's stage knows the host's prefixes alone: it leaves longer routes inside to Linux"


@requirement("longer routes inside a local one: of IPv6 Linux looks into its local table first, of IPv4 the longest prefix wins; as in Linux")
@pytest.mark.parametrize("around, there, itself", [pytest.param("198.51.100.0/24", "198.51.100.77", "198.51.100.9", id="ipv4", marks=pytest.mark.says_who_decides(SPLIT)),
                                                   pytest.param("2001:db8:99::/64", "2001:db8:99::77", "2001:db8:99::9", id="ipv6")])
def test_longer_than_a_local_route(net, router, added, around, there, itself):
    net6 = ":" in there
    added(router, "route", f"{there}/{128 if net6 else 32}", "via", net.c.ip6 if net6 else net.c.ip4)
    as_linux(net, there, net.c.port)
    added(router, "route", "local", around, "dev", "lo")
    assert linux_way(net, there) == ("lo" if net6 else net.c.port)
    wait_for_echo(net, itself)
    if net6:
        wait_for_echo(net, there)
        assert net.router.json("show", "route", there)["prefix"] == around
    else:
        as_linux(net, there, net.c.port)
    router.ip("-6" if net6 else "-4", "route", "del", "local", around, "dev", "lo")
    as_linux(net, there, net.c.port)
