# SPDX-License-Identifier: BSD-3-Clause
"""VLAN tags, one and two, on the way in and out. The kernel may have no VLAN devices: neighbours are static.
test_vlan_devices.py has hosts that are Linux in their VLANs."""

import copy
import struct

import pytest
from lib.packets import assert_silence, counted_silence, token, udp4, udp6

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("this kernel has no VLAN devices")


def vlans(topology):
    b = topology.b
    return {
        "interfaces": {
            **topology.config()["interfaces"],
            "p2.100": {"parent": "p2", "vlan": [100], "addresses": ["10.20.0.1/24", "2001:db8:20::1/64"]},
            "p2.stack": {"parent": "p2", "vlan": [1000, 7], "vlan_protocol": "802.1ad", "addresses": ["10.21.0.1/24", "2001:db8:21::1/64"]},
        },
        "neighbours": [
            {"address": "10.20.0.2", "mac": b.mac, "interface": "p2.100"},
            {"address": "2001:db8:20::2", "mac": b.mac, "interface": "p2.100"},
            {"address": "10.21.0.2", "mac": b.mac, "interface": "p2.stack"},
            {"address": "2001:db8:21::2", "mac": b.mac, "interface": "p2.stack"},
        ],
        "routes": [
            {"prefix": "198.51.100.0/24", "next_hops": [{"via": "10.20.0.2"}]},
            {"prefix": "2001:db8:e1::/48", "next_hops": [{"via": "2001:db8:20::2"}]},
            {"prefix": "198.51.101.0/24", "next_hops": [{"via": "10.21.0.2"}]},
            {"prefix": "2001:db8:e2::/48", "next_hops": [{"via": "2001:db8:21::2"}]},
        ],
    }


NET = {"configure": vlans}
NO_PROTOCOL = pytest.mark.not_dpdk("net_af_packet takes tags off and does not say of which protocol they were")
SINGLE = struct.pack("!HH", 0x8100, 100)
DOUBLE = struct.pack("!HHHH", 0x88A8, 1000, 0x8100, 7)


def tagged(host, packet, tags):
    frame = host.frame(packet)
    return frame[:12] + tags + frame[12:]


@requirement("IEEE 802.1Q: out of a VLAN interface the frame carries its tag or tags")
@pytest.mark.parametrize("make, destination, tags", [
    (udp4, "198.51.100.9", SINGLE), (udp6, "2001:db8:e1::9", SINGLE),
    (udp4, "198.51.101.9", DOUBLE), (udp6, "2001:db8:e2::9", DOUBLE)])
def test_untagged_in_tagged_out(net, make, destination, tags, mark):
    sent = bytes(make(net.a, net.b, mark, dst=destination))
    net.a.send(sent)
    frame = net.b.wire.receive(lambda frame: mark in frame)
    assert frame[12:12 + len(tags)] == tags
    rest = frame[12 + len(tags):]
    assert rest[:2] == (b"\x08\x00" if make is udp4 else b"\x86\xdd")
    assert rest[2 + 12:2 + len(sent)] == sent[12:]


@requirement("IEEE 802.1Q: frames with the tags of a VLAN interface come in by it, and the tags come off")
@pytest.mark.parametrize("make", [udp4, udp6])
@pytest.mark.parametrize("tags", [SINGLE, DOUBLE])
def test_tagged_in_untagged_out(net, make, tags, mark):
    sent = bytes(make(net.b, net.a, mark))
    net.b.wire.send(tagged(net.b, sent, tags))
    frame = net.a.wire.receive(lambda frame: mark in frame)
    assert frame[12:14] == (b"\x08\x00" if make is udp4 else b"\x86\xdd")
    assert frame[14 + 12:14 + len(sent)] == sent[12:] and frame[22 if make is udp4 else 21] == 63


@requirement("between two VLANs of one port the tags are exchanged")
@pytest.mark.parametrize("incoming, destination, outgoing", [
    (SINGLE, "198.51.101.9", DOUBLE), (DOUBLE, "198.51.100.9", SINGLE), (SINGLE, "198.51.100.9", SINGLE)])
def test_tagged_in_tagged_out(net, incoming, destination, outgoing, mark):
    net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark, dst=destination), incoming))
    frame = net.b.wire.receive(lambda frame: mark in frame)
    assert frame[12:12 + len(outgoing) + 2] == outgoing + b"\x08\x00"


@requirement("IEEE 802.1Q 6.9: VID 0 is a priority tag: the frame belongs to the untagged interface")
def test_priority_tag_is_untagged(net, mark):
    net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark), struct.pack("!HH", 0x8100, 5 << 13)))
    assert net.a.wire.receive(lambda frame: mark in frame)[12:14] == b"\x08\x00"


@requirement("IEEE 802.1Q: the priority bits of a tag do not choose the VLAN")
def test_priority_bits_do_not_choose_the_vlan(net, mark):
    net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark), struct.pack("!HH", 0x8100, 7 << 13 | 100)))
    net.a.wire.receive(lambda frame: mark in frame)


@requirement("frames of a VLAN that is not configured are not forwarded")
@pytest.mark.parametrize("tags", [
    struct.pack("!HH", 0x8100, 101), struct.pack("!HH", 0x8100, 4095), struct.pack("!HHHH", 0x8100, 100, 0x8100, 7),
    struct.pack("!HHHH", 0x88A8, 1000, 0x8100, 8), struct.pack("!HH", 0x88A8, 1000),
    pytest.param(struct.pack("!HH", 0x88A8, 100), id="802.1ad tag of an 802.1Q interface", marks=NO_PROTOCOL),
    pytest.param(struct.pack("!HHHH", 0x8100, 1000, 0x8100, 7), id="802.1Q outer tag of an 802.1ad interface", marks=NO_PROTOCOL),
    pytest.param(struct.pack("!HHHH", 0x88A8, 1000, 0x88A8, 7), id="802.1ad inner tag")])
def test_unknown_vlan(net, tags, mark):
    with counted_silence(net, "host_unknown_vlan", mark):
        net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark), tags))


@requirement("more than two tags are dropped and counted as such")
def test_three_tags(net, mark):
    with counted_silence(net, "drop_vlan_depth", mark):
        net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark), SINGLE * 3))


@requirement("a frame that ends inside a tag is dropped as truncated")
@pytest.mark.xdp("the kernel takes tags off, and drops such a frame, before net_af_packet has it")
@pytest.mark.parametrize("length", [15, 16, 17, 19, 20])
def test_truncated_tag(net, length, mark):
    frame = tagged(net.b, udp4(net.b, net.a, mark), DOUBLE)[:length]
    if length < 20:
        with counted_silence(net, "drop_truncated", mark):
            net.b.wire.send(frame)
    else:
        net.b.wire.send(frame)
        assert_silence(net, mark)


@requirement("RFC 1812 5.3.1: time exceeded goes back by the VLAN that the packet came from, tagged")
@pytest.mark.parametrize("tags, source, router", [(SINGLE, "198.51.100.9", "10.20.0.1"), (DOUBLE, "198.51.101.9", "10.21.0.1")])
def test_error_goes_back_tagged(net, tags, source, router, mark):
    net.b.wire.send(tagged(net.b, udp4(net.b, net.a, mark, src=source, ttl=1), tags))
    error = net.b.wire.receive(lambda frame: mark in frame)
    assert error[12:12 + len(tags)] == tags
    packet = error[14 + len(tags):]
    assert packet[20] == 11 and packet[12:16] == bytes(map(int, router.split(".")))


@requirement("a reload that is refused for a port that cannot attach leaves a VLAN interface that was to move where it is")
@pytest.mark.xdp("XDP modes")
def test_refused_reload_keeps_a_vlan_interface(build_net):
    net = build_net(configure=vlans)
    # A device type without native XDP.
    net.topology.router_namespace.ip("link", "add", "spare", "link", net.b.port, "type", "macvlan", "mode", "private")
    config = copy.deepcopy(net.router.config)
    config["interfaces"]["spare"] = {"addresses": ["10.99.0.1/24"], "xdp_mode": "native"}
    config["interfaces"]["p2.100"]["vlan"] = [200]
    running = net.router.json("show", "config")
    done = net.router.apply(config, check=False)
    assert done.returncode == 1 and "spare" in done.stderr and "nothing was changed" in done.stderr
    assert net.router.json("show", "config") == running
    test_untagged_in_tagged_out(net, udp4, "198.51.100.9", SINGLE, token())
    test_untagged_in_tagged_out(net, udp6, "2001:db8:e1::9", SINGLE, token())
    addresses = net.topology.router_namespace.ip("-json", "address", "show", "dev", "spare").stdout
    assert "10.99.0.1" not in addresses
