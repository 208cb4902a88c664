# SPDX-License-Identifier: BSD-3-Clause
"""Questions to the router itself, and what it must answer."""

import os

from lib.packets import checksum, packed, udp4, udp6
from lib.routes import host_address, host_mac
from lib.topology import mac, text_mac
from lib.traffic import SENDER
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw

UDP_PORTS = b"\x10\x01\x20\x02"


def macs(port):
    """The router's MAC address at a port and its neighbour's, as text."""
    return text_mac(mac(port)), text_mac(host_mac(port, SENDER))


def token():
    """Bytes that no other frame carries."""
    return b"ho" + os.urandom(14)


def ping(machine, port, family, size=56):
    """True if the router answers, byte for byte; raises NothingReceived if it does not answer."""
    ours, theirs = macs(port)
    data = (token() * (size // 16 + 1))[:size]
    addresses = {"src": host_address(family, port, SENDER), "dst": host_address(family, port, 1)}
    packet = IP(**addresses) / ICMP(id=7, seq=port) if family == 4 else IPv6(**addresses) / ICMPv6EchoRequest(id=7, seq=port)
    machine.wires[port].send(bytes(Ether(src=theirs, dst=ours) / packet / Raw(data)))
    start = 42 if family == 4 else 62
    reply = Ether(machine.wires[port].receive(lambda frame: frame[start:start + size] == data, f"an echo reply of {size} bytes"))
    assert (reply.src, reply.dst) == (ours, theirs)
    if family == 4:
        return reply[ICMP].type == 0 and reply[IP].src == addresses["dst"]
    return ICMPv6EchoReply in reply and reply[IPv6].src == addresses["dst"]


def transit(port, family, destination, ttl, payload):
    """A frame from the neighbour at a port to a packed address."""
    make = udp4 if family == 4 else udp6
    return make(mac(port) + host_mac(port, SENDER), packed(host_address(family, port, SENDER)), destination, UDP_PORTS, payload, ttl=ttl)


def error_about(machine, port, family, sent):
    """(type, code) of the ICMP error about a frame, after a look at whether it is well formed."""
    start, quote = (34, 42) if family == 4 else (54, 62)
    packet = sent[14:]
    changed = (8, 10, 11) if family == 4 else (7,)  # TTL and checksum may be those before or after the router's work

    def about(frame):
        quoted = frame[quote:quote + len(packet)]
        return (frame[12:14] == sent[12:14] and frame[start] in (1, 3, 11) and len(quoted) >= (28 if family == 4 else 48)
                and all(quoted[i] == packet[i] for i in range((28 if family == 4 else 48)) if i not in changed))

    frame = machine.wires[port].receive(about, "an ICMP error")
    assert frame[:12] == host_mac(port, SENDER) + mac(port)
    if family == 4:
        length = int.from_bytes(frame[16:18], "big")
        assert checksum(frame[14:34]) == 0 and checksum(frame[34:14 + length]) == 0
        assert frame[26:34] == packed(host_address(4, port, 1)) + packed(host_address(4, port, SENDER))
    else:
        length = int.from_bytes(frame[18:20], "big")
        body = frame[54:54 + length]
        assert checksum(frame[22:54] + length.to_bytes(4, "big") + bytes(3) + b"\x3a" + body) == 0
        assert frame[22:54] == packed(host_address(6, port, 1)) + packed(host_address(6, port, SENDER))
    return frame[start], frame[start + 1]
