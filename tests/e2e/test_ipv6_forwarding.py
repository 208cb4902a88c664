# SPDX-License-Identifier: BSD-3-Clause
"""What a router does to an IPv6 packet on its way: RFC 8200, and which extension headers it looks at."""

import ipaddress
import random
import struct

import pytest
from lib.packets import UDP, IPv6, Raw, counted_silence, delivered, fence, icmp_answer, quoted, token, udp6

requirement = pytest.mark.requirement


@requirement("RFC 8200 3: hop limit is decremented by 1 by each node that forwards the packet")
@pytest.mark.parametrize("hops", [2, 64, 255])
def test_hop_limit_is_decremented_by_one(net, hops):
    assert delivered(net.a, net.b, udp6, hlim=hops)[IPv6].hlim == hops - 1


@requirement("RFC 4861 7.2: the frame leaves from the egress port's MAC address to the next hop's")
def test_mac_addresses_are_rewritten(net):
    frame = delivered(net.a, net.b, udp6)
    assert (frame.src, frame.dst) == (net.b.router_mac, net.b.mac)


@requirement("RFC 8200 3, RFC 6437 3: nothing but the hop limit changes; traffic class and flow label are kept")
@pytest.mark.parametrize("size", [0, 1, 17, 66, 67, 128, 1000, 1452])
def test_everything_but_the_hop_limit_is_untouched(net, size):
    random.seed(size)
    label = random.randrange(1 << 20)
    sent = bytes(udp6(net.a, net.b, random.randbytes(size), tc=0xB9, fl=label))
    net.a.send(sent)
    frame = net.b.wire.receive(lambda frame: frame[12:14] == b"\x86\xdd" and frame[14:18] == sent[:4])
    received = frame[14:14 + len(sent)]
    assert received[:7] + received[8:] == sent[:7] + sent[8:]


@requirement("RFC 8200 4: protocols that the router does not know are forwarded all the same")
@pytest.mark.parametrize("protocol", [6, 17, 41, 50, 58, 59, 132, 253, 255])
def test_every_next_header_is_forwarded(net, protocol, mark):
    net.a.send(IPv6(src=net.a.behind6, dst=net.b.behind6, nh=protocol) / Raw(mark + bytes(8)))
    assert net.b.receive(mark)[IPv6].nh == protocol


def ipv6(net, next_header, payload, destination=None, hops=64):
    return (struct.pack("!IHBB", 6 << 28, len(payload), next_header, hops)
            + bytes_of(net.a.behind6) + bytes_of(destination or net.b.behind6) + payload)


def bytes_of(address):
    return ipaddress.ip_address(address).packed


def options_header(next_header, options):
    """A hop-by-hop or destination options header around raw option bytes, padded to eight."""
    size = 2 + len(options)
    padding = -size % 8
    if padding == 1:
        options += b"\0"
    elif padding:
        options += bytes([1, padding - 2]) + bytes(padding - 2)
    return bytes([next_header, (2 + len(options)) // 8 - 1]) + options


def udp(mark):
    return struct.pack("!HHHH", 4000, 5000, 8 + len(mark), 0x1234) + mark


def leaves(net, mark, sent):
    """The bytes as which a packet arrives: those behind the first eight are as they were sent."""
    net.a.send(sent)
    received = net.b.wire.receive(lambda frame: mark in frame)[14:]
    assert received[8:] == sent[8:]
    return received


@requirement("RFC 8200 4: extension headers other than hop-by-hop are not looked at on the way, and are kept")
@pytest.mark.parametrize("chain", [
    pytest.param(lambda rest: (60, options_header(17, b"\x3e\x02\xab\xcd") + rest), id="destination_options"),
    pytest.param(lambda rest: (60, options_header(17, b"\xfe\x02\xab\xcd") + rest), id="unknown_destination_option"),
    pytest.param(lambda rest: (43, bytes([17, 2, 4, 0]) + bytes(20) + rest), id="routing_with_no_segments_left"),
    pytest.param(lambda rest: (44, bytes([17, 0, 0x05, 0x31]) + b"abcd" + rest), id="fragment"),
    pytest.param(lambda rest: (51, bytes([17, 4]) + bytes(22) + rest), id="authentication"),
    pytest.param(lambda rest: (0, options_header(60, b"") + options_header(43, b"") + bytes([17, 0, 4, 0, 0, 0, 0, 0]) + rest), id="long_chain"),
    pytest.param(lambda rest: (60, options_header(17, b"\x1e\xc8" + bytes(200)) + rest), id="beyond_the_header_slice"),
])
def test_extension_headers_are_kept(net, chain, mark):
    sent = ipv6(net, *chain(udp(mark)))
    assert leaves(net, mark, sent)[:8] == sent[:7] + bytes([63])


def hop_by_hop(net, mark, option, **more):
    return ipv6(net, 0, options_header(17, option) + udp(mark), **more)


@requirement("RFC 8200 4.2: unknown hop-by-hop option of type 00xxxxxx is skipped over")
@pytest.mark.parametrize("option", [b"\x1e\x00", b"\x1e\x04abcd", b"\x3e\x02ab", b"\x01\x04\0\0\0\0", b"\0\0\0\0\0\0"])
def test_hop_by_hop_option_to_skip(net, option, mark):
    leaves(net, mark, hop_by_hop(net, mark, option))


@requirement("RFC 8200 4.2: unknown hop-by-hop option of type 01xxxxxx: discard the packet, in silence")
def test_hop_by_hop_option_to_discard(net, mark):
    with counted_silence(net, "drop_ipv6_option", mark, family=6):
        net.a.send(hop_by_hop(net, mark, b"\x5e\x02ab"))


def parameter_problem(net, mark):
    error = bytes(icmp_answer(net.a, mark))
    assert error[54] == 4
    return error[55], struct.unpack("!I", error[58:62])[0]


@requirement("RFC 8200 4.2: 10xxxxxx: discard and send parameter problem code 2, its pointer at the option type")
@pytest.mark.parametrize("before", [b"", b"\x01\x00", b"\x1e\x04abcd"])
def test_hop_by_hop_option_to_report(net, before, mark):
    net.a.send(hop_by_hop(net, mark, before + b"\x9e\x02ab"))
    assert parameter_problem(net, mark) == (2, 42 + len(before))
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 8200 4.2: 11xxxxxx: discard and send parameter problem code 2 if the destination is not multicast")
def test_hop_by_hop_option_to_report_unless_multicast(net, mark):
    net.a.send(hop_by_hop(net, mark, b"\xde\x02ab"))
    assert parameter_problem(net, mark) == (2, 42)
    multicast = token()
    with counted_silence(net, "host_multicast", multicast, 1, or_more=True, family=6):
        net.a.send(hop_by_hop(net, multicast, b"\xde\x02ab", destination="ff0e::1:2"), dst="33:33:00:01:00:02")


@requirement("RFC 8200 4.2: an options header whose options do not fit it is malformed: not forwarded")
@pytest.mark.parametrize("header", [
    pytest.param(b"\x11\x00\x1e\x20abcd", id="option_beyond_the_header"),
    pytest.param(b"\x11\x00\x01\x02\0\0\x1e\x01", id="option_data_missing"),
    pytest.param(b"\x11\xff\x01\x04\0\0\0\0", id="header_beyond_the_packet"),
])
def test_malformed_hop_by_hop_header(net, header, mark):
    net.a.send(ipv6(net, 0, header + udp(mark)))
    fence(net, 6)
    assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 8200 4.3: hop-by-hop options are acted on only right behind the IPv6 header")
def test_hop_by_hop_options_elsewhere_are_not_looked_at(net, mark):
    leaves(net, mark, ipv6(net, 60, options_header(0, b"") + options_header(17, b"\x9e\x02ab") + udp(mark)))


@requirement("RFC 8200 4.5: fragments are forwarded unchanged")
@pytest.mark.parametrize("offset, more", [(0, 1), (181, 1), (362, 0), (0, 0)])
def test_fragments_are_forwarded_unchanged(net, offset, more, mark):
    leaves(net, mark, ipv6(net, 44, struct.pack("!BBHI", 17, 0, offset << 3 | more, 0xCAFE) + mark + bytes(52)))


@requirement("RFC 8200 3: what a link pads a short frame with is no part of the packet")
def test_padding_is_not_taken_for_payload(net):
    mark = token()[:6]
    packet = bytes(IPv6(src=net.a.behind6, dst=net.b.behind6, nh=59) / Raw(mark))
    net.a.send(packet + b"\xAA" * 10)
    frame = net.b.wire.receive(lambda frame: frame[12:14] == b"\x86\xdd" and mark in frame)
    assert struct.unpack("!H", frame[18:20])[0] == len(mark)


@requirement("RFC 8200 8.1: a UDP checksum is end to end; no router touches it, not even a wrong one")
def test_wrong_udp_checksum_passes(net, mark):
    net.a.send(IPv6(src=net.a.behind6, dst=net.b.behind6) / UDP(sport=1, dport=2, chksum=0xDEAD) / Raw(mark))
    assert net.b.receive(mark)[UDP].chksum == 0xDEAD


@requirement("RFC 8200 3: a packet may leave by the interface it came in by")
def test_one_armed_forwarding(net, mark):
    net.a.send(udp6(net.b, net.a, mark))
    frame = net.a.receive(mark)
    assert (frame.src, frame.dst, frame[IPv6].hlim) == (net.a.router_mac, net.a.mac, 63)


@requirement("RFC 4443 2.4 c: an error about a packet with extension headers quotes them")
def test_error_quotes_extension_headers(net, mark):
    sent = ipv6(net, 60, options_header(17, b"\x3e\x02\xab\xcd") + udp(mark), hops=1)
    net.a.send(sent)
    assert quoted(icmp_answer(net.a, mark))[40:] == sent[40:]
