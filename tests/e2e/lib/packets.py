# SPDX-License-Identifier: BSD-3-Clause
"""Packets that the tests send, and questions they ask of what arrives."""

import contextlib
import struct

from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from lib.waiting import DeadlineExceeded, wait_for
from lib.wire import NothingReceived, token


def udp4(sender, receiver, payload=b"", src=None, dst=None, sport=4000, dport=5000, **fields):
    """UDP from an address behind `sender` to one behind `receiver`: no stack has either, so nothing answers."""
    fields.setdefault("ttl", 64)
    return (IP(src=src or sender.behind4, dst=dst or receiver.behind4, **fields)
            / UDP(sport=sport, dport=dport) / Raw(payload))


def udp6(sender, receiver, payload=b"", src=None, dst=None, sport=4000, dport=5000, **fields):
    fields.setdefault("hlim", 64)
    return (IPv6(src=src or sender.behind6, dst=dst or receiver.behind6, **fields)
            / UDP(sport=sport, dport=dport) / Raw(payload))


def checksum(data):
    """RFC 1071, over whole bytes; 0 for a header that carries a right checksum."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4_header(frame):
    """Header bytes of the IPv4 packet of an untagged frame."""
    frame = bytes(frame)
    return frame[14:14 + (frame[14] & 15) * 4]


def raw_ipv4(packet, options):
    """Bytes of the packet with these option bytes (a multiple of four), lengths and checksum made right."""
    data = bytearray(bytes(packet))
    data[20:20] = options
    data[0] = 0x40 | (5 + len(options) // 4)
    data[2:4] = struct.pack("!H", len(data))
    data[10:12] = b"\0\0"
    data[10:12] = struct.pack("!H", checksum(bytes(data[:20 + len(options)])))
    return bytes(data)


def wait_for_crossing(sender, receiver, make=udp4):
    """Sends until one arrives: neighbours are resolved and routes are in place afterwards."""
    def once():
        mark = token()
        sender.send(make(sender, receiver, mark))
        try:
            return receiver.receive(mark, 0.2)
        except NothingReceived:
            return None

    return wait_for(once, f"a packet crosses from {sender.label} to {receiver.label}")


def delivered(sender, receiver, make=udp4, payload=b"", **fields):
    """The frame of one packet that `sender` sends and that arrives at `receiver`, its payload whole."""
    payload = token() + payload
    sender.send(make(sender, receiver, payload, **fields))
    return receiver.receive(payload)


def both_ways(first, second):
    """Packets of both families cross, either way."""
    for make in (udp4, udp6):
        wait_for_crossing(first, second, make)
        wait_for_crossing(second, first, make)


def icmp_answer(host, mark, deadline=60.0):
    """The ICMP error that comes back to `host` quoting the token."""
    def is_error(frame):
        return mark in frame and (
            frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[14 + (frame[14] & 15) * 4] in (3, 4, 5, 11, 12)
            or frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] < 128)

    return Ether(host.wire.receive(is_error, deadline, f"an ICMP error about {mark.hex()}"))


def fence(net, family=4):
    """Returns when everything sent before has been dealt with: one packet through the fast path from each host to
    another, and one that has to be answered with an error. Both take the way of what was sent before, in order."""
    make, hops = (udp4, "ttl") if family == 4 else (udp6, "hlim")
    for host in net.hosts:
        other = other_than(net, host)
        mark = token()
        host.send(make(host, other, mark, **{hops: 1}))
        icmp_answer(host, mark)
        mark = token()
        host.send(make(host, other, mark))
        other.receive(mark)


def goes_to(net, destination):
    """Label of the host that a packet from a arrives at; None if an error comes back, or nothing anywhere.

    Waits for the frame itself: a fence may overtake it, where its destination is decided by the port stage and this
    one's by a worker."""
    mark = token()
    net.a.send((udp6 if ":" in destination else udp4)(net.a, net.b, mark, dst=destination))

    def where():
        return [host for host in net.hosts if host.wire.waiting(lambda frame: mark in frame)]

    try:
        [host] = wait_for(where, interval=0.001)
    except DeadlineExceeded:
        return None
    return None if host is net.a else host.label


def arrives(sender, receiver, destination):
    """Sends to the address until a packet to it arrives at `receiver`: the route to it is in place."""
    def once():
        mark = token()
        sender.send((udp6 if ":" in destination else udp4)(sender, receiver, mark, dst=destination))
        try:
            return receiver.receive(mark, 0.2)
        except NothingReceived:
            return None

    return wait_for(once, f"packets to {destination} arrive at {receiver.label}")


def assert_silence(net, mark, family=4):
    """Nobody has received a frame that carries the token, be it forwarded or quoted in an error."""
    fence(net, family)
    for host in net.hosts:
        got = host.wire.waiting(lambda frame: mark in frame)
        assert not got, f"host {host.label} received {[Ether(frame).summary() for frame in got]}: {got[0].hex()}"


def other_than(net, host):
    return next(other for other in net.hosts if other is not host)


def quoted(error):
    """Bytes of the packet that an ICMP or ICMPv6 error (an Ether frame) quotes: what follows its 8-byte header."""
    data = bytes(error)
    if data[12:14] == b"\x08\x00":
        length = struct.unpack("!H", data[16:18])[0]
        return data[14:14 + length][(data[14] & 15) * 4 + 8:]
    length = struct.unpack("!H", data[18:20])[0]
    return data[54:54 + length][8:]


@contextlib.contextmanager
def counted(net, name, times=1, or_more=False):
    """Pktpit's counter of this name has grown by exactly `times` when the block ends, or by more where the hosts' own packets
    are counted by it, too. Linux is not asked."""
    if net.router.name == "kernel":
        yield
        return
    before = net.router.counters().get(name, 0)
    yield
    after = net.router.counters().get(name, 0)
    assert after - before == times or (or_more and after - before > times), f"counter {name} grew by {after - before} instead of {times}"


@contextlib.contextmanager
def counted_silence(net, name, mark, times=1, or_more=False, family=4):
    """What is sent inside is counted so (`counted`), and nobody receives a frame that carries the token."""
    with counted(net, name, times, or_more):
        yield
        assert_silence(net, mark, family)


__all__ = ["ICMP", "IP", "UDP", "IPv6", "Ether", "Raw", "token", "udp4", "udp6"]
