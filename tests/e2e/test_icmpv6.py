# SPDX-License-Identifier: BSD-3-Clause
"""ICMPv6 errors for transit packets: what they say, and when a router stays silent. RFC 4443, 4291, 8201."""

import struct

import pytest
from lib.packets import UDP, IPv6, Raw, checksum, counted_silence, icmp_answer, quoted, token, udp6
from scapy.layers.inet6 import ICMPv6DestUnreach, ICMPv6EchoRequest, ICMPv6PacketTooBig, ICMPv6TimeExceeded

requirement = pytest.mark.requirement
NET = {
    "mtus": {"c": 1400},
    "config": {"routes": [
        {"prefix": "2001:db8:f1::/48", "type": "unreachable"},
        {"prefix": "2001:db8:f2::/48", "type": "prohibit"},
        {"prefix": "2001:db8:f3::/48", "type": "blackhole"},
    ]},
}
NO_ROUTE = "2001:db9::9"


def assert_well_formed(error, host, sent, icmp_type, code):
    assert (error.src, error.dst) == (host.router_mac, host.mac)
    assert (error[IPv6].src, error[IPv6].dst) == (host.router_ip6, IPv6(sent).src)
    data = bytes(error)[14:54 + error[IPv6].plen]
    assert len(data) <= 1280, "RFC 4443 2.4 c: the error fits into the minimum MTU"
    body = data[40:]
    assert checksum(data[8:40] + struct.pack("!II", len(body), 58) + body) == 0
    assert (body[0], body[1]) == (icmp_type, code)
    quote = quoted(error)
    # As much of the packet as fits; quoted as received but for the hop limit, which may be decremented already.
    assert len(quote) == min(len(sent), 1280 - 48)
    assert quote[:7] + quote[8:] == (sent[:7] + sent[8:])[:len(quote) - 1]


def error_about(net, packet, mark, icmp_type, code):
    packet = bytes(packet)
    net.a.send(packet)
    error = icmp_answer(net.a, mark)
    assert_well_formed(error, net.a, packet, icmp_type, code)
    return error


@requirement("RFC 4443 3.3: hop limit 1 or 0 in transit: discarded, time exceeded code 0 goes back")
@pytest.mark.parametrize("hops", [0, 1])
def test_hop_limit_exceeded(net, hops, mark):
    error_about(net, udp6(net.a, net.b, mark, hlim=hops), mark, 3, 0)
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 4443 2.4 c: as much of the packet as fits into 1280 bytes")
def test_error_quotes_up_to_1280_bytes(net, mark):
    error_about(net, udp6(net.a, net.b, mark + bytes(1400), hlim=1), mark, 3, 0)


@requirement("RFC 4443 3.1: no route to destination is code 0, also for an `unreachable` route, as Linux does; communication "
             "administratively prohibited is code 1")
@pytest.mark.parametrize("destination, code", [
    pytest.param(NO_ROUTE, 0, id="no_route"), pytest.param("2001:db8:f1::9", 0, id="unreachable"),
    pytest.param("2001:db8:f2::9", 1, id="prohibit")])
def test_destination_unreachable(net, destination, code, mark):
    error_about(net, udp6(net.a, net.b, mark, dst=destination), mark, 1, code)


@requirement("a `blackhole` route drops in silence")
def test_blackhole_is_silent(net, mark):
    with counted_silence(net, "drop_blackhole", mark, family=6):
        net.a.send(udp6(net.a, net.b, mark, dst="2001:db8:f3::9"))


@requirement("RFC 4861 7.2.2: next hop does not answer solicitations: address unreachable (code 3) goes back")
def test_address_unreachable_after_nd_failure(net, mark):
    packet = udp6(net.a, net.b, mark, dst="2001:db8:2::99")
    net.a.send(packet)
    asked = net.b.wire.receive(lambda frame: frame[20:21] == b"\x3a" and frame[54:55] == b"\x87" and frame[77:78] == b"\x99")
    assert asked[:6] == bytes.fromhex("3333ff000099")
    assert_well_formed(icmp_answer(net.a, mark), net.a, bytes(packet), 1, 3)


@requirement("RFC 4443 3.2, RFC 8201 3: larger than the next link's MTU: packet too big with that MTU; not forwarded")
@pytest.mark.parametrize("size", [1401, 1500])
def test_packet_too_big(net, size, mark):
    error = error_about(net, udp6(net.a, net.c, mark + bytes(size - 48 - len(mark))), mark, 2, 0)
    assert struct.unpack("!I", bytes(error)[58:62])[0] == 1400
    assert not net.c.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 8200 5: exactly the MTU is not too big")
def test_packet_of_exactly_the_mtu_passes(net, mark):
    net.a.send(udp6(net.a, net.c, mark + bytes(1400 - 48 - len(mark))))
    assert net.c.receive(mark)[IPv6].plen == 1360


@requirement("RFC 4443 3.1, RFC 4291 2.5.6: link-local source, destination beyond the link: code 2, beyond scope")
def test_beyond_scope_of_source(net, mark):
    packet = bytes(udp6(net.a, net.b, mark, src="fe80::ff:fe00:102"))
    net.a.send(packet)
    error = icmp_answer(net.a, mark)
    assert (bytes(error)[54], bytes(error)[55]) == (1, 2)
    assert error[IPv6].dst == "fe80::ff:fe00:102" and error.dst == net.a.mac
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 4443 2.4 e.1: never an error about an ICMPv6 error")
@pytest.mark.parametrize("error", [ICMPv6DestUnreach(), ICMPv6PacketTooBig(), ICMPv6TimeExceeded(),
                                   Raw(b"\x64\0\0\0\0\0\0\0"), Raw(b"\x7f\0\0\0\0\0\0\0")])
@pytest.mark.parametrize("why", ["hops", "route"])
def test_no_error_about_an_error(net, error, why):
    if net.router.name == "kernel" and isinstance(error, Raw):
        pytest.skip("Linux knows errors by the types it has names for")
    mark = token()
    hops, dst = (1, net.b.behind6) if why == "hops" else (64, NO_ROUTE)
    inner = bytes(IPv6(src=net.b.behind6, dst=net.a.behind6) / UDP() / Raw(mark))
    name, times = ("ttl_expired", 1 + len(net.hosts)) if why == "hops" else ("no_route", 1)  # those of the fence, too
    with counted_silence(net, name, mark, times, family=6):
        net.a.send(IPv6(src=net.a.behind6, dst=dst, hlim=hops, nh=58) / error / Raw(inner))


@requirement("RFC 4443 2.4 e.1: an echo request is no error: it is answered with one")
def test_error_about_echo_request(net, mark):
    error_about(net, IPv6(src=net.a.behind6, dst=net.b.behind6, hlim=1) / ICMPv6EchoRequest(data=mark), mark, 3, 0)


@requirement("RFC 4443 2.4 e.3: never an error about a packet to a multicast address")
def test_no_error_about_multicast(net, mark):
    with counted_silence(net, "host_multicast", mark, 1, or_more=True, family=6):
        net.a.send(udp6(net.a, net.b, mark, dst="ff0e::1:2", hlim=1), dst="33:33:00:01:00:02")


@requirement("RFC 4443 2.4 e.4, e.5: never an error about what came as a link-layer multicast or broadcast")
@pytest.mark.parametrize("mac", ["ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01"])
def test_no_error_about_link_layer_multicast(net, mac, mark):
    with counted_silence(net, "drop_l2_broadcast", mark, 2, family=6):
        net.a.send(udp6(net.a, net.b, mark, hlim=1), udp6(net.a, net.b, mark, dst=NO_ROUTE), dst=mac)


@requirement("RFC 4443 2.4 e.6: never an error to a source that does not name one node")
@pytest.mark.parametrize("source", ["::", "::1", "ff02::1", "ff0e::1"])
def test_no_error_to_a_martian_source(net, source, mark):
    with counted_silence(net, "drop_martian_source", mark, 2, family=6):
        net.a.send(udp6(net.a, net.b, mark, src=source, hlim=1), udp6(net.a, net.b, mark, src=source, dst=NO_ROUTE))


@requirement("RFC 4443 2.2: the source is an address of the router's, and the hop limit a fresh one")
def test_error_has_a_fresh_hop_limit(net, mark):
    assert error_about(net, udp6(net.a, net.b, mark, hlim=1), mark, 3, 0)[IPv6].hlim >= 64
