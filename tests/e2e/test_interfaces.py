# SPDX-License-Identifier: BSD-3-Clause
"""Interfaces that go down, vanish, change and come back while the router runs."""

import pytest
from lib.packets import both_ways, delivered, icmp_answer, token, udp4, udp6, wait_for_crossing
from lib.pktpit_router import DATAPLANE
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for
from lib.wire import NothingReceived

requirement = pytest.mark.requirement


def two_paths(topology):
    b, c = topology.b, topology.c
    return {"routes": [{"prefix": "198.51.100.0/24", "next_hops": [{"via": b.ip4}, {"via": c.ip4}]}]}


NET = {"configure": two_paths}


def router_ip(net, *words):
    net.topology.router_namespace.ip(*words)


@requirement("a port that goes down and up again forwards again, with the addresses and routes that it had")
@pytest.mark.kernel_differs("Linux forgets IPv6 addresses and static routes of an interface that goes down")
def test_port_down_and_up(net):
    router_ip(net, "link", "set", "p2", "down")
    mark = token()
    net.a.send(udp4(net.a, net.b, mark))
    assert not net.b.wire.waiting(lambda frame: mark in frame)
    wait_for_crossing(net.a, net.c)
    router_ip(net, "link", "set", "p2", "up")
    both_ways(net.a, net.b)


@requirement("the carrier going away takes a port down as well: the other end is unplugged")
@pytest.mark.kernel_differs("Linux keeps routes over an interface without carrier")
def test_carrier_lost_and_back(net):
    def state():
        return net.router.ports()["p2"]["up"]

    net.b.namespace.ip("link", "set", "eth0", "down")
    wait_for(lambda: state() is False, "p2 is seen down")
    net.b.namespace.ip("link", "set", "eth0", "up")
    net.b.namespace.ip("route", "replace", "default", "via", net.b.router_ip4)
    net.b.namespace.ip("address", "replace", f"{net.b.ip6}/64", "dev", "eth0", "nodad")
    net.b.namespace.ip("-6", "route", "replace", "default", "via", net.b.router_ip6)
    wait_for(lambda: state() is True, "p2 is seen up")
    both_ways(net.a, net.b)


@requirement("the flows of a path that goes down move to the paths that are left")
def test_group_goes_on_without_a_member(net):
    router_ip(net, "link", "set", "p2", "down")

    def all_at_c():
        mark = token()
        for port in range(32):
            net.a.send(udp4(net.a, net.b, mark, dst="198.51.100.9", sport=1000 + port))
        try:
            return net.c.wire.receive_many(32, lambda frame: mark in frame, 0.5)
        except NothingReceived:
            return None

    wait_for(all_at_c, "all flows take the path that is up")
    router_ip(net, "link", "set", "p2", "up")
    if net.router.name == "kernel":
        router_ip(net, "route", "replace", "198.51.100.0/24", "nexthop", "via", net.b.ip4, "nexthop", "via", net.c.ip4)
        router_ip(net, "route", "replace", "198.18.2.0/24", "via", net.b.ip4)
        router_ip(net, "address", "replace", f"{net.b.router_ip6}/64", "dev", "p2")
        router_ip(net, "-6", "route", "replace", "2001:db8:2:100::/56", "via", net.b.ip6)
    wait_for_crossing(net.a, net.b)


@requirement("a new MTU of a device is followed: packet too big names it")
def test_mtu_change_is_followed(net):
    router_ip(net, "link", "set", "p3", "mtu", 1300)
    try:
        def says_1300():
            for make, at in ((udp4, 40), (udp6, 60)):
                mark = token()
                net.a.send(make(net.a, net.c, mark + bytes(1300), **({"flags": "DF"} if make is udp4 else {})))
                try:
                    if bytes(icmp_answer(net.a, mark, 0.3))[at:at + 2] != (1300).to_bytes(2, "big"):
                        return None
                except NothingReceived:
                    return None
            return True

        wait_for(says_1300, "errors name 1300")
    finally:
        router_ip(net, "link", "set", "p3", "mtu", 1500)


@requirement("a new MAC address of a port is followed: frames leave from it and are taken at it")
def test_port_mac_change_is_followed(net):
    new = "02:00:00:00:77:01"
    router_ip(net, "link", "set", "p2", "address", new)
    try:
        def from_new():
            return delivered(net.a, net.b).src == new

        wait_for(from_new, "frames leave from the new MAC address")
        mark = token()
        net.b.send(udp4(net.b, net.a, mark), dst=new)
        net.a.receive(mark)
    finally:
        router_ip(net, "link", "set", "p2", "address", net.b.router_mac)
    wait_for(lambda: wait_for_crossing(net.a, net.b).src == net.b.router_mac, "and from the old one again")


@requirement("an address that is added to a port in the kernel is the router's, and its net is connected")
def test_address_added_and_removed(net):
    router_ip(net, "address", "add", "10.99.0.1/24", "dev", "p2")

    def pings():
        return net.a.namespace.run("ping", "-c", "1", "-W", "1", "10.99.0.1", check=False).returncode == 0

    wait_for(pings, "the new address answers")
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, dst="10.99.0.5"))
    net.b.wire.receive(lambda frame: frame[12:14] == b"\x08\x06" and frame[38:42] == bytes([10, 99, 0, 5]))
    router_ip(net, "address", "del", "10.99.0.1/24", "dev", "p2")

    def unreachable():
        mark = token()
        net.a.send(udp4(net.a, net.b, mark, src="198.18.1.55", dst="10.99.0.5"))
        try:
            return bytes(icmp_answer(net.a, mark, 0.3))[35] == 0
        except NothingReceived:
            return None

    wait_for(unreachable, "the net is unreachable again")


@requirement("a port that vanishes under load hurts no other, and works again when it is back")
@pytest.mark.kernel_differs("Linux forgets the addresses and routes of an interface that vanishes")
def test_port_vanishes_under_load_and_comes_back(net, stream):
    onlooker = stream(net.a, net.c, rate=10000)
    victim = stream(net.a, net.b, rate=10000)
    router_ip(net, "link", "del", net.b.wire_port)
    onlooker.flows_again(5000)
    victim.abort()
    # A tap stays; that of DPDK tells that its device has no link.
    expected = {"xdp": (True, False), "dpdk": (False, False), "model": (False, True)}[DATAPLANE]

    def is_shown():
        port = net.router.ports()["p2"]
        return (port["ifindex"] == 0, port["up"]) == expected

    wait_for(is_shown, what=f"p2 has gone as it does: {expected}")
    net.b.reconnect()
    both_ways(net.a, net.b)
    assert_nothing_lost(onlooker.finish())


@requirement("vanishing and coming back ten times in a row leaves a router that works")
@pytest.mark.kernel_differs("Linux forgets the addresses and routes of an interface that vanishes")
def test_port_flaps(net):
    for _ in range(10):
        router_ip(net, "link", "del", net.c.wire_port)
        net.c.reconnect()
    both_ways(net.a, net.c)
