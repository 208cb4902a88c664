# SPDX-License-Identifier: BSD-3-Clause
"""Frames larger than a page, which XDP sees in fragments."""

import random

import pytest
from lib.packets import IP, Raw, icmp_answer, token, udp4, udp6
from lib.tcp import assert_transfer

requirement = pytest.mark.requirement
pytestmark = pytest.mark.not_model("modelled packet memory has slots of 2,048 bytes")
NET = {"mtus": {"a": 9000, "b": 9000}}


@requirement("RFC 1812 2.2.7: frames up to the link's MTU cross, payload untouched")
@pytest.mark.parametrize("make, header", [(udp4, 28), (udp6, 48)])
@pytest.mark.parametrize("size", [1501, 3506, 3507, 4096, 4097, 8192, 8999, 9000])
def test_jumbo_frames_cross(net, make, header, size):
    random.seed(size)
    mark = token()
    sent = bytes(make(net.a, net.b, mark + random.randbytes(size - header - len(mark))))
    net.a.send(sent)
    frame = net.b.wire.receive(lambda frame: mark in frame)
    received = frame[14:14 + size]
    assert received[20 if make is udp4 else 8:] == sent[20 if make is udp4 else 8:]
    assert frame[22 if make is udp4 else 21] == 63


@requirement("RFC 1191, 8201: from a jumbo link to an ordinary one: too big, with the ordinary MTU")
def test_jumbo_frame_to_an_ordinary_link(net, mark):
    net.a.send(udp4(net.a, net.c, mark + bytes(8000), flags="DF"))
    error = bytes(icmp_answer(net.a, mark))
    assert (error[34], error[35], error[40:42]) == (3, 4, (1500).to_bytes(2, "big"))
    mark = token()
    net.a.send(udp6(net.a, net.c, mark + bytes(8000)))
    error = bytes(icmp_answer(net.a, mark))
    assert (error[54], error[58:62]) == (2, (1500).to_bytes(4, "big"))


@requirement("RFC 791 3.2: a jumbo packet without DF is cut into ordinary fragments that reassemble to the same")
def test_jumbo_packet_is_fragmented(net):
    random.seed(9)
    payload = random.randbytes(8900)
    net.a.send(IP(src=net.a.behind4, dst=net.c.behind4, id=9, proto=253) / Raw(payload))
    whole, have = bytearray(len(payload)), 0
    while have < len(payload):
        frame = net.c.wire.receive(lambda frame: frame[12:14] == b"\x08\x00" and frame[23] == 253)
        packet = IP(frame[14:])
        assert packet.len <= 1500
        body = frame[34:14 + packet.len]
        whole[packet.frag * 8:packet.frag * 8 + len(body)] = body
        have += len(body)
    assert bytes(whole) == payload


@requirement("path-MTU discovery as a host's own stack does it: ping with DF learns the MTU")
@pytest.mark.parametrize("which, size", [("ip4", 8000), ("ip6", 8000)])
def test_host_learns_the_path_mtu(net, which, size):
    destination = getattr(net.c, which)
    shown = net.a.namespace.run("ping", "-M", "do", "-c", "2", "-i", "0.1", "-W", "1", "-s", size, destination, check=False)
    assert "mtu" in (shown.stdout + shown.stderr).lower()
    family = "-6" if ":" in destination else "-4"
    assert "mtu 1500" in net.a.namespace.ip(family, "route", "get", destination).stdout


@requirement("RFC 1191, 8201: a TCP connection from a jumbo link over an ordinary one adapts and gets through")
@pytest.mark.parametrize("which", ["ip4", "ip6"])
def test_tcp_adapts_to_the_path_mtu(net, which):
    assert_transfer(net.a.namespace, net.c.namespace, getattr(net.c, which))
    assert_transfer(net.a.namespace, net.b.namespace, getattr(net.b, which))
