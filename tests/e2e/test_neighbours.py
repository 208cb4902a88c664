# SPDX-License-Identifier: BSD-3-Clause
"""Next hops whose MAC address is not known yet, no longer right, or given by hand."""

import contextlib
import itertools
import json
import struct
import threading
import time

import pytest
from lib.packets import checksum, delivered, icmp_answer, token, udp4, udp6, wait_for_crossing
from lib.waiting import DEADLINE, wait_for
from lib.wire import NothingReceived
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6NDOptDstLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether

requirement = pytest.mark.requirement
STATIC_MAC = "02:00:00:00:aa:aa"
NET = {"config": {
    "neighbours": [
        {"address": "10.2.0.77", "mac": STATIC_MAC, "interface": "p2"},
        {"address": "2001:db8:2::77", "mac": STATIC_MAC, "interface": "p2"},
    ],
    "routes": [{"prefix": "198.51.100.0/24", "next_hops": [{"via": "10.2.0.77"}]},
               {"prefix": "2001:db8:e1::/48", "next_hops": [{"via": "2001:db8:2::77"}]}],
}}


def arp_reply(net, address, mac):
    return (Ether(src=mac, dst=net.b.router_mac)
            / ARP(op=2, hwsrc=mac, psrc=address, hwdst=net.b.router_mac, pdst=net.b.router_ip4))


def advertisement(net, address, mac):
    return (Ether(src=mac, dst=net.b.router_mac) / IPv6(src=address, dst=net.b.router_ip6, hlim=255)
            / ICMPv6ND_NA(tgt=address, R=0, S=1, O=1) / ICMPv6NDOptDstLLAddr(lladdr=mac))


def is_arp_for(address):
    packed = bytes(map(int, address.split(".")))
    return lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\1" and frame[38:42] == packed


def is_solicitation_for(last_byte):
    return lambda frame: frame[12:14] == b"\x86\xdd" and frame[54:55] == b"\x87" and frame[77] == last_byte


@contextlib.contextmanager
def patient(net, milliseconds=2000):
    """Time for the test to answer, also on a busy machine, before a neighbour is given up."""
    def wait(milliseconds):
        net.topology.router_namespace.sysctl({f"net/ipv{family}/neigh/p2/retrans_time_ms": milliseconds for family in (4, 6)})

    wait(milliseconds)
    try:
        yield
    finally:
        wait(100)


@requirement("RFC 1812 3.3.2: a packet MUST NOT be discarded just because its next hop is not in the ARP cache")
def test_first_packets_to_an_unknown_ipv4_neighbour_are_not_lost(net):
    """The host answers ARP only after all have been sent: what waits comes out, in order."""
    mac, mark = "02:00:00:00:bb:01", token()
    with patient(net):
        for number in range(3):  # as many as Linux keeps by default as well
            net.a.send(udp4(net.a, net.b, mark + bytes([number]), dst="10.2.0.101"))
        net.b.wire.receive(is_arp_for("10.2.0.101"))
        net.b.wire.send(arp_reply(net, "10.2.0.101", mac))
    frames = net.b.wire.receive_many(3, lambda frame: mark in frame)
    assert [frame[frame.index(mark) + len(mark)] for frame in frames] == [0, 1, 2]
    assert {frame[:6].hex(":") for frame in frames} == {mac}
    assert {frame[22] for frame in frames} == {63}


@requirement("RFC 4861 7.2.2: packets wait while address resolution is in progress")
def test_first_packets_to_an_unknown_ipv6_neighbour_are_not_lost(net):
    mac, mark = "02:00:00:00:bb:02", token()
    with patient(net):
        for number in range(3):
            net.a.send(udp6(net.a, net.b, mark + bytes([number]), dst="2001:db8:2::67"))
        net.b.wire.receive(is_solicitation_for(0x67))
        net.b.wire.send(advertisement(net, "2001:db8:2::67", mac))
    frames = net.b.wire.receive_many(3, lambda frame: mark in frame)
    assert [frame[frame.index(mark) + len(mark)] for frame in frames] == [0, 1, 2]
    assert {frame[:6].hex(":") for frame in frames} == {mac}


@requirement("the queue for an unknown neighbour is bounded (64 by default): what is too much is dropped and counted")
@pytest.mark.pktpit("the size of the queue is Pktpit's")
def test_queue_for_an_unknown_neighbour_is_bounded(net):
    mac, address, mark = "02:00:00:00:bb:03", "10.2.0.102", token()

    def waiting():
        return [entry["waiting"] for entry in net.router.json("show", "neighbours")["neighbours"] if entry["address"] == address]

    with patient(net):
        net.a.send(*[udp4(net.a, net.b, mark + bytes([number]), dst=address) for number in range(100)])
        net.b.wire.receive(is_arp_for(address))
        wait_for(lambda: waiting() == [64], "`show neighbours` says that 64 packets wait")
        net.b.wire.send(arp_reply(net, address, mac))
        net.b.wire.receive_many(64, lambda frame: mark in frame)
    follower = token()
    net.a.send(udp4(net.a, net.b, follower, dst=address))
    net.b.receive(follower)
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("a static neighbour is used without being asked for")
@pytest.mark.parametrize("make, destination", [(udp4, "198.51.100.9"), (udp4, "10.2.0.77"),
                                               (udp6, "2001:db8:e1::9"), (udp6, "2001:db8:2::77")])
def test_static_neighbour(net, make, destination):
    assert delivered(net.a, net.b, make, dst=destination).dst == STATIC_MAC
    assert not net.b.wire.waiting(is_arp_for("10.2.0.77")) + net.b.wire.waiting(is_solicitation_for(0x77))


@requirement("RFC 826: a neighbour that comes back with another MAC address is followed")
def test_changed_mac_address_is_followed(net):
    first, second, address = "02:00:00:00:bb:04", "02:00:00:00:bb:05", "10.2.0.103"
    mark = token()
    with patient(net):
        net.a.send(udp4(net.a, net.b, mark, dst=address))
        net.b.wire.receive(is_arp_for(address))
        net.b.wire.send(arp_reply(net, address, first))
        assert net.b.receive(mark).dst == first
    # Linux passes over replies that come within `locktime` after one that it has believed.
    net.topology.router_namespace.sysctl({"net/ipv4/neigh/p2/locktime": 0})

    def uses_second():
        net.b.wire.send(arp_reply(net, address, second))
        return delivered(net.a, net.b, dst=address).dst == second

    wait_for(uses_second, "frames go to the new MAC address")


@requirement("RFC 1812 3.3.2: a neighbour that was given up is asked for again when packets come again")
def test_failed_neighbour_that_comes_back(net):
    address, mac, mark = "10.2.0.104", "02:00:00:00:bb:06", token()
    net.a.send(udp4(net.a, net.b, mark, dst=address))
    icmp_answer(net.a, mark)
    net.b.wire.drain()
    mark = token()
    with patient(net):
        net.a.send(udp4(net.a, net.b, mark, dst=address))
        net.b.wire.receive(is_arp_for(address))
        net.b.wire.send(arp_reply(net, address, mac))
        assert net.b.receive(mark).dst == mac


@requirement("a neighbour that is deleted from the kernel's table is resolved anew, and nothing is lost meanwhile")
def test_deleted_neighbour_is_resolved_anew(net):
    wait_for_crossing(net.a, net.b)
    net.topology.router_namespace.ip("neigh", "flush", "dev", "p2")
    for _ in range(5):
        assert delivered(net.a, net.b).dst == net.b.mac


@requirement("RFC 4861 7.3: a neighbour in use is verified in time, so that a long stream does not stop")
def test_neighbour_stays_valid_under_a_stream(net, stream):
    from lib.stream import assert_nothing_lost
    table = net.topology.router_namespace
    wait_for_crossing(net.a, net.b)  # being found is another test's matter
    # What the kernel has told before this, the router has seen: a neighbour deleted meanwhile would be missing in mid-stream.
    table.ip("neigh", "replace", "10.2.0.106", "lladdr", STATIC_MAC, "dev", "p2", "nud", "permanent")
    wait_for(lambda: "10.2.0.106" in json.dumps(net.router.json("show", "neighbours")), "the router has seen the neighbours")
    table.sysctl({"net/ipv4/neigh/p2/delay_first_probe_time": 1})
    running = stream(net.a, net.b, rate=5000)
    table.ip("neigh", "replace", net.b.ip4, "lladdr", net.b.mac, "dev", "p2", "nud", "stale")
    for state in ("DELAY", "REACHABLE"):  # what nobody verifies stays STALE
        wait_for(lambda: state in table.ip("neigh", "show", net.b.ip4, "dev", "p2").stdout, f"the kernel's entry becomes {state}")
    assert_nothing_lost(running.finish(after=2000))


GROUPS = ("01:00:5e:00:00:05", "ff:ff:ff:ff:ff:ff")


def claim(net, address, mac):
    """An answer to the router's question for `address`, in a frame of b's own MAC address."""
    frame = (advertisement if ":" in address else arp_reply)(net, address, mac)
    frame.src = net.b.mac
    return frame


def asks_for(address):
    return is_solicitation_for(int(address.rsplit(":", 1)[1], 16)) if ":" in address else is_arp_for(address)


@requirement("RFC 1812 3.3.2: a router MUST not believe an ARP reply that claims a broadcast or multicast link-layer address; "
             "the same for neighbour advertisements")
@pytest.mark.kernel_differs("Linux believes them")
@pytest.mark.parametrize("make, address", [(udp4, "10.2.0.105"), (udp6, "2001:db8:2::69")], ids=["arp", "na"])
def test_answer_that_claims_a_group_mac_is_refused(net, make, address):
    with patient(net):
        for group in GROUPS:
            mark = token()
            net.a.send(make(net.a, net.b, mark, dst=address))
            net.b.wire.receive(asks_for(address))
            net.b.wire.send(claim(net, address, group))
            wait_for(lambda: f"{address} claims the group MAC address" in net.router.log(), "a warning in the log")
            net.b.wire.receive(asks_for(address))  # it is asked for anew
            net.b.wire.send(claim(net, address, "02:00:00:00:bb:05"))
            assert net.b.receive(mark).dst == "02:00:00:00:bb:05"
            net.topology.router_namespace.ip("neigh", "del", address, "dev", "p2")
            known = lambda: address in [entry["address"] for entry in net.router.json("show", "neighbours")["neighbours"]]  # noqa: E731
            wait_for(lambda: not known(), "the neighbour is forgotten")
    assert net.router.log().count(f"{address} claims the group MAC address") == 1


@requirement("RFC 1812 3.3.2: a known neighbour stays what it is when somebody claims a group MAC address for it")
@pytest.mark.kernel_differs("Linux believes them")
@pytest.mark.parametrize("make", [udp4, udp6], ids=["arp", "na"])
def test_known_neighbour_is_kept_when_a_group_mac_is_claimed(net, make):
    wait_for_crossing(net.a, net.b, make)
    address = net.b.ip4 if make is udp4 else net.b.ip6
    net.topology.router_namespace.sysctl({"net/ipv4/neigh/p2/locktime": 0})
    for _ in range(3):
        net.b.wire.send(claim(net, address, GROUPS[0]))
    wait_for(lambda: f"{address} claims the group MAC address" in net.router.log(), "a warning in the log")
    for _ in range(20):
        net.b.wire.send(claim(net, address, GROUPS[1]))
        assert delivered(net.a, net.b, make).dst == net.b.mac


def kernel_entries(net):
    """Of p2's net, without the hosts' own link-local addresses, which come and go."""
    return net.topology.router_namespace.ip("-4", "neigh", "show", "dev", "p2").stdout.splitlines()


@requirement("RFC 6583 7.1: a scan of a connected net fills no neighbour table; known neighbours go on, and new ones come to be known")
@pytest.mark.pktpit("the limit is Pktpit's")
def test_scan_of_a_connected_net_is_bounded(build_net):
    limit = 40
    net = build_net(config={**NET["config"], "neighbours_unresolved": limit})
    before = len(kernel_entries(net))
    most = 0
    with patient(net, 5000):
        for start in range(0, 250, 50):
            net.a.send(*[udp4(net.a, net.b, b"scan", dst=f"10.2.0.{i}") for i in range(start + 3, min(start + 53, 250)) if i != 77])
            mark, static = token(), token()
            net.a.send(udp4(net.a, net.b, mark), udp4(net.a, net.b, static, dst="10.2.0.77"))
            assert net.b.receive(mark).dst == net.b.mac
            assert net.b.receive(static).dst == STATIC_MAC
            most = max(most, len(kernel_entries(net)))
    assert most <= before + limit, f"{most} entries, {before} before"
    assert net.router.slow_path()["neighbour_limit"] > 0
    # Those that do not answer are forgotten, so that the rest gets its turn.
    wait_for(lambda: len(kernel_entries(net)) <= before + 2, "failed neighbours are forgotten")
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, dst="10.2.0.251"))
    net.b.wire.receive(is_arp_for("10.2.0.251"))


def hosts_of_b(family):
    return [f"10.2.0.{number}" for number in range(200, 210)] if family == 4 else [f"2001:db8:2::a:{number}" for number in range(10)]


@contextlib.contextmanager
def scan(net, family):
    """1,000 packets a second from a to addresses on b's link that nobody has, each to another one."""
    numbers = itertools.count()
    first = bytearray(net.a.frame(udp4(net.a, net.b, dst="10.66.0.0") if family == 4 else udp6(net.a, net.b, dst="2001:db8:2:0:1::")))

    def frame(number):
        if family == 6:
            first[52:54] = struct.pack("!H", number)
        else:
            first[32:34] = struct.pack("!H", 4096 + number)
            first[24:26] = b"\0\0"
            first[24:26] = struct.pack("!H", checksum(bytes(first[14:34])))
        return bytes(first)

    frames = [frame(number) for number in range(5000)]
    ended = threading.Event()

    def run():
        begun = time.monotonic()
        for burst in itertools.count():
            for _ in range(10):
                net.a.wire.send(frames[next(numbers) % len(frames)])
            if ended.wait(max(0, begun + 0.01 * burst - time.monotonic())):
                return

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@requirement("RFC 6583 6, 7.1: a scan of a connected net keeps nobody from new hosts of either family, whichever port it comes from")
@pytest.mark.pktpit("Linux's table overflows")
@pytest.mark.parametrize("family", [4, 6])
def test_scan_keeps_no_new_host_out(build_net, family):
    slots = 32
    net = build_net(config={"neighbours_unresolved": slots})
    net.router.config["interfaces"]["p2"]["addresses"].append("10.66.0.1/16")
    net.router.apply()
    net.b.namespace.batch([f"address add {address}/{24 if is_4 else 64} dev eth0{'' if is_4 else ' nodad'}"
                           for is_4, of in ((True, 4), (False, 6)) for address in hosts_of_b(of)])
    # Nobody's addresses hold their slots as long as usual, 3 s.
    net.topology.router_namespace.sysctl({f"net/ipv{of}/neigh/p2/retrans_time_ms": 1000 for of in (4, 6)})
    end = time.monotonic() + DEADLINE
    with scan(net, family):
        wait_for(lambda: net.router.slow_path()["neighbour_not_asked"] > 0, "more is asked for than has its turn")
        left = {token(): (sender, make, address) for make, of in ((udp4, 4), (udp6, 6))
                for sender, address in zip(itertools.cycle((net.c, net.a)), hosts_of_b(of))}
        while left:
            for mark, (sender, make, address) in left.items():
                sender.send(make(sender, net.b, mark, dst=address))
            with contextlib.suppress(NothingReceived):
                while left:
                    frame = net.b.wire.receive(lambda frame: any(mark in frame for mark in left), 1.0)
                    assert frame[:6] == bytes.fromhex(net.b.mac.replace(":", ""))
                    del left[next(mark for mark in left if mark in frame)]
            assert time.monotonic() < end, f"not reached: {[address for _, _, address in left.values()]}"
        entries = net.topology.router_namespace.ip("neigh", "show", "dev", "p2", "nud", "incomplete").stdout.splitlines()
        assert len(entries) <= 2 * slots, entries
    assert net.router.slow_path()["neighbour_withdrawn"] > 0


@requirement("RFC 1812 5.2.7.2: a router ignores ICMP redirects when it chooses a path; the switch is put back at a clean stop")
@pytest.mark.kernel_differs("Linux believes them unless it is told not to")
@pytest.mark.xdp("other dataplanes' ports are taps, with the same switches")
def test_icmp_redirects_are_not_believed(build_net):
    from scapy.layers.inet import ICMP, IP

    net = build_net(config=NET["config"], start=False)
    router = net.topology.router_namespace

    def switches():
        return [router.run("cat", f"/proc/sys/net/ipv4/conf/{device}/accept_redirects").stdout.strip() for device in ("all", "p1", "p2")]

    before = switches()
    assert "1" in before, "nothing to turn"
    net.start()
    assert switches() == ["0", "0", "0"]
    router.ip("route", "add", "192.0.2.0/24", "via", net.b.ip4)
    asked = IP(src=net.b.router_ip4, dst="192.0.2.50") / ICMP(type=8)
    for _ in range(3):
        net.b.send(IP(src=net.b.ip4, dst=net.b.router_ip4) / ICMP(type=5, code=1, gw="10.2.0.77") / asked)
    net.b.namespace.run("ping", "-c", "1", "-W", "30", net.b.router_ip4)  # behind them
    assert f"via {net.b.ip4}" in router.ip("route", "get", "192.0.2.50").stdout
    net.router.stop()
    assert switches() == before


@requirement("redirects stay unbelieved as long as one port is left, whichever goes first, and whichever daemon gives it up")
@pytest.mark.kernel_differs("Linux believes them unless it is told not to")
@pytest.mark.xdp("other dataplanes' ports are taps, with the same switches")
@pytest.mark.parametrize("first", ["p1", "p2", "p3"])
def test_the_switch_of_all_ports_goes_last(build_net, first):
    net = build_net(start=False)
    router = net.topology.router_namespace
    router.sysctl({"net/ipv4/conf/all/accept_redirects": 1})

    def believed():
        return router.run("cat", "/proc/sys/net/ipv4/conf/all/accept_redirects").stdout.strip()

    net.router.start()
    assert believed() == "0"
    left = ["p1", "p2", "p3"]
    for gone in [first, next(name for name in left if name != first)]:
        del net.router.config["interfaces"][gone]
        net.router.apply()
        assert believed() == "0"
        net.router.kill()
        net.router.start()
        assert believed() == "0"
    router.ip("link", "set", next(iter(net.router.config["interfaces"])), "name", "elsewhere")
    wait_for(lambda: believed() == "1", "the last port has gone")
