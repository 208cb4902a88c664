# SPDX-License-Identifier: BSD-3-Clause
"""ICMPv4 errors for transit packets: what they say, and when a router stays silent. RFC 792, 1812 4.3, 1191."""

import struct

import pytest
from lib.packets import ICMP, IP, UDP, Raw, assert_silence, checksum, counted, counted_silence, icmp_answer, quoted, raw_ipv4, token, udp4

requirement = pytest.mark.requirement
NET = {
    "mtus": {"c": 1400},
    "config": {"routes": [
        {"prefix": "198.51.100.0/24", "type": "unreachable"},
        {"prefix": "198.51.101.0/24", "type": "prohibit"},
        {"prefix": "198.51.102.0/24", "type": "blackhole"},
    ]},
}


def assert_well_formed(error, host, sent, icmp_type, code):
    """An ICMP error from the router's address on the sender's link, whole and right, about the packet sent."""
    assert (error.src, error.dst) == (host.router_mac, host.mac)
    assert (error[IP].src, error[IP].dst) == (host.router_ip4, IP(sent).src)
    packet = bytes(error)[14:14 + error[IP].len]
    assert checksum(packet[:20]) == 0 and checksum(packet[20:]) == 0
    assert (error[ICMP].type, error[ICMP].code) == (icmp_type, code)
    quote = quoted(error)
    header = (quote[0] & 15) * 4
    assert len(quote) >= header + 8
    # Quoted as received: TTL and checksum may be those before or after the router's work, all else is the same.
    assert quote[:8] + quote[9:10] + quote[12:] == (sent[:8] + sent[9:10] + sent[12:])[:len(quote) - 3]


def error_about(net, packet, mark, icmp_type, code):
    packet = bytes(packet)
    net.a.send(packet)
    error = icmp_answer(net.a, mark)
    assert_well_formed(error, net.a, packet, icmp_type, code)
    return error


@requirement("RFC 1812 5.3.1: TTL 1 or 0 in transit: discarded, time exceeded (type 11 code 0) goes back")
@pytest.mark.parametrize("ttl", [0, 1])
def test_ttl_expired(net, ttl, mark):
    error_about(net, udp4(net.a, net.b, mark, ttl=ttl), mark, 11, 0)
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 1812 5.2.7.1: net unreachable (code 0) where there is no route, host unreachable (code 1) for an `unreachable` one, "
             "communication administratively prohibited (code 13) for a `prohibit` one")
@pytest.mark.parametrize("destination, code", [
    pytest.param("203.0.113.9", 0, id="no_route"), pytest.param("198.51.100.9", 1, id="unreachable"),
    pytest.param("198.51.101.9", 13, id="prohibit")])
def test_destination_unreachable(net, destination, code, mark):
    # A source of its own: Linux gives each a few of these errors only.
    error_about(net, udp4(net.a, net.b, mark, src=f"198.18.1.{77 + code}", dst=destination), mark, 3, code)


@requirement("a `blackhole` route drops in silence")
def test_blackhole_is_silent(net, mark):
    with counted_silence(net, "drop_blackhole", mark):
        net.a.send(udp4(net.a, net.b, mark, dst="198.51.102.9"))


@requirement("RFC 1812 5.2.7.1, 3.3.2: next hop does not answer ARP: host unreachable (code 1) goes back")
def test_host_unreachable_after_arp_failure(net, mark):
    packet = udp4(net.a, net.b, mark, dst="10.2.0.99")
    net.a.send(packet)
    asked = net.b.wire.receive(lambda frame: frame[12:14] == b"\x08\x06" and frame[38:42] == bytes([10, 2, 0, 99]))
    assert asked[:6] == b"\xff" * 6 and asked[20:22] == b"\0\1" and asked[28:32] == bytes([10, 2, 0, 1])
    assert_well_formed(icmp_answer(net.a, mark), net.a, bytes(packet), 3, 1)


@requirement("RFC 1191 4: DF set and too large: fragmentation needed (code 4) with the next hop's MTU; not forwarded")
@pytest.mark.parametrize("size", [1401, 1500])
def test_fragmentation_needed(net, size, mark):
    packet = udp4(net.a, net.c, mark + bytes(size - 28 - len(mark)), flags="DF")
    error = error_about(net, packet, mark, 3, 4)
    assert bytes(error)[34 + 4:34 + 8] == b"\0\0" + struct.pack("!H", 1400)
    assert not net.c.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 1812 4.3.2.3: an error quotes as much of the packet as fits into 576 bytes")
def test_error_quotes_up_to_576_bytes(net, mark):
    error = error_about(net, udp4(net.a, net.b, mark + bytes(1000), ttl=1), mark, 11, 0)
    assert 20 + 8 + 28 + 8 <= error[IP].len <= 576
    assert error[IP].len >= 572, "as much as possible: not just 8 bytes"


@requirement("RFC 1812 4.3.2.3: a short packet is quoted whole")
def test_error_quotes_short_packet_whole(net, mark):
    packet = bytes(udp4(net.a, net.b, mark, ttl=1))
    assert len(quoted(error_about(net, packet, mark, 11, 0))) == len(packet)


@requirement("RFC 1812 4.3.2.3: the quote holds the whole header, options included")
def test_error_quotes_options(net, mark):
    packet = raw_ipv4(udp4(net.a, net.b, mark, ttl=1), b"\x88\x04\x12\x34" + b"\x01" * 8)
    error = error_about(net, packet, mark, 11, 0)
    assert quoted(error)[20:32] == packet[20:32]


@requirement("RFC 1812 4.3.2.1: the router's own packets start with a TTL of at least 64 by default")
def test_error_has_a_fresh_ttl(net, mark):
    assert error_about(net, udp4(net.a, net.b, mark, ttl=1), mark, 11, 0)[IP].ttl >= 64


@requirement("RFC 1812 4.3.2.5: precedence of an error is 6 or 7, or that of the packet")
def test_error_precedence(net, mark):
    error = error_about(net, udp4(net.a, net.b, mark, ttl=1, tos=0x20), mark, 11, 0)
    assert error[IP].tos >> 5 in (1, 6, 7)


@requirement("RFC 1812 4.3.2.7: an ICMP query is no error: it is answered with one")
def test_error_about_echo_request(net, mark):
    packet = IP(src=net.a.behind4, dst=net.b.behind4, ttl=1) / ICMP(type=8) / Raw(mark)
    error_about(net, packet, mark, 11, 0)


@requirement("RFC 1812 4.3.2.7: never an error about an ICMP error")
@pytest.mark.parametrize("icmp_type", [3, 4, 5, 11, 12])
@pytest.mark.parametrize("why", ["ttl", "route"])
def test_no_error_about_an_error(net, icmp_type, why, mark):
    inner = bytes(IP(src=net.b.behind4, dst=net.a.behind4) / UDP() / Raw(mark))
    ttl, dst = (1, net.b.behind4) if why == "ttl" else (64, "203.0.113.9")
    name, times = ("ttl_expired", 1 + len(net.hosts)) if why == "ttl" else ("no_route", 1)  # those of the fence, too
    with counted_silence(net, name, mark, times):
        net.a.send(IP(src=net.a.behind4, dst=dst, ttl=ttl) / ICMP(type=icmp_type) / Raw(inner))


@requirement("RFC 1812 4.3.2.7: never an error about a packet to an IP multicast address")
def test_no_error_about_multicast(net, mark):
    with counted_silence(net, "host_multicast", mark, 2, or_more=True):
        net.a.send(udp4(net.a, net.b, mark, dst="239.1.2.3", ttl=1), dst="01:00:5e:01:02:03")
        net.a.send(udp4(net.a, net.b, mark, dst="239.1.2.3"), dst="01:00:5e:01:02:03")


@requirement("RFC 1812 4.3.2.7: never an error about a packet to an IP broadcast address")
@pytest.mark.parametrize("destination, to_all, to_router", [
    ("255.255.255.255", "host_broadcast", "host_broadcast"), ("10.1.0.255", "host_broadcast", "host_broadcast"),
    ("10.2.0.255", "drop_l2_broadcast", "drop_directed_broadcast")])
def test_no_error_about_broadcast(net, destination, to_all, to_router):
    for name, addresses in ((to_all, {"dst": "ff:ff:ff:ff:ff:ff"}), (to_router, {})):
        mark = token()
        with counted_silence(net, name, mark):
            net.a.send(udp4(net.a, net.b, mark, dst=destination, ttl=1), **addresses)


@requirement("RFC 1812 4.3.2.7: never an error about what came as a link-layer broadcast or multicast")
@pytest.mark.parametrize("mac", ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "03:00:00:00:00:01"])
def test_no_error_about_link_layer_broadcast(net, mac, mark):
    with counted_silence(net, "drop_l2_broadcast", mark, 2):
        net.a.send(udp4(net.a, net.b, mark, ttl=1), udp4(net.a, net.b, mark, dst="203.0.113.9"), dst=mac)


@requirement("RFC 1812 4.3.2.7: never an error about a fragment other than the first")
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_no_error_about_later_fragment(net, mark):
    with counted(net, "ttl_expired", 1 + len(net.hosts)), counted(net, "no_route"):  # those of the fence, too
        net.a.send(IP(src=net.a.behind4, dst=net.b.behind4, ttl=1, frag=10, proto=17) / Raw(mark))
        net.a.send(IP(src=net.a.behind4, dst="203.0.113.9", frag=10, flags="MF", proto=17) / Raw(mark + bytes(4)))
        assert_silence(net, mark)


@requirement("RFC 1812 4.3.2.7: but about the first fragment")
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_error_about_first_fragment(net, mark):
    packet = IP(src=net.a.behind4, dst=net.b.behind4, ttl=1, flags="MF", proto=253) / Raw(mark + bytes(4))
    error_about(net, packet, mark, 11, 0)


@requirement("RFC 1812 4.3.2.7: never an error to a source that does not name one host")
@pytest.mark.parametrize("source", ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1"])
def test_no_error_to_a_martian_source(net, source, mark):
    with counted_silence(net, "drop_martian_source", mark, 2):
        net.a.send(udp4(net.a, net.b, mark, src=source, ttl=1), udp4(net.a, net.b, mark, src=source, dst="203.0.113.9"))


@requirement("RFC 1812 4.3.2.7: a subnet broadcast address is no source to answer")
@pytest.mark.kernel_differs("Linux answers, and by a broadcast")
@pytest.mark.parametrize("source", ["10.1.0.255", "10.2.0.255"])
def test_no_error_to_a_broadcast_source(net, source, mark):
    with counted_silence(net, "drop_broadcast_source", mark):
        net.a.send(udp4(net.a, net.b, mark, src=source, ttl=1))


@requirement("RFC 1812 5.2.4, 4.3.3.5: a broken option is answered with parameter problem, its pointer at the fault")
@pytest.mark.parametrize("options, pointers", [
    pytest.param(b"\x07\x20\x04\x00", (20, 21), id="longer_than_the_header"),
    pytest.param(b"\x07\x01\x04\x00", (20, 21), id="length_below_two"),
    pytest.param(b"\x07\x07\x02\x00\x00\x00\x00\x00", (22,), id="pointer_below_four"),
])
def test_parameter_problem(net, options, pointers, mark):
    packet = raw_ipv4(udp4(net.a, net.b, mark), options)
    error = error_about(net, packet, mark, 12, 0)
    assert bytes(error)[38] in pointers


@requirement("RFC 1812 5.2.7.2: packets for the same link are forwarded (redirects are optional)")
def test_packet_back_to_its_link_is_forwarded(net, mark):
    net.a.send(udp4(net.b, net.a, mark))
    net.a.wire.receive(lambda frame: mark in frame and frame[22] == 63)


@requirement("RFC 6864 4.3, RFC 7739: identifications of the router's errors tell nobody how many others were sent, and do not repeat")
@pytest.mark.kernel_differs("Linux has a counter for each of 2,048 and more hashes of addresses")
def test_identifications_are_no_counter(net):
    seen = []
    for number in range(12):
        host = (net.a, net.b, net.c)[number % 3]
        mark = token()
        host.send(udp4(host, net.a if host is net.b else net.b, mark, ttl=1))
        seen.append(icmp_answer(host, mark)[IP].id)
    assert len(set(seen)) == len(seen), seen
    near = [pair for pair in zip(seen, seen[1:]) if (pair[1] - pair[0]) % 65536 < 256 or (pair[0] - pair[1]) % 65536 < 256]
    assert len(near) <= 2, f"of 11 pairs each is so near by chance once in 128: {seen}"
