# SPDX-License-Identifier: BSD-3-Clause
"""Next hops whose MAC address is not known yet, no longer right, or given by hand."""

import contextlib

import pytest
from lib.packets import icmp_answer, token, udp4, udp6, wait_for_crossing
from lib.waiting import wait_for
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
def patient(net):
    """Time for the test to answer, also on a busy machine, before a neighbour is given up."""
    def wait(milliseconds):
        net.topology.router_namespace.sysctl({f"net/ipv{family}/neigh/p2/retrans_time_ms": milliseconds for family in (4, 6)})

    wait(2000)
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
        wait_for(lambda: waiting() == [64], 3, "`show neighbours` says that 64 packets wait")
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
    mark = token()
    net.a.send(make(net.a, net.b, mark, dst=destination))
    assert net.b.receive(mark).dst == STATIC_MAC
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
        mark = token()
        net.a.send(udp4(net.a, net.b, mark, dst=address))
        return net.b.receive(mark).dst == second

    wait_for(uses_second, 5, "frames go to the new MAC address")


@requirement("RFC 1812 3.3.2: a neighbour that was given up is asked for again when packets come again")
def test_failed_neighbour_that_comes_back(net):
    address, mac, mark = "10.2.0.104", "02:00:00:00:bb:06", token()
    net.a.send(udp4(net.a, net.b, mark, dst=address))
    icmp_answer(net.a, mark, 6)
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
        mark = token()
        net.a.send(udp4(net.a, net.b, mark))
        assert net.b.receive(mark).dst == net.b.mac


@requirement("RFC 4861 7.3: a neighbour in use is verified in time, so that a long stream does not stop")
def test_neighbour_stays_valid_under_a_stream(net, stream):
    from lib.stream import assert_nothing_lost
    net.topology.router_namespace.sysctl({
        "net/ipv4/neigh/p2/base_reachable_time_ms": 300, "net/ipv4/neigh/p2/delay_first_probe_time": 1,
        "net/ipv4/neigh/p2/gc_stale_time": 1})
    running = stream(net.a, net.b, rate=5000)
    running.flows_again(20000)
    assert_nothing_lost(running.finish())
