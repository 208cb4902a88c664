# SPDX-License-Identifier: BSD-3-Clause
"""Kernel routes that Pktpit cannot do itself: their packets are the kernel's, on every dataplane, and never a shorter prefix's."""

import socket

import pytest
from lib.packets import arrives, checksum, fence, goes_to, ipv4_header, token, udp4, udp6
from lib.waiting import wait_for
from lib.wire import Wire

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux follows itself")
NET = {"config": {"kernel_routes": {"enabled": True}}}


@pytest.fixture(scope="module")
def linux(net):
    """The router's namespace, where Linux forwards, and a shorter prefix around all that the tests use, by host b."""
    router = net.topology.router_namespace
    router.sysctl({"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1, "net/ipv4/conf/all/rp_filter": 0})
    router.ip("route", "add", "203.0.0.0/16", "via", net.b.ip4)
    router.ip("-6", "route", "add", "2001:db8:e00::/40", "via", net.b.ip6)
    arrives(net.a, net.b, "203.0.113.1")
    arrives(net.a, net.b, "2001:db8:e99::1")
    # Linux finds the hosts itself, whatever the order in which links, addresses and routes have come.
    for there in (net.c.ip6, net.c.ip4):
        wait_for(lambda: router.run("ping", "-c", "1", "-W", "1", there, check=False).returncode == 0, f"Linux reaches {there}")  # noqa: B023
    wait_for(lambda: net.c.ip6 in router.ip("-6", "route", "get", net.c.behind6, check=False).stdout, "Linux has the route to the segment")
    return router


def kind_of(net, destination):
    return net.router.json("show", "route", destination)["candidates"][0]["type"]


def becomes(net, destination, kind):
    wait_for(lambda: kind_of(net, destination) == kind, f"{destination} is of type {kind}")


def host_kernel_route(net):
    return net.router.counters().get("host_kernel_route", 0)


def sent_by_linux(net, host, destination, wire=None):
    """The frame that comes to the host; counted as the kernel's."""
    before = host_kernel_route(net)
    mark = token()
    net.a.send((udp6 if ":" in destination else udp4)(net.a, host, mark, dst=destination))
    frame = bytes((wire or host.wire).receive(lambda frame: mark in frame, 5, f"a packet to {destination}"))
    wait_for(lambda: host_kernel_route(net) == before + 1, "counted")
    return frame


@requirement("an IPv6 route that encapsulates: the kernel does it, and a shorter prefix does not have its packets")
def test_segment_routing(net, linux):
    linux.ip("-6", "route", "add", "2001:db8:eee::/48", "encap", "seg6", "mode", "encap", "segs", net.c.behind6, "via", net.c.ip6, "dev", net.c.port)
    becomes(net, "2001:db8:eee::9", "kernel")
    frame = sent_by_linux(net, net.c, "2001:db8:eee::9")
    assert frame[12:14] == b"\x86\xdd" and frame[20] == 43, "an outer header with a routing header"
    inner = frame[54 + (frame[55] + 1) * 8:]
    assert inner[24:40] == socket.inet_pton(socket.AF_INET6, "2001:db8:eee::9")
    linux.ip("-6", "route", "del", "2001:db8:eee::/48")
    arrives(net.a, net.b, "2001:db8:eee::9")


@requirement("an IPv4 route that encapsulates is the kernel's likewise; with its route gone the shorter prefix has its packets")
def test_ipv4_over_segments(net, linux):
    linux.ip("route", "add", "203.0.114.0/24", "encap", "seg6", "mode", "encap", "segs", net.c.behind6, "via", "inet6", net.c.ip6, "dev", net.c.port)
    becomes(net, "203.0.114.9", "kernel")
    frame = sent_by_linux(net, net.c, "203.0.114.9")
    assert frame[12:14] == b"\x86\xdd" and frame[20] == 43
    header = frame[54 + (frame[55] + 1) * 8:][:20]
    assert header[0] == 0x45 and header[16:20] == socket.inet_aton("203.0.114.9") and checksum(header) == 0
    linux.ip("route", "del", "203.0.114.0/24")
    arrives(net.a, net.b, "203.0.114.9")
    before = host_kernel_route(net)
    assert goes_to(net, "203.0.114.9") == "b"
    assert host_kernel_route(net) == before


@requirement("a route by a device that is none of the router's: the kernel forwards by it")
def test_another_device(net, linux):
    linux.ip("link", "add", "t0", "type", "veth", "peer", "name", "t1", "netns", net.c.namespace.name)
    net.c.namespace.ip("address", "add", "10.77.0.2/24", "dev", "t1")
    net.c.namespace.ip("link", "set", "t1", "up")
    linux.ip("address", "add", "10.77.0.1/24", "dev", "t0")
    linux.ip("link", "set", "t0", "up")
    linux.ip("route", "add", "203.0.115.0/24", "via", "10.77.0.2")
    wire = Wire(net.c.namespace, "t1")
    try:
        becomes(net, "203.0.115.9", "kernel")
        header = ipv4_header(sent_by_linux(net, net.c, "203.0.115.9", wire))
        assert header[8] == 63 and checksum(header) == 0
    finally:
        wire.close()
        linux.ip("link", "del", "t0")
    wait_for(lambda: goes_to(net, "203.0.115.9") == "b", "the shorter prefix, when the kernel has dropped the route")


@requirement("the net of a device that is none of the router's (a tunnel, a bridge of containers) is handed to Linux, not sent by a default route")
@pytest.mark.parametrize("family, net6", [("-4", False), ("-6", True)])
def test_net_of_another_device(net, linux, family, net6):
    host, router, default = ("2001:db8:77::2", "2001:db8:77::1/64", "::/0") if net6 else ("10.78.0.2", "10.78.0.1/24", "0.0.0.0/0")
    linux.ip(family, "route", "add", default, "via", net.b.ip6 if net6 else net.b.ip4)
    linux.ip("link", "add", "t0", "type", "veth", "peer", "name", "t1", "netns", net.c.namespace.name)
    wire = None
    try:
        arrives(net.a, net.b, host)
        for namespace, device, address in ((net.c.namespace, "t1", f"{host}/{64 if net6 else 24}"), (linux, "t0", router)):
            namespace.sysctl({f"net/ipv6/conf/{device}/accept_dad": 0})
            namespace.ip("link", "set", device, "up")
            namespace.ip("address", "add", address, "dev", device)
        wire = Wire(net.c.namespace, "t1")
        becomes(net, host, "kernel")
        sent_by_linux(net, net.c, host, wire)
    finally:
        if wire:
            wire.close()
        linux.ip("link", "del", "t0")
        arrives(net.a, net.b, host)
        linux.ip(family, "route", "del", default)


@requirement("`throw`: the lookup goes on in the table of the next rule, which the kernel alone knows")
def test_throw(net, linux):
    linux.ip("rule", "add", "priority", "32800", "lookup", "100")
    linux.ip("route", "add", "203.0.116.0/24", "via", net.c.ip4, "table", "100")
    linux.ip("route", "add", "throw", "203.0.116.0/24")
    becomes(net, "203.0.116.9", "kernel")
    assert ipv4_header(sent_by_linux(net, net.c, "203.0.116.9"))[8] == 63
    linux.ip("route", "del", "throw", "203.0.116.0/24")
    linux.ip("rule", "del", "priority", "32800")
    arrives(net.a, net.b, "203.0.116.9")


@requirement("a longer prefix that Pktpit can do is its own, also within one that it cannot")
def test_longer_prefix_within(net, linux):
    linux.ip("route", "add", "203.0.120.0/22", "encap", "seg6", "mode", "encap", "segs", net.c.behind6, "via", "inet6", net.c.ip6, "dev", net.c.port)
    linux.ip("route", "add", "203.0.121.0/24", "via", net.c.ip4)
    becomes(net, "203.0.120.9", "kernel")
    arrives(net.a, net.c, "203.0.121.9")
    before = host_kernel_route(net)
    for _ in range(5):
        assert goes_to(net, "203.0.121.9") == "c"
    assert host_kernel_route(net) == before
    sent_by_linux(net, net.c, "203.0.120.9")
    for prefix in ("203.0.120.0/22", "203.0.121.0/24"):
        linux.ip("route", "del", prefix)


@requirement("with Linux's forwarding off such packets end there: not at a shorter prefix, and counted")
def test_forwarding_off(net, linux):
    linux.ip("route", "add", "203.0.117.0/24", "encap", "seg6", "mode", "encap", "segs", net.c.behind6, "via", "inet6", net.c.ip6, "dev", net.c.port)
    becomes(net, "203.0.117.9", "kernel")
    linux.sysctl({"net/ipv4/ip_forward": 0})
    before = host_kernel_route(net)
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, dst="203.0.117.9"))
    wait_for(lambda: host_kernel_route(net) == before + 1, "counted")
    fence(net)
    assert not [host for host in (net.b, net.c) if host.wire.waiting(lambda frame: mark in frame)]
    linux.sysctl({"net/ipv4/ip_forward": 1})
    linux.ip("route", "del", "203.0.117.0/24")


@requirement("each such route is listed with the reason, by kind and counted; the log warns once of each kind")
def test_listed(net, linux):
    linux.ip("route", "add", "203.0.118.0/24", "encap", "seg6", "mode", "encap", "segs", net.c.behind6, "via", "inet6", net.c.ip6, "dev", net.c.port)
    linux.ip("route", "add", "throw", "203.0.119.0/24")
    linux.ip("route", "add", "203.0.119.0/24", "tos", "0x10", "via", net.c.ip4)

    def listed():
        return {(one["prefix"], one["kind"]): one for one in net.router.json("show", "routes", "--ignored")["routes"]}

    wait_for(lambda: {("203.0.118.0/24", "encap"), ("203.0.119.0/24", "throw"), ("203.0.119.0/24", "tos")} <= set(listed()), "listed")
    assert listed()["203.0.118.0/24", "encap"]["to_kernel"] and listed()["203.0.119.0/24", "throw"]["to_kernel"]
    assert not listed()["203.0.119.0/24", "tos"]["to_kernel"]
    counts = net.router.json("show", "routes", "--ignored")["counts"]
    assert counts["encap"] == 1 and counts["throw"] == 1 and counts["tos"] == 1
    assert "to Linux" in net.router.cli("show", "routes", "--ignored").stdout
    for kind in ("encapsulates, which Pktpit does not", "throws: the lookup goes on"):
        assert net.router.log().count(kind) == 1, kind
    linux.ip("route", "del", "203.0.118.0/24")
    linux.ip("route", "del", "throw", "203.0.119.0/24")
    linux.ip("route", "del", "203.0.119.0/24", "tos", "0x10")
    wait_for(lambda: not [prefix for prefix, kind in listed() if kind != "rule"], "none is left")
