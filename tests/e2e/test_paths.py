# SPDX-License-Identifier: BSD-3-Clause
"""Next-hop groups: which of several paths a packet takes. RFC 2992, RFC 6438, RFC 1812 5.2.4.5."""

import select
from collections import Counter

import pytest
from lib.packets import IP, IPv6, Raw, UDP, token, udp4, udp6
from lib.waiting import DEADLINE

requirement = pytest.mark.requirement


def paths(topology):
    b, c = topology.b, topology.c
    return {"routes": [
        {"prefix": "198.51.100.0/24", "next_hops": [{"via": b.ip4}, {"via": c.ip4}]},
        {"prefix": "2001:db8:e1::/48", "next_hops": [{"via": b.ip6}, {"via": c.ip6}]},
        {"prefix": "198.51.101.0/24", "next_hops": [{"via": b.ip4, "weight": 3}, {"via": c.ip4, "weight": 1}]},
        {"prefix": "2001:db8:e2::/48", "next_hops": [{"via": b.ip6, "weight": 3}, {"via": c.ip6, "weight": 1}]},
    ]}


NET = {"configure": paths}
EQUAL4, EQUAL6 = "198.51.100.9", "2001:db8:e1::9"


def spread(net, frames):
    """How many of the packets each host got; the packets are sent as they are, all carrying one token."""
    mark = token()
    sent = [packet / Raw(mark) for packet in frames]
    net.a.send(*sent)
    total = Counter()
    while sum(total.values()) < len(sent):
        before = sum(total.values())
        for host in (net.b, net.c):
            total[host.label] += len(host.wire.waiting(lambda frame: mark in frame))
        if sum(total.values()) == before:
            assert select.select([net.b.wire.socket, net.c.wire.socket], [], [], DEADLINE)[0], f"only {total} of {len(sent)} came"
    return total


def flows4(count, destination=EQUAL4):
    return [IP(src="198.18.1.7", dst=destination) / UDP(sport=1024 + i, dport=5000) for i in range(count)]


def flows6(count, destination=EQUAL6, label=lambda i: 0):
    return [IPv6(src="2001:db8:1:100::7", dst=destination, fl=label(i)) / UDP(sport=1024 + i, dport=5000) for i in range(count)]


@requirement("RFC 2992: all packets of a flow take one path")
@pytest.mark.parametrize("make", [flows4, flows6])
def test_flow_takes_one_path(net, make):
    for packet in make(8):
        assert len([n for n in spread(net, [packet.copy() for _ in range(20)]).values() if n]) == 1


@requirement("RFC 2992: flows that differ in the source port alone spread over the paths")
@pytest.mark.kernel_differs("Linux does not hash IPv6 ports as set up here")
@pytest.mark.parametrize("make", [flows4, flows6])
def test_flows_spread_by_source_port(net, make):
    total = spread(net, make(400))
    assert all(140 <= total[label] <= 260 for label in "bc"), total  # six sigma


@requirement("RFC 2992: every part of the 5-tuple counts")
@pytest.mark.parametrize("vary", [
    pytest.param(lambda i: IP(src=f"198.18.1.{i}", dst=EQUAL4) / UDP(sport=1, dport=2), id="source"),
    pytest.param(lambda i: IP(src="198.18.1.7", dst=f"198.51.100.{i}") / UDP(sport=1, dport=2), id="destination"),
    pytest.param(lambda i: IP(src="198.18.1.7", dst=EQUAL4) / UDP(sport=i + 1, dport=2), id="source_port"),
    pytest.param(lambda i: IP(src="198.18.1.7", dst=EQUAL4) / UDP(sport=1, dport=i + 1), id="destination_port"),
    pytest.param(lambda i: IP(src="198.18.1.7", dst=EQUAL4, proto=100 + i % 150), id="protocol"),
])
def test_every_part_of_the_five_tuple_counts(net, vary):
    total = spread(net, [vary(i) for i in range(1, 250)])
    assert all(60 <= total[label] for label in "bc"), total


@requirement("next hops share the flows in proportion to their weights")
@pytest.mark.kernel_differs("Linux does not hash IPv6 ports as set up here")
@pytest.mark.parametrize("make, destination", [(flows4, "198.51.101.9"), (flows6, "2001:db8:e2::9")])
def test_weights(net, make, destination):
    total = spread(net, make(800, destination))
    assert 520 <= total["b"] <= 680, total  # 600 expected; six sigma are 74


@requirement("RFC 6438 3: the flow label takes part in the choice of the path")
def test_flow_label_spreads(net):
    packets = [IPv6(src="2001:db8:1:100::7", dst=EQUAL6, fl=i * 7919 + 1) / UDP(sport=1, dport=2) for i in range(400)]
    total = spread(net, packets)
    assert all(140 <= total[label] <= 260 for label in "bc"), total


@requirement("RFC 6438 3: one flow label, one path, be the packets fragments or not")
def test_fragments_with_a_flow_label_stay_with_their_flow(net):
    from scapy.layers.inet6 import IPv6ExtHdrFragment

    for label in range(1, 9):
        base = {"src": "2001:db8:1:100::7", "dst": EQUAL6, "fl": label}
        fragments = [IPv6(**base, nh=44) / IPv6ExtHdrFragment(nh=17, offset=offset, m=1, id=label) / Raw(bytes(16))
                     for offset in (0, 10, 20, 30)]
        assert len([n for n in spread(net, fragments).values() if n]) == 1


@requirement("RFC 1812 5.2.4.5: fragments of a datagram take one path, those with ports and those without")
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_fragments_of_one_datagram_take_one_path(net):
    for identification in range(24):
        source = f"198.18.1.{identification + 1}"
        first = IP(src=source, dst=EQUAL4, id=identification, flags="MF", proto=17) / UDP(sport=identification, dport=9, len=100) / Raw(bytes(8))
        rest = [IP(src=source, dst=EQUAL4, id=identification, flags="MF", frag=frag, proto=17) / Raw(bytes(16)) for frag in (2, 4, 6)]
        total = spread(net, [first, *rest])
        assert len([n for n in total.values() if n]) == 1, f"datagram {identification} was split: {total}"


@requirement("RFC 8200 4.5: the same for IPv6 fragments")
@pytest.mark.kernel_differs("Linux hashes the protocol of the first header as set up here; nothing to compare")
def test_ipv6_fragments_of_one_datagram_take_one_path(net):
    from scapy.layers.inet6 import IPv6ExtHdrFragment

    for identification in range(24):
        base = {"src": f"2001:db8:1:100::{identification + 1:x}", "dst": EQUAL6, "nh": 44}
        first = IPv6(**base) / IPv6ExtHdrFragment(nh=17, offset=0, m=1, id=identification) / UDP(sport=identification, dport=9, len=100) / Raw(bytes(8))
        rest = [IPv6(**base) / IPv6ExtHdrFragment(nh=17, offset=offset, m=1, id=identification) / Raw(bytes(16)) for offset in (2, 4)]
        total = spread(net, [first, *rest])
        assert len([n for n in total.values() if n]) == 1, f"datagram {identification} was split: {total}"


@requirement("a group forwards as a single next hop does: TTL, checksum and MAC addresses")
def test_group_forwards_as_a_single_next_hop(net, mark):
    net.a.send(udp4(net.a, net.b, mark, dst=EQUAL4), udp6(net.a, net.b, mark, dst=EQUAL6))
    got = []
    while len(got) < 2:
        for host in (net.b, net.c):
            got += [(host, frame) for frame in host.wire.waiting(lambda frame: mark in frame)]
    for host, frame in got:
        assert frame[:12].hex() == (host.mac + host.router_mac).replace(":", "")
        assert frame[22 if frame[12:14] == b"\x08\x00" else 21] == 63
