# SPDX-License-Identifier: BSD-3-Clause
"""Routes with an MTU of their own, of the configuration, by hand and of the kernel: fragments and errors, on every dataplane."""

import json
import random
import struct

import pytest
from lib.packets import IP, IPv6, Ether, Raw, arrives, checksum, icmp_answer, token, udp4, udp6
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("routes are written in Pktpit's configuration, and the kernel's followed")

MTU = 1340
CONFIGURED4, CONFIGURED6 = "203.0.113.9", "2001:db8:aaa::9"
KERNEL4, KERNEL6, LOCKED4 = "198.51.100.9", "2001:db8:bbb::9", "198.51.101.9"
PLAIN4, PLAIN6 = "192.0.2.9", "2001:db8:ccc::9"


def with_mtu(topology):
    c = topology.c
    return {"kernel_routes": {"enabled": True}, "routes": [
        {"prefix": "203.0.113.0/24", "via": c.ip4, "mtu": MTU},
        {"prefix": "2001:db8:aaa::/48", "via": c.ip6, "mtu": MTU},
        {"prefix": "192.0.2.0/24", "via": c.ip4},
        {"prefix": "2001:db8:ccc::/48", "via": c.ip6},
    ]}


NET = {"configure": with_mtu}


@pytest.fixture(scope="module")
def routes(net):
    router, c = net.topology.router_namespace, net.c
    router.ip("route", "add", "198.51.100.0/24", "via", c.ip4, "mtu", MTU)
    router.ip("route", "add", "198.51.101.0/24", "via", c.ip4, "mtu", "lock", MTU)
    router.ip("-6", "route", "add", "2001:db8:bbb::/48", "via", c.ip6, "mtu", MTU)
    for destination in (CONFIGURED4, CONFIGURED6, KERNEL4, KERNEL6, LOCKED4, PLAIN4, PLAIN6):
        arrives(net.a, c, destination)
    return net


def sized4(net, destination, size, **fields):
    mark = token()
    return udp4(net.a, net.c, mark + bytes(size - 28 - len(mark)), dst=destination, **fields), mark


def sized6(net, destination, size):
    mark = token()
    return udp6(net.a, net.c, mark + bytes(size - 48 - len(mark)), dst=destination), mark


def fragments_at(host, destination):
    got, end, have = [], None, 0
    wanted = bytes(map(int, destination.split(".")))
    while end is None or have < end:
        packet = Ether(host.wire.receive(lambda frame: frame[12:14] == b"\x08\x00" and frame[30:34] == wanted))[IP]
        have += packet.len - packet.ihl * 4
        if not packet.flags.MF:
            end = packet.frag * 8 + packet.len - packet.ihl * 4
        got.append(packet)
    return got


@requirement("RFC 1191 4: DF set and larger than the route's MTU: fragmentation needed with that MTU; not forwarded")
@pytest.mark.parametrize("destination", [CONFIGURED4, KERNEL4, LOCKED4])
@pytest.mark.parametrize("size", [MTU + 1, 1500])
def test_fragmentation_needed(routes, destination, size):
    net = routes
    packet, mark = sized4(net, destination, size, flags="DF")
    net.a.send(packet)
    error = bytes(icmp_answer(net.a, mark))
    assert error[34:36] == b"\x03\x04" and error[38:42] == b"\0\0" + struct.pack("!H", MTU)
    assert not net.c.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 1812 5.2.6: DF clear and larger than the route's MTU: fragments no larger than that, the same datagram")
@pytest.mark.parametrize("destination", [CONFIGURED4, KERNEL4, LOCKED4])
def test_fragmented_to_it(routes, destination):
    net = routes
    payload = random.Random(destination).randbytes(1480)
    net.a.send(IP(src=net.a.behind4, dst=destination, id=4711, proto=253, ttl=9) / Raw(payload))
    fragments = fragments_at(net.c, destination)
    assert len(fragments) == 2 and max(packet.len for packet in fragments) <= MTU
    assert max(packet.len for packet in fragments) > MTU - 8, "as large as may be"
    assert all(checksum(bytes(packet)[:20]) == 0 for packet in fragments)
    assert b"".join(bytes(packet)[20:packet.len] for packet in sorted(fragments, key=lambda packet: packet.frag)) == payload


@requirement("RFC 4443 3.2: larger than the route's MTU: packet too big with that MTU; not forwarded")
@pytest.mark.parametrize("destination", [CONFIGURED6, KERNEL6])
@pytest.mark.parametrize("size", [MTU + 1, 1500])
def test_packet_too_big(routes, destination, size):
    net = routes
    packet, mark = sized6(net, destination, size)
    net.a.send(packet)
    error = bytes(icmp_answer(net.a, mark))
    assert error[54:56] == b"\x02\x00" and struct.unpack("!I", error[58:62])[0] == MTU
    assert not net.c.wire.waiting(lambda frame: mark in frame)


@requirement("exactly the route's MTU passes; other routes by the same next hop have the link's")
def test_what_fits_passes(routes):
    net = routes
    for destination, size in ((CONFIGURED4, MTU), (KERNEL4, MTU), (LOCKED4, MTU), (PLAIN4, 1500)):
        packet, mark = sized4(net, destination, size, flags="DF")
        net.a.send(packet)
        assert net.c.receive(mark)[IP].len == size
    for destination, size in ((CONFIGURED6, MTU), (KERNEL6, MTU), (PLAIN6, 1500)):
        packet, mark = sized6(net, destination, size)
        net.a.send(packet)
        assert net.c.receive(mark)[IPv6].plen == size - 40


@requirement("one adjacency more for all routes of one MTU and next hop, and none for an MTU that the link keeps anyway")
def test_adjacencies(routes):
    net = routes

    def adjacency(destination):
        shown = net.router.json("show", "route", destination)["adjacency"]
        return shown["id"], shown["mtu"]

    net.router.route("add", "100.64.0.0/10", "via", net.c.ip4, "mtu", "9000")
    assert adjacency(CONFIGURED4) == adjacency(KERNEL4) == adjacency(LOCKED4)
    assert adjacency(CONFIGURED4)[1] == MTU and adjacency(PLAIN4)[1] == 1500
    assert adjacency("100.64.0.1") == adjacency(PLAIN4)
    net.router.route("del", "100.64.0.0/10")


@requirement("by hand, shown, changed at once, and obeyed by the kernel for the router's own packets")
def test_by_hand(routes):
    net = routes
    prefix, destination = "100.65.0.0/16", "100.65.0.1"
    net.router.route("add", prefix, "via", net.c.ip4, "mtu", "1400")
    arrives(net.a, net.c, destination)
    [shown] = net.router.json("show", "routes", "--within", prefix)["routes"]
    assert shown["mtu"] == 1400
    assert "MTU 1400" in net.router.cli("show", "routes", "--within", prefix).stdout

    def of_kernel():
        found = json.loads(net.topology.router_namespace.ip("-j", "route", "show", prefix, "proto", "112").stdout)
        return found and found[0].get("metrics", [{}])[0].get("mtu")

    wait_for(lambda: of_kernel() == 1400, "the MTU in the kernel")
    for mtu in (1300, 1200):
        net.router.route("replace", prefix, "via", net.c.ip4, "mtu", mtu)
        packet, mark = sized4(net, destination, 1400, flags="DF")
        net.a.send(packet)
        assert struct.unpack("!H", bytes(icmp_answer(net.a, mark))[40:42])[0] == mtu
        wait_for(lambda mtu=mtu: of_kernel() == mtu, "the MTU in the kernel")
    net.router.route("del", prefix)


@requirement("a route of the kernel whose MTU is changed, or taken away, is followed")
def test_kernel_changes_it(routes):
    net = routes
    router = net.topology.router_namespace

    def told(size=1500):
        packet, mark = sized4(net, "198.51.102.9", size, flags="DF")
        net.a.send(packet)
        frame = bytes(wait_for(lambda: net.a.wire.waiting(lambda frame: mark in frame) or net.c.wire.waiting(lambda frame: mark in frame), "an error, or the packet")[0])
        return struct.unpack("!H", frame[40:42])[0] if frame[23] == 1 else None

    router.ip("route", "add", "198.51.102.0/24", "via", net.c.ip4, "mtu", "1400")
    arrives(net.a, net.c, "198.51.102.9")
    assert told() == 1400
    router.ip("route", "replace", "198.51.102.0/24", "via", net.c.ip4, "mtu", "1300")
    wait_for(lambda: told() == 1300, "the new MTU")
    router.ip("route", "replace", "198.51.102.0/24", "via", net.c.ip4)
    wait_for(lambda: told() is None, "the link's MTU")
    router.ip("route", "del", "198.51.102.0/24")


@requirement("an MTU that no link of IPv6 may have is refused with its place")
def test_refused(net):
    config = {**net.router.config, "routes": [*net.router.config["routes"], {"prefix": "2001:db8:ddd::/48", "via": net.c.ip6, "mtu": 1279}]}
    done = net.router.apply(config, check=False)
    net.router.write()
    assert done.returncode == 1 and f"/routes/{len(config['routes']) - 1}/mtu" in done.stdout + done.stderr
    assert net.router.cli("route", "add", "2001:db8:ddd::/48", "via", net.c.ip6, "mtu", "1279", check=False).returncode == 1
