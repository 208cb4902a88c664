# SPDX-License-Identifier: BSD-3-Clause
"""What a router does to an IPv4 packet on its way: RFC 1812 section 5.2 and 5.3, RFC 791, RFC 1624."""

import random
import struct
import time

import pytest
from lib.packets import ICMP, IP, UDP, Ether, Raw, checksum, counted_silence, delivered, fence, ipv4_header, raw_ipv4, token, udp4

NET = {"mtus": {"c": 1400}}
requirement = pytest.mark.requirement


@requirement("RFC 1812 5.3.1: a router MUST decrement the TTL by at least one")
@pytest.mark.parametrize("ttl", [2, 64, 255])
def test_ttl_is_decremented_by_one(net, ttl):
    assert delivered(net.a, net.b, ttl=ttl)[IP].ttl == ttl - 1


@requirement("RFC 1812 5.2.2, RFC 1624: the header checksum is right after the change, for any header")
def test_checksum_is_right_for_many_headers(net):
    random.seed(1624)
    for _ in range(100):
        mark = token()
        net.a.send(udp4(net.a, net.b, mark, id=random.randrange(65536), tos=random.randrange(256),
                        ttl=random.randrange(2, 256), src=f"10.1.0.{random.randrange(2, 255)}"))
        assert checksum(ipv4_header(net.b.receive(mark))) == 0


def with_checksum_after(packet, wanted):
    """The packet with an identification such that its header checksum, computed afresh, is `wanted`."""
    header = bytearray(bytes(packet)[:20])
    header[4:6] = header[10:12] = b"\0\0"
    packet.id = (checksum(header) - wanted) % 0xFFFF
    return packet


@requirement("RFC 1624 3: eqn. 3 gives 0x0000 where RFC 1141 gave 0xffff; every corner of ones' complement is right")
@pytest.mark.parametrize("after", [0x0000, 0x0001, 0x00FF, 0x0100, 0x0101, 0xFEFF, 0xFF00, 0xFFFE])
def test_checksum_corner_cases(net, after, mark):
    """The checksum that a header must carry after TTL 64 → 63 is `after`, and it is those two bytes exactly."""
    wanted = with_checksum_after(udp4(net.a, net.b, mark, ttl=63), after)
    net.a.send(udp4(net.a, net.b, mark, ttl=64, id=wanted.id))
    header = ipv4_header(net.b.receive(mark))
    assert header[10:12].hex() == f"{after:04x}"
    assert checksum(header) == 0


@requirement("RFC 1812 5.2.2: a header whose checksum verifies is valid, 0x0000 and 0xffff (minus zero) alike")
@pytest.mark.parametrize("before", [0x0000, 0xFFFF])
def test_either_zero_as_received_checksum_is_accepted(net, before, mark):
    packet = with_checksum_after(udp4(net.a, net.b, mark, ttl=64), 0)
    net.a.send(udp4(net.a, net.b, mark, ttl=64, id=packet.id, chksum=before))
    assert checksum(ipv4_header(net.b.receive(mark))) == 0


@requirement("RFC 1812 5.2.1, RFC 826: the frame leaves from the egress port's MAC address to the next hop's")
def test_mac_addresses_are_rewritten(net):
    frame = delivered(net.a, net.b)
    assert (frame.src, frame.dst) == (net.b.router_mac, net.b.mac)


@requirement("what follows the packet in its frame stays behind: nothing leaves longer than the egress MTU allows, as on Linux")
@pytest.mark.parametrize("packet, trailer", [(40, 1460), (40, 100), (40, 7), (500, 900), (1400, 100)])
def test_trailer_stays_behind(net, packet, trailer, mark):
    """To the link of 1,400 bytes; the frame has up to 1,514."""
    sent = bytes(udp4(net.a, net.c, mark + bytes(packet - 40)))
    net.a.wire.send(net.a.frame(sent) + b"\xee" * trailer)
    frame = net.c.wire.receive(lambda frame: mark in frame)
    assert len(frame) == 14 + packet and frame[30:] == sent[16:]


@requirement("RFC 1812 5.3.1: forwarding changes the TTL and the checksum, and nothing else of the packet")
@pytest.mark.parametrize("size", [0, 1, 17, 63, 64, 100, 101, 128, 511, 1024, 1471, 1472])
def test_everything_but_ttl_and_checksum_is_untouched(net, size):
    random.seed(size)
    payload = random.randbytes(size)
    identification = random.randrange(65536)
    sent = bytes(udp4(net.a, net.b, payload, id=identification, tos=0xB9, flags="DF"))
    net.a.send(sent)
    frame = net.b.wire.receive(lambda frame: frame[12:14] == b"\x08\x00" and frame[18:20] == sent[4:6]
                               and frame[26:34] == sent[12:20])
    received = frame[14:14 + len(sent)]
    assert received[:8] + received[9:10] + received[12:] == sent[:8] + sent[9:10] + sent[12:]


@requirement("RFC 2474 3, RFC 3168 5: DSCP and ECN pass unchanged, congestion experienced included")
@pytest.mark.parametrize("tos", [0x00, 0x01, 0x03, 0xB8, 0xFF])
def test_dscp_and_ecn_are_kept(net, tos):
    assert delivered(net.a, net.b, tos=tos)[IP].tos == tos


@requirement("RFC 1812 5.2.2, RFC 894: what a link pads a short frame with is no part of the packet")
@pytest.mark.parametrize("filler", [b"\0", b"\xAA"])
def test_padding_is_not_taken_for_payload(net, filler):
    packet = bytes(IP(src=net.a.behind4, dst=net.b.behind4, id=random.randrange(65536), proto=253) / Raw(token()))
    net.a.send(packet + filler * (46 - len(packet)))
    frame = net.b.wire.receive(lambda frame: packet[20:] in frame)
    assert struct.unpack("!H", frame[16:18])[0] == len(packet)
    assert frame[34:14 + len(packet)] == packet[20:]
    assert len(frame) <= 60, "padding may be kept or dropped, not grown"


@requirement("RFC 1812 5.2.1: a packet may leave by the interface it came in by")
def test_one_armed_forwarding(net, mark):
    net.a.send(udp4(net.b, net.a, mark))
    frame = net.a.receive(mark)
    assert (frame.src, frame.dst, frame[IP].ttl) == (net.a.router_mac, net.a.mac, 63)


@requirement("RFC 1812 5.2.6: a fragment is forwarded as any packet, its offset, flags and identification kept")
@pytest.mark.parametrize("flags, offset", [("MF", 0), ("MF", 100), (0, 185), ("MF+DF", 7), ("evil", 0)])
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_fragments_are_forwarded_unchanged(net, flags, offset, mark):
    sent = bytes(IP(src=net.a.behind4, dst=net.b.behind4, id=77, flags=flags, frag=offset, proto=17) / Raw(mark + bytes(52)))
    net.a.send(sent)
    received = bytes(net.b.receive(mark)[IP])
    assert received[4:8] == sent[4:8]
    assert received[20:len(sent)] == sent[20:]


def fragments_at(host):
    """The fragments of one datagram with proto 253, as they come in, until the last byte is there."""
    got, end, have = [], None, 0
    while end is None or have < end:
        frame = Ether(host.wire.receive(lambda frame: frame[12:14] == b"\x08\x00" and frame[23] == 253))
        packet = frame[IP]
        size = packet.len - packet.ihl * 4
        have += size
        if not packet.flags.MF:
            end = packet.frag * 8 + size
        got.append(packet)
    return got


def assert_fragments_of(fragments, payload, mtu, start=0):
    assert all(checksum(bytes(packet)[:packet.ihl * 4]) == 0 for packet in fragments)
    assert max(packet.len for packet in fragments) <= mtu
    whole = bytearray(len(payload))
    for packet in sorted(fragments, key=lambda packet: packet.frag):
        body = bytes(packet)[packet.ihl * 4:packet.len]
        assert not packet.flags.MF or len(body) % 8 == 0
        at = packet.frag * 8 - start
        whole[at:at + len(body)] = body
    assert bytes(whole) == payload
    assert len({packet.id for packet in fragments}) == 1


@requirement("RFC 1812 5.2.6, RFC 791 3.2: too large for the next link and DF clear: fragmented, reassembles to the same")
@pytest.mark.parametrize("size", [1381, 1400, 1480])
def test_fragmentation_without_df(net, size):
    random.seed(size)
    payload = random.randbytes(size)
    net.a.send(IP(src=net.a.behind4, dst=net.c.behind4, id=4711, proto=253, ttl=9, tos=0x28) / Raw(payload))
    fragments = fragments_at(net.c)
    assert len(fragments) == 2
    assert_fragments_of(fragments, payload, 1400)
    assert {(packet.id, packet.ttl, packet.tos) for packet in fragments} == {(4711, 8, 0x28)}


@requirement("RFC 1812 5.2.6: exactly the MTU is not too large")
def test_packet_of_exactly_the_mtu_is_not_fragmented(net, mark):
    net.a.send(udp4(net.a, net.c, mark + bytes(1400 - 28 - len(mark)), flags="DF"))
    assert net.c.receive(mark)[IP].len == 1400


@requirement("RFC 791 3.2: fragments of a fragment add its offset, and its last one keeps its MF")
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_fragment_is_fragmented_further(net):
    random.seed(3)
    payload = random.randbytes(1480)
    net.a.send(IP(src=net.a.behind4, dst=net.c.behind4, id=4712, proto=253, flags="MF", frag=185) / Raw(payload))
    fragments = [Ether(frame)[IP] for frame in
                 net.c.wire.receive_many(2, lambda frame: frame[12:14] == b"\x08\x00" and frame[23] == 253)]
    assert_fragments_of(fragments, payload, 1400, 185 * 8)
    assert all(packet.flags.MF for packet in fragments)


@requirement("RFC 791 3.1: options with the copy bit stand in every fragment, the others in the first alone")
def test_options_in_fragments(net):
    copied = b"\x88\x04\x12\x34"  # stream id, copy bit set
    not_copied = b"\x1e\x04\x00\x00"  # RFC 4727 experiment, copy bit clear
    payload = bytes(range(256)) * 5 + bytes(180)
    net.a.send(raw_ipv4(IP(src=net.a.behind4, dst=net.c.behind4, proto=253) / Raw(payload), copied + not_copied))
    first, *rest = sorted(fragments_at(net.c), key=lambda packet: packet.frag)
    assert bytes(first)[20:28] == copied + not_copied
    for packet in rest:
        options = bytes(packet)[20:packet.ihl * 4]
        assert copied in options and not_copied not in options
    assert_fragments_of([first, *rest], payload, 1400)


def header_with(net, mark, options):
    """The header with which a packet with these options leaves; its checksum is right."""
    net.a.send(raw_ipv4(udp4(net.a, net.b, mark), options))
    header = ipv4_header(net.b.receive(mark))
    assert checksum(header) == 0
    return header


@requirement("RFC 1812 5.2.4, RFC 791: options that ask nothing of a router pass through it unchanged")
@pytest.mark.parametrize("options", [
    pytest.param(b"\x01\x01\x01\x01", id="no_operation"),
    pytest.param(b"\x01\x01\x01\x00", id="end_of_list"),
    pytest.param(b"\x82\x0b" + bytes(9) + b"\0", id="security"),
    pytest.param(b"\x88\x04\x12\x34", id="stream_id"),
    pytest.param(b"\x94\x04\x00\x00", id="router_alert"),
    pytest.param(b"\xde\x04\xbe\xef", id="unknown"),
    pytest.param(b"\x01" * 40, id="longest"),
])
def test_options_are_kept(net, options, mark):
    header = header_with(net, mark, options)
    assert header[20:] == options and header[8] == 63


@requirement("RFC 1812 5.2.4.1, RFC 791: record route takes the address of the router's egress interface")
def test_record_route_is_filled(net, mark):
    header = header_with(net, mark, b"\x07\x0b\x04" + bytes(8) + b"\0")
    assert header[20:31] == b"\x07\x0b\x08" + bytes([10, 2, 0, 1]) + bytes(4)


@requirement("RFC 791: a full record route is forwarded without the address being put in")
def test_full_record_route_is_forwarded_as_it_is(net, mark):
    full = b"\x07\x07\x08" + bytes([192, 168, 9, 9]) + b"\0"
    assert header_with(net, mark, full)[20:] == full


def assert_stamp_is_now(stamp):
    now = int(time.time() * 1000) % 86400000
    assert min(abs(stamp - now), 86400000 - abs(stamp - now)) < 10000, f"{stamp} ms since midnight UT, now is {now}"


@requirement("RFC 791: the timestamp option takes milliseconds since midnight UT")
def test_timestamp_is_filled(net, mark):
    header = header_with(net, mark, bytes([68, 12, 5, 0]) + bytes(8))
    assert header[20:24] == bytes([68, 12, 9, 0]) and header[28:32] == bytes(4)
    assert_stamp_is_now(struct.unpack("!I", header[24:28])[0])


@requirement("RFC 1812 4.2.2.2: the address put into an option MUST be that of the interface on which the packet is sent")
@pytest.mark.kernel_differs("Linux puts the address of the ingress interface into a timestamp option")
def test_timestamp_with_address_takes_the_egress_address(net, mark):
    header = header_with(net, mark, bytes([68, 20, 5, 1]) + bytes(16))
    assert header[20:28] == bytes([68, 20, 13, 1, 10, 2, 0, 1]) and header[32:40] == bytes(8)
    assert_stamp_is_now(struct.unpack("!I", header[28:32])[0])


@requirement("RFC 791: a timestamp option with no room left counts the router in its overflow field")
def test_timestamp_overflow_is_counted(net, mark):
    assert header_with(net, mark, bytes([68, 8, 9, 0x10, 1, 2, 3, 4]))[20:28] == bytes([68, 8, 9, 0x20, 1, 2, 3, 4])


@requirement("RFC 7126 4.3, 4.4: source-routed packets are dropped")
@pytest.mark.parametrize("kind", [pytest.param(131, id="loose"), pytest.param(137, id="strict")])
def test_source_route_is_dropped(net, kind, mark):
    packet = raw_ipv4(udp4(net.a, net.b, mark), bytes([kind, 7, 4, 10, 2, 0, 1, 0]))
    if net.router.name == "kernel":  # Linux answers with "source route failed"; what counts is that it does not forward
        net.a.send(packet)
        fence(net)
        assert not net.b.wire.waiting(lambda frame: mark in frame)
        return
    with counted_silence(net, "drop_ipv4_source_route", mark):
        net.a.send(packet)


@requirement("RFC 1812 5.3.11: TTL is not looked at for packets to the router itself")
def test_ping_router_with_ttl_1(net, mark):
    net.a.send(IP(src=net.a.ip4, dst=net.a.router_ip4, ttl=1) / ICMP(id=5, seq=6) / Raw(mark))
    reply = net.a.receive(mark)
    assert (reply[IP].src, reply[ICMP].type, reply[ICMP].id, reply[ICMP].seq) == (net.a.router_ip4, 0, 5, 6)


@requirement("RFC 1812 5.2.1: protocols that the router does not know are forwarded all the same")
@pytest.mark.parametrize("protocol", [0, 1, 2, 6, 17, 41, 50, 132, 253, 255])
def test_every_protocol_is_forwarded(net, protocol, mark):
    net.a.send(IP(src=net.a.behind4, dst=net.b.behind4, proto=protocol) / Raw(mark))
    assert net.b.receive(mark)[IP].proto == protocol


@requirement("RFC 768: a UDP checksum is end to end; no router touches it, not even a wrong one")
def test_wrong_udp_checksum_passes(net, mark):
    net.a.send(IP(src=net.a.behind4, dst=net.b.behind4) / UDP(sport=1, dport=2, chksum=0xDEAD) / Raw(mark))
    assert net.b.receive(mark)[UDP].chksum == 0xDEAD
