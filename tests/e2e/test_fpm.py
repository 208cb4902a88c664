# SPDX-License-Identifier: BSD-3-Clause
"""Routes of FRR's zebra by FPM (module dplane_fpm_nl), beside the same routes by way of the kernel."""

import socket
import struct

import pytest
from lib.frr import Frr
from lib.packets import arrives, icmp_answer, token, udp4
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux has no FPM"),
              pytest.mark.xdp("zebra needs the ports' own devices and addresses, the control plane is the same"),
              pytest.mark.says_who_decides("whose routes they are is the same to every port stage")]
PORT = 2620
FPM = {"listen": f"127.0.0.1:{PORT}", "stale_hold_s": 3}
NET = {"config": {"fpm": FPM}}


@pytest.fixture
def frr():
    """frr(net, …): zebra with these options, connected."""
    running = []

    def start(net, **options):
        running.append(Frr(net.topology.router_namespace, **options).start())
        connected(net)
        return running[-1]

    yield start
    for one in running:
        one.close()


def shown(net):
    return net.router.json("show", "fpm")


def connected(net):
    wait_for(lambda: shown(net)["peer"], "zebra has connected")


def disconnected(net):
    wait_for(lambda: not shown(net)["peer"], "the connection is gone")


def routes(net, source="fpm"):
    return {route["prefix"]: route for route in net.router.json("show", "routes", "--source", source)["routes"]}


def members(net, address):
    group = net.router.json("show", "route", address, check=False)["group"]
    return {member["via"]: member["weight"] for member in group["members"]} if group else {}


@requirement("a route of zebra's is forwarded by, replaced and withdrawn; `show routes` tells its source and protocol")
@pytest.mark.parametrize("groups", [True, False], ids=["next-hop groups", "next hops in the route"])
def test_routes_come_and_go(net, frr, groups):
    zebra = frr(net, groups=groups)
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4}", f"ipv6 route 2001:db8:bbbb::/48 {net.b.ip6}")
    arrives(net.a, net.b, "203.0.113.5")
    arrives(net.a, net.b, "2001:db8:bbbb::5")
    route = routes(net)["203.0.113.0/24"]
    assert (route["source"], route["protocol"], route["preference"], route["best"]) == ("fpm", "frr-static", 20, True)
    zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4}", f"ip route 203.0.113.0/24 {net.c.ip4}")
    arrives(net.a, net.c, "203.0.113.5")
    zebra.configure(f"no ip route 203.0.113.0/24 {net.c.ip4}", f"no ipv6 route 2001:db8:bbbb::/48 {net.b.ip6}")
    wait_for(lambda: not routes(net), "both routes are gone")


@requirement("connected nets of zebra's are the router's own already, and are not taken over a second time")
def test_connected_nets_are_not_repeated(net, frr):
    frr(net)
    wait_for(lambda: shown(net)["counters"]["ignored"] >= 2 * len(net.hosts), "zebra repeats its connected nets")
    assert not routes(net)


@requirement("the net of a device that is none of the router's: its packets are the kernel's, not a shorter prefix's")
def test_net_of_another_device(net, frr):
    frr(net)
    router = net.topology.router_namespace
    router.batch(["link add t0 type veth peer name t1", "link set t0 up", "link set t1 up", "address add 10.78.0.1/24 dev t0"])
    try:
        wait_for(lambda: routes(net).get("10.78.0.0/24", {}).get("type") == "kernel", "zebra's connected net is the kernel's")
    finally:
        router.ip("link", "del", "t0")
    wait_for(lambda: not routes(net), "it goes with its device")


@requirement("several next hops of a prefix are a next-hop group, which loses and regains members")
@pytest.mark.parametrize("groups", [True, False], ids=["next-hop groups", "next hops in the route"])
def test_next_hop_groups(net, frr, groups):
    zebra = frr(net, groups=groups)
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4}", f"ip route 203.0.113.0/24 {net.c.ip4}")
    wait_for(lambda: members(net, "203.0.113.5") == {net.b.ip4: 1, net.c.ip4: 1}, "two members")
    zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4}")
    wait_for(lambda: members(net, "203.0.113.5") == {net.c.ip4: 1}, "one is left")
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4}")
    wait_for(lambda: members(net, "203.0.113.5") == {net.b.ip4: 1, net.c.ip4: 1}, "it is back")
    zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4}", f"no ip route 203.0.113.0/24 {net.c.ip4}")
    wait_for(lambda: not routes(net), "gone")


@requirement("blackhole routes of zebra's discard")
@pytest.mark.parametrize("groups", [True, False], ids=["next-hop groups", "next hops in the route"])
def test_blackhole(net, frr, groups):
    zebra = frr(net, groups=groups)
    zebra.configure("ip route 203.0.113.0/24 blackhole")
    wait_for(lambda: "203.0.113.0/24" in routes(net), "the route is there")
    verdict = net.router.json("show", "route", "203.0.113.5")["verdict"]
    assert "blackhole" in verdict
    zebra.configure("no ip route 203.0.113.0/24 blackhole")
    wait_for(lambda: not routes(net), "gone")


@requirement("a route that moves to another next hop loses no packet")
def test_a_moved_route_loses_nothing(net, frr, stream):
    zebra = frr(net)
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4} 10")
    arrives(net.a, net.b, "203.0.113.5")
    running = stream(net.a, net.b, destination="203.0.113.5", rate=5000)
    for _ in range(5):  # to the same host by another route: its IPv4 address, and the one it has besides
        zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4} p2 5")
        zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4} p2 5")
        running.flows_again(500)
    assert_nothing_lost(running.finish())
    zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4} 10")


@requirement("kill -9 of zebra: its routes stay and forward; the next one's full table is taken over without loss, and what it does not repeat goes after stale_hold_s")
def test_zebra_is_killed_and_comes_back(net, frr, stream):
    first = frr(net)
    first.configure(f"ip route 203.0.113.0/24 {net.b.ip4}", f"ip route 198.51.100.0/24 {net.b.ip4}")
    arrives(net.a, net.b, "203.0.113.5")
    running = stream(net.a, net.b, destination="203.0.113.5", rate=5000)
    first.kill("zebra")
    disconnected(net)
    assert set(routes(net)) == {"203.0.113.0/24", "198.51.100.0/24"}
    running.flows_again(500)
    frr(net, config={"staticd": f"ip route 203.0.113.0/24 {net.b.ip4}\n"})
    wait_for(lambda: set(routes(net)) == {"203.0.113.0/24"}, "what was not repeated is gone")
    assert shown(net)["stale"] == 0
    assert_nothing_lost(running.finish(after=500))


@requirement("kill -9 of pktpitd: what is pinned goes on; with kernel_routes beside FPM the next one has zebra's routes from its start, and loses nothing")
def test_pktpitd_is_killed(build_net, frr, stream):
    net = build_net(config={"fpm": FPM, "kernel_routes": {"enabled": True}})
    zebra = frr(net)
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4}")
    arrives(net.a, net.b, "203.0.113.5")
    wait_for(lambda: "203.0.113.0/24" in routes(net), "by FPM")
    running = stream(net.a, net.b, destination="203.0.113.5", rate=5000)
    net.router.kill()
    running.flows_again(500)
    net.router.start()
    running.flows_again(500)
    wait_for(lambda: "203.0.113.0/24" in routes(net), "zebra has connected and sent it again")
    assert_nothing_lost(running.finish(after=500))


@requirement("the same route by FPM and from the kernel: both are shown, FPM's is used, and the prefix is in the FIB once")
def test_fpm_before_the_kernel(build_net, frr):
    net = build_net(config={"fpm": FPM, "kernel_routes": {"enabled": True}})
    zebra = frr(net)
    zebra.configure(f"ip route 203.0.113.0/24 {net.b.ip4}")

    def candidates():
        found = net.router.json("show", "route", "203.0.113.5", check=False)["candidates"]
        return [(one["source"], one["best"]) for one in found]

    wait_for(lambda: candidates() == [("fpm", True), ("kernel", False)], "both are there, FPM's is best")
    zebra.configure(f"no ip route 203.0.113.0/24 {net.b.ip4}")
    wait_for(lambda: not candidates(), "both are gone")


class Sender:
    """Writes FPM frames by hand."""

    def __init__(self, net, port=PORT):
        with net.topology.router_namespace.entered():
            self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)

    def frame(self, *messages, version=1, kind=1, length=None):
        body = b"".join(messages)
        self.socket.sendall(struct.pack("!BBH", version, kind, len(body) + 4 if length is None else length) + body)

    def is_closed(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def close(self):
        self.socket.close()


@pytest.fixture
def sender(net):
    """Connected to the module's router until the test ends."""
    sender = Sender(net)
    yield sender
    sender.close()
    disconnected(net)


def attribute(kind, value):
    raw = struct.pack("=HH", 4 + len(value), kind) + value
    return raw + bytes(-len(raw) % 4)


def message(kind, payload, length=None):
    raw = struct.pack("=IHHII", 16 + len(payload) if length is None else length, kind, 0x501, 0, 0) + payload
    return raw + bytes(-len(raw) % 4)


NEWROUTE, DELROUTE, NEWNEXTHOP = 24, 25, 104


def route4(kind, prefix, nexthop_id=None, gateway=None, ifindex=None, protocol=4, table=254, mtu=None, encap=None):
    address, length = prefix.split("/")
    # RT_TABLE_COMPAT, and the number in RTA_TABLE, where it does not fit.
    body = struct.pack("=BBBBBBBBI", socket.AF_INET, int(length), 0, 0, table if table < 256 else 252, protocol, 0, 1, 0)
    if table >= 256:
        body += attribute(15, struct.pack("=I", table))
    body += attribute(1, socket.inet_aton(address))
    if nexthop_id:
        body += attribute(30, struct.pack("=I", nexthop_id))
    if gateway:
        body += attribute(5, socket.inet_aton(gateway))
    if ifindex:
        body += attribute(4, struct.pack("=I", ifindex))
    if encap:
        body += attribute(21, struct.pack("=H", encap))
    if mtu:
        body += attribute(8, attribute(2, struct.pack("=I", mtu)))  # RTA_METRICS, RTAX_MTU
    return message(kind, body)


def next_hop4(number, gateway=None, ifindex=None, group=(), blackhole=False):
    body = struct.pack("=BBBBI", socket.AF_INET, 0, 4, 0, 0) + attribute(1, struct.pack("=I", number))
    if blackhole:
        body += attribute(4, b"")
    if group:
        body += attribute(2, b"".join(struct.pack("=IBBH", member, 0, 0, 0) for member in group))
    if gateway:
        body += attribute(6, socket.inet_aton(gateway)) + attribute(5, struct.pack("=I", ifindex))
    return message(NEWNEXTHOP, body)


def ifindex(net, host):
    return next(port["ifindex"] for port in net.router.json("show", "ports")["ports"] if port["name"] == host.port)


@requirement("a route by FPM that Pktpit cannot do is the kernel's: its packets are handed to Linux, and not to a shorter prefix")
def test_only_the_kernel_can_do(net, sender):
    router = net.topology.router_namespace
    router.sysctl({"net/ipv4/ip_forward": 1})
    router.ip("route", "add", "203.0.113.0/24", "via", net.c.ip4)
    sender.frame(route4(NEWROUTE, "203.0.0.0/16", gateway=net.b.ip4, ifindex=ifindex(net, net.b)),
                 route4(NEWROUTE, "203.0.113.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b), encap=5),
                 route4(NEWROUTE, "203.0.114.0/24", gateway="10.9.9.9", ifindex=4000))
    wait_for(lambda: set(routes(net)) == {"203.0.0.0/16", "203.0.113.0/24", "203.0.114.0/24"}, "all three")
    shown = {one["prefix"]: one["type"] for one in net.router.json("show", "routes", "--source", "fpm")["routes"]}
    assert shown == {"203.0.0.0/16": "unicast", "203.0.113.0/24": "kernel", "203.0.114.0/24": "kernel"}
    before = net.router.counters().get("host_kernel_route", 0)
    arrives(net.a, net.c, "203.0.113.9")
    assert net.router.counters()["host_kernel_route"] > before
    assert net.router.log().count("FPM: route 203.0.113.0/24 encapsulates, which Pktpit does not") == 1
    sender.frame(*(route4(DELROUTE, prefix) for prefix in ("203.0.0.0/16", "203.0.113.0/24", "203.0.114.0/24")))
    wait_for(lambda: not routes(net), "removed")
    router.ip("route", "del", "203.0.113.0/24")


@requirement("RFC 1191 4: the MTU of a route by FPM is obeyed, and may change")
def test_mtu_of_a_route(net, sender):
    for mtu in (1400, 1300):
        sender.frame(route4(NEWROUTE, "203.0.113.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b), mtu=mtu))
        wait_for(lambda mtu=mtu: [one for one in net.router.json("show", "routes", "--within", "203.0.113.0/24")["routes"] if one["mtu"] == mtu], f"the MTU {mtu}")
        arrives(net.a, net.b, "203.0.113.9")
        mark = token()
        net.a.send(udp4(net.a, net.b, mark + bytes(1450), dst="203.0.113.9", flags="DF"))
        error = bytes(icmp_answer(net.a, mark))
        assert error[34:36] == b"\x03\x04" and struct.unpack("!H", error[40:42])[0] == mtu
    sender.frame(route4(DELROUTE, "203.0.113.0/24"))
    wait_for(lambda: not routes(net), "removed")


@requirement("a next hop that becomes a blackhole, and one again, takes its routes along, whatever their MTU")
def test_routes_of_several_mtus_follow_their_next_hop(net, sender):
    index = ifindex(net, net.b)
    prefixes = {"203.0.113.0/24": 1300, "203.0.114.0/24": 1400, "203.0.115.0/24": None}
    sender.frame(next_hop4(7, gateway=net.b.ip4, ifindex=index),
                 *(route4(NEWROUTE, prefix, nexthop_id=7, mtu=mtu) for prefix, mtu in prefixes.items()))
    types = lambda: {prefix: (route["type"], route["mtu"]) for prefix, route in routes(net).items()}  # noqa: E731
    for kind in ("unicast", "blackhole", "unicast"):
        sender.frame(next_hop4(7, gateway=net.b.ip4, ifindex=index) if kind == "unicast" else next_hop4(7, blackhole=True))
        wait_for(lambda kind=kind: types() == {prefix: (kind, mtu) for prefix, mtu in prefixes.items()}, f"all are of type {kind}")
    sender.frame(*(route4(DELROUTE, prefix) for prefix in prefixes))
    wait_for(lambda: not routes(net), "removed")


@requirement("wrong frames end the connection with what was wrong; routes stay, and the next connection is as good as any")
@pytest.mark.parametrize("wrong, told", [
    (lambda s: s.frame(b"x" * 16, version=2), "FPM version 2"),
    (lambda s: s.frame(b"x" * 16, kind=2), "message type 2"),
    (lambda s: s.frame(b"", length=3), "length 3"),
    (lambda s: s.frame(b""), "length 4"),
    (lambda s: s.frame(message(NEWROUTE, bytes(12), length=4000)), "a netlink message of 4000 bytes"),
    (lambda s: s.frame(message(NEWROUTE, bytes(12), length=8)), "a netlink message of 8 bytes"),
    (lambda s: s.frame(message(NEWROUTE, bytes(12)), b"rest"), "4 bytes are left"),
], ids=["version", "protobuf", "short length", "empty", "message too long", "message too short", "rest"])
def test_wrong_frames(net, wrong, told):
    sender = Sender(net)
    sender.frame(route4(NEWROUTE, "203.0.113.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b)))
    wait_for(lambda: "203.0.113.0/24" in routes(net), "what was right before is taken")
    wrong(sender)
    assert sender.is_closed()
    wait_for(lambda: told in (shown(net)["last_error"] or ""), f"{told} is told")
    assert "203.0.113.0/24" in routes(net)
    again = Sender(net)
    again.frame(route4(DELROUTE, "203.0.113.0/24"))
    wait_for(lambda: not routes(net), "removed by the next connection")
    again.close()
    disconnected(net)


@requirement("a frame cut off by the end of the connection is told, and nothing of it is taken")
def test_a_truncated_frame(net):
    sender = Sender(net)
    whole = route4(NEWROUTE, "203.0.113.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b))
    sender.frame(whole[:20], length=len(whole) + 4)
    sender.close()
    wait_for(lambda: "the connection ended after 24 bytes of it" in (shown(net)["last_error"] or ""), "it is told")
    assert not routes(net)


@requirement("frames of 65,535 bytes, and frames that come byte by byte, are taken whole")
def test_large_and_slow_frames(net, sender):
    gateway, index = net.b.ip4, ifindex(net, net.b)
    one = route4(NEWROUTE, "203.0.113.0/24", gateway=gateway, ifindex=index)
    count = (65535 - 4) // len(one)
    sender.frame(*(route4(NEWROUTE, f"100.{64 + i // 256}.{i % 256}.0/24", gateway=gateway, ifindex=index) for i in range(count)))
    total = lambda: net.router.json("show", "routes", "--source", "fpm", "--limit", "1")["total"]  # noqa: E731
    wait_for(lambda: total() == count, f"{count} routes of one frame")
    raw = struct.pack("!BBH", 1, 1, len(one) + 4) + one
    for byte in raw:
        sender.socket.sendall(bytes([byte]))
    wait_for(lambda: "203.0.113.0/24" in routes(net), "the route that came byte by byte")
    sender.frame(*(route4(DELROUTE, f"100.{64 + i // 256}.{i % 256}.0/24") for i in range(count)), route4(DELROUTE, "203.0.113.0/24"))
    wait_for(lambda: total() == 0, "all are gone")


@requirement("out of order: a route before its next hops waits for them; a removal of what is not there, and a next hop that changes under its routes, do as they say")
def test_out_of_order(net, sender):
    b, c = ifindex(net, net.b), ifindex(net, net.c)
    sender.frame(route4(DELROUTE, "203.0.113.0/24"))
    sender.frame(route4(NEWROUTE, "203.0.113.0/24", nexthop_id=9))
    wait_for(lambda: "203.0.113.0/24" in routes(net), "the route is there")
    assert not routes(net)["203.0.113.0/24"]["best"]
    sender.frame(next_hop4(9, group=(7, 8)))
    sender.frame(next_hop4(7, gateway=net.b.ip4, ifindex=b))
    wait_for(lambda: members(net, "203.0.113.5") == {net.b.ip4: 1}, "the first member")
    sender.frame(next_hop4(8, gateway=net.c.ip4, ifindex=c))
    wait_for(lambda: members(net, "203.0.113.5") == {net.b.ip4: 1, net.c.ip4: 1}, "both members")
    sender.frame(next_hop4(9, gateway=net.c.ip4, ifindex=c))
    wait_for(lambda: members(net, "203.0.113.5") == {net.c.ip4: 1}, "the group is one next hop now")
    arrives(net.a, net.c, "203.0.113.5")
    sender.frame(route4(DELROUTE, "203.0.113.0/24"))
    wait_for(lambda: not routes(net), "gone")


@requirement("one connection at a time: a second one is refused, and the first goes on")
def test_one_connection_at_a_time(net):
    first = Sender(net)
    connected(net)
    peer = shown(net)["peer"]
    assert Sender(net).is_closed()
    assert shown(net)["peer"] == peer
    assert shown(net)["counters"]["refused_connections"] >= 1
    first.close()
    disconnected(net)


@requirement("who is not named in /fpm/from is refused; a reload changes that and the address, and one that cannot listen changes nothing")
def test_reload(build_net):
    net = build_net(config={"fpm": FPM, "metrics": {"listen": "127.0.0.1:9100"}})
    sender = Sender(net)
    sender.frame(route4(NEWROUTE, "203.0.113.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b)))
    wait_for(lambda: "203.0.113.0/24" in routes(net), "taken")

    def reload(fpm, **keywords):
        net.router.config = {key: value for key, value in net.router.config.items() if key != "fpm"} | ({"fpm": fpm} if fpm else {})
        net.router.write(net.router.config)
        return net.router.reload(**keywords)

    reload({**FPM, "preference": 7})
    wait_for(lambda: routes(net)["203.0.113.0/24"]["preference"] == 7, "the routes have the new preference")
    refused = reload({**FPM, "listen": "127.0.0.1:9100", "from": ["192.0.2.0/24"]}, check=False)
    assert refused.returncode == 1 and "/fpm/listen" in refused.stderr + refused.stdout
    assert shown(net)["peer"]
    reload({**FPM, "from": ["192.0.2.0/24"]})
    assert sender.is_closed()
    assert Sender(net).is_closed()
    assert "203.0.113.0/24" in routes(net)
    reload({**FPM, "listen": "127.0.0.1:2621"})
    Sender(net, 2621).frame(route4(NEWROUTE, "198.51.100.0/24", gateway=net.b.ip4, ifindex=ifindex(net, net.b)))
    wait_for(lambda: "198.51.100.0/24" in routes(net), "by the new port")
    reload(None)
    wait_for(lambda: not routes(net), "without FPM there are none of its routes")
