# SPDX-License-Identifier: BSD-3-Clause
"""Garbage of every layer: the router drops it, counts it, and goes on."""

import random
import struct

import pytest
from lib.packets import counted_silence, fence, raw_ipv4, udp4, udp6
from lib.pktpit_router import DATAPLANE
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

requirement = pytest.mark.requirement


def mutate(generator, frame):
    """The frame with some bytes changed, cut off, put in or repeated."""
    data = bytearray(frame)
    for _ in range(generator.randrange(1, 5)):
        at = generator.randrange(len(data))
        kind = generator.randrange(4)
        if kind == 0:
            data[at] = generator.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << generator.randrange(8)
        elif kind == 2 and at > 15:
            del data[at:]
        else:
            data[at:at] = generator.randbytes(generator.randrange(1, 9))
    return bytes(data[:1514])


def seeds(net):
    a = net.a
    udp = bytes(udp4(net.a, net.b, b"seed" * 8))
    return [
        a.frame(udp4(net.a, net.b, b"seed" * 8)), a.frame(udp6(net.a, net.b, b"seed" * 8)),
        a.frame(raw_ipv4(udp4(net.a, net.b, b"seed" * 8), b"\x07\x0b\x04" + bytes(8) + b"\0")),
        a.frame(raw_ipv4(udp4(net.a, net.b, b"seed" * 8), bytes([68, 12, 5, 1]) + bytes(8))),
        a.frame(udp4(net.a, net.b, b"seed" * 8, ttl=1)), a.frame(udp6(net.a, net.b, b"seed" * 8, hlim=1)),
        a.frame(udp4(net.a, net.b, b"seed" * 8, dst=a.router_ip4)), a.frame(udp6(net.a, net.b, b"seed" * 8, dst=a.router_ip6)),
        a.frame(bytes([0x60, 0, 0, 0, 0, 24, 0, 64]) + bytes(udp6(net.a, net.b))[8:40] + b"\x11\x00\x9e\x02ab\x01\x00" + udp[20:36]),
        bytes(Ether(src=a.mac, dst="ff:ff:ff:ff:ff:ff") / ARP(psrc=a.ip4, pdst=a.router_ip4)),
        a.frame(udp4(net.a, net.b, b"seed" * 8))[:12] + struct.pack("!HHHH", 0x88A8, 5, 0x8100, 6) + udp,
    ]


@requirement("RFC 1812 1.3.3: a router accepts anything: thousands of mutated frames, and it forwards on as before")
@pytest.mark.parametrize("seed", range(4))
def test_mutated_frames(net, seed):
    generator = random.Random(seed)
    originals = seeds(net)
    before = net.router.json("show", "ports")["ports"][0]["rx_packets"] if net.router.name == "pktpit" else 0
    count = 2000
    for _ in range(count):
        net.a.wire.send(mutate(generator, generator.choice(originals)))
    fence(net, 4)
    fence(net, 6)
    for host in net.hosts:
        host.wire.drain()
    if net.router.name == "pktpit":
        assert net.router.process.poll() is None
        counted = net.router.json("show", "ports")["ports"][0]["rx_packets"] - before
        # net_af_packet has the kernel keep fragments until they are whole, and drop what ends inside a tag.
        assert counted >= (count if DATAPLANE == "xdp" else count / 2), "each is counted under some name"


@requirement("frames of pure noise behind a right Ethernet header are dropped")
@pytest.mark.parametrize("ethertype", [0x0800, 0x86DD, 0x0806, 0x8100, 0x88A8])
def test_noise(net, ethertype):
    generator = random.Random(ethertype)
    for length in range(1, 300):
        net.a.wire.send(Ether(src=net.a.mac, dst=net.a.router_mac, type=ethertype) / Raw(generator.randbytes(length)))
    fence(net, 4)
    fence(net, 6)


@requirement("RFC 8200 3, RFC 2675: a jumbogram (payload length 0 with an option for more) is not forwarded")
@pytest.mark.kernel_differs("Linux answers with a parameter problem")
def test_jumbogram(net, mark):
    header = bytes(udp6(net.a, net.b))[8:40]
    jumbo = bytes([17, 0, 0xC2, 4]) + struct.pack("!I", 70000)
    with counted_silence(net, "drop_ipv6_length", mark, family=6):
        net.a.send(bytes([0x60, 0, 0, 0, 0, 0, 0, 64]) + header + jumbo + mark + bytes(100))


@requirement("RFC 1812 4.2.2.1: an option whose length runs to the last byte of the longest header is no way out of it")
def test_options_that_end_exactly_with_the_header(net, mark):
    options = bytes([0xDE, 40]) + bytes(38)
    net.a.send(raw_ipv4(udp4(net.a, net.b, mark), options))
    assert bytes(net.b.receive(mark))[34:74] == options
