# SPDX-License-Identifier: BSD-3-Clause
"""What must not be forwarded: addresses that do not belong on the wire, other stations' frames, broken headers.
Each is dropped in silence, and Pktpit counts it under its name."""

import pytest
from lib.packets import Raw, assert_silence, checksum, counted, counted_silence, delivered, fence, raw_ipv4, token, udp4, udp6
from lib.waiting import wait_for
from scapy.layers.l2 import Ether

requirement = pytest.mark.requirement


def dropped(net, name, *packets, mark, family=4, **addresses):
    with counted_silence(net, name, mark, len(packets), family=family):
        net.a.send(*packets, **addresses)


@requirement("RFC 1812 5.3.7: a packet with a martian source is not forwarded")
@pytest.mark.parametrize("source", ["0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "224.0.0.1", "239.255.255.255",
                                    "240.0.0.1", "255.255.255.255"])
def test_martian_source(net, source):
    if net.router.name == "kernel" and source in ("0.1.2.3", "240.0.0.1"):
        pytest.skip("Linux takes 0/8 and 240/4 for unicast")
    mark = token()
    dropped(net, "drop_martian_source", udp4(net.a, net.b, mark, src=source), mark=mark)


@requirement("RFC 1812 5.3.7: a packet to a martian destination is not forwarded")
@pytest.mark.parametrize("destination", ["0.1.2.3", "127.0.0.1", "127.1.2.3", "240.0.0.1", "255.255.255.254"])
def test_martian_destination(net, destination):
    if net.router.name == "kernel" and destination[:3] in ("0.1", "240", "255"):
        pytest.skip("Linux takes 0/8 and 240/4 for unicast and says net unreachable")
    mark = token()
    dropped(net, "drop_martian_destination", udp4(net.a, net.b, mark, dst=destination), mark=mark)


@requirement("RFC 3927 2.7: a router MUST NOT forward a packet with a link-local source, nor one to a link-local destination")
@pytest.mark.kernel_differs("Linux forwards 169.254/16 as any other address")
@pytest.mark.parametrize("field", ["src", "dst"])
def test_ipv4_link_local(net, field, mark):
    dropped(net, "drop_link_local", udp4(net.a, net.b, mark, **{field: "169.254.1.2"}), mark=mark)


@requirement("RFC 3927 7: nor does the kernel get it, which would forward it where its own forwarding is on and a route leads there")
@pytest.mark.kernel_differs("Linux forwards 169.254/16 as any other address")
def test_ipv4_link_local_destination_beside_the_kernels_forwarding(build_net):
    net = build_net()
    router = net.topology.router_namespace
    router.sysctl({"net/ipv4/ip_forward": 1})
    router.ip("route", "add", "169.254.0.0/16", "via", net.b.ip4)
    for source in (net.a.ip4, "169.254.7.7"):
        mark = token()
        dropped(net, "drop_link_local", udp4(net.a, net.b, mark, src=source, dst="169.254.1.2"), mark=mark)
    router.ip("address", "add", "169.254.9.1/16", "dev", "p1")  # the router's own are its kernel's, as ever
    wait_for(lambda: "1 received" in net.a.namespace.run("ping", "-c", "1", "-W", "1", "169.254.9.1", check=False).stdout,
             "the router answers by its link-local address")


@requirement("RFC 2644 2: directed broadcasts are not forwarded by default")
def test_directed_broadcast(net, mark):
    dropped(net, "drop_directed_broadcast", udp4(net.a, net.b, mark, dst="10.2.0.255"), mark=mark)


@requirement("RFC 1812 4.2.3.1: nor is what is sent to a net's network address, the obsolete broadcast address")
@pytest.mark.kernel_differs("Linux takes it for a host's since 5.14")
def test_network_address_as_destination(net, mark):
    dropped(net, "drop_directed_broadcast", udp4(net.a, net.b, mark, dst="10.2.0.0"), mark=mark)


@requirement("RFC 1812 5.3.8: nobody but the router sends from the router's addresses, of whatever interface")
@pytest.mark.parametrize("source", ["10.1.0.1", "10.2.0.1", "10.3.0.1"])
def test_own_address_as_source(net, source, mark):
    dropped(net, "drop_own_source", udp4(net.a, net.b, mark, src=source), mark=mark)


@requirement("the same for IPv6")
@pytest.mark.kernel_differs("Linux forwards it")
@pytest.mark.parametrize("source", ["2001:db8:1::1", "2001:db8:2::1"])
def test_own_ipv6_address_as_source(net, source, mark):
    dropped(net, "drop_own_source", udp6(net.a, net.b, mark, src=source), mark=mark, family=6)


@requirement("RFC 1812 5.3.7: a broadcast or network address of a connected net is no source")
@pytest.mark.kernel_differs("Linux looks at the limited broadcast address alone, here")
@pytest.mark.parametrize("source", ["10.1.0.255", "10.1.0.0", "10.3.0.255", "10.3.0.0"])
def test_broadcast_address_as_source(net, source, mark):
    dropped(net, "drop_broadcast_source", udp4(net.a, net.b, mark, src=source), mark=mark)


@requirement("RFC 3021: a /31 has neither broadcast nor network address, a /32 neither: their hosts are hosts")
@pytest.mark.pktpit("addresses of the router's own")
def test_hosts_of_31_and_32_are_no_broadcast_addresses(build_net):
    def narrow(topology):
        interfaces = topology.config()["interfaces"]
        interfaces["p1"]["addresses"] += ["10.9.0.0/31", "10.9.1.9/32"]
        return {"interfaces": interfaces}

    net = build_net(configure=narrow)
    for source, name in (("10.9.0.1", None), ("10.9.1.8", None), ("10.9.0.0", "drop_own_source"), ("10.9.1.9", "drop_own_source")):
        mark = token()
        if name:
            dropped(net, name, udp4(net.a, net.b, mark, src=source), mark=mark)
        else:
            net.a.send(udp4(net.a, net.b, mark, src=source))
            net.b.receive(mark)


@requirement("a source that stops being the router's address is a source as any other")
@pytest.mark.pktpit("addresses of the router's own")
def test_an_address_that_goes_is_a_source_again(build_net):
    net = build_net()
    net.topology.router_namespace.ip("address", "add", "10.7.0.1/24", "dev", "p1")
    for source, name in (("10.7.0.1", "drop_own_source"), ("10.7.0.255", "drop_broadcast_source")):
        wait_for(lambda: net.router.json("lookup", source)["results"][0]["prefix"] == f"{source}/32", "the address is the router's")
        mark = token()
        dropped(net, name, udp4(net.a, net.b, mark, src=source), mark=mark)
    net.topology.router_namespace.ip("address", "del", "10.7.0.1/24", "dev", "p1")
    wait_for(lambda: net.router.json("lookup", "10.7.0.1")["results"][0]["prefix"] is None, "the address is gone")
    for source in ("10.7.0.1", "10.7.0.255"):
        delivered(net.a, net.b, src=source)


@requirement("IEEE 802.3 3.2.3: a frame from a group address, or from the address that it is sent to, is nobody's")
@pytest.mark.kernel_differs("Linux forwards it")
@pytest.mark.parametrize("make, family", [(udp4, 4), (udp6, 6)])
@pytest.mark.parametrize("source", ["01:00:5e:00:00:05", "ff:ff:ff:ff:ff:ff", "03:00:00:00:01:02", "own"])
def test_source_mac_that_nobody_has(net, source, make, family, mark):
    dropped(net, "drop_source_mac", make(net.a, net.b, mark), mark=mark, family=family,
            src=net.a.router_mac if source == "own" else source)


@requirement("RFC 1812 5.3.5.1: the limited broadcast is never forwarded")
def test_limited_broadcast(net, mark):
    dropped(net, "host_broadcast", udp4(net.a, net.b, mark, dst="255.255.255.255"), mark=mark, dst="ff:ff:ff:ff:ff:ff")


@requirement("RFC 1812 5.3.4: a link-layer broadcast or multicast with a unicast destination is not forwarded")
@pytest.mark.parametrize("mac", ["ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01"])
@pytest.mark.parametrize("make, family", [(udp4, 4), (udp6, 6)])
def test_unicast_in_link_layer_broadcast(net, mac, make, family, mark):
    dropped(net, "drop_l2_broadcast", make(net.a, net.b, mark), mark=mark, family=family, dst=mac)


@requirement("RFC 1812 5.2.1: a frame for another station is none of the router's business")
@pytest.mark.parametrize("make, family", [(udp4, 4), (udp6, 6)])
def test_frame_for_another_mac(net, make, family, mark):
    dropped(net, "host_other_mac", make(net.a, net.b, mark), mark=mark, family=family, dst="02:00:00:00:99:99")


@requirement("RFC 1812 5.2.3: multicast is not forwarded as if it were unicast")
def test_multicast_is_not_forwarded(net):
    marks = token()
    with counted_silence(net, "host_multicast", marks, 2, or_more=True):
        net.a.send(udp4(net.a, net.b, marks, dst="239.1.2.3"), dst="01:00:5e:01:02:03")
        net.a.send(udp6(net.a, net.b, marks, dst="ff0e::1:2"), dst="33:33:00:01:00:02")


@requirement("an EtherType that is neither IPv4 nor IPv6 is not forwarded")
@pytest.mark.parametrize("ethertype", [0x88B5, 0x8847, 0x0600, 0x05DC, 0xFFFF])
def test_unknown_ethertype(net, ethertype, mark):
    with counted_silence(net, "host_not_ip", mark):
        net.a.wire.send(Ether(src=net.a.mac, dst=net.a.router_mac, type=ethertype) / Raw(bytes(udp4(net.a, net.b, mark))))


def changed(packet, offset, value):
    data = bytearray(bytes(packet))
    data[offset:offset + len(value)] = value
    return data


def rechecked(data):
    """The packet with its header checksum made right for its (perhaps lying) IHL."""
    header = (data[0] & 15) * 4
    if 20 <= header <= len(data):
        data[10:12] = b"\0\0"
        data[10:12] = checksum(bytes(data[:header])).to_bytes(2, "big")
    return bytes(data)


def as_ipv4(net, data):
    return bytes(Ether(src=net.a.mac, dst=net.a.router_mac, type=0x0800)) + bytes(data)


def as_ipv6(net, data):
    return bytes(Ether(src=net.a.mac, dst=net.a.router_mac, type=0x86DD)) + bytes(data)


def frame_dropped(net, name, frame, mark, family=4):
    with counted_silence(net, name, mark, family=family):
        net.a.wire.send(frame)


@requirement("RFC 1812 5.2.2 (4): version must be 4")
@pytest.mark.parametrize("version", [0, 3, 5, 6, 15])
def test_ipv4_bad_version(net, version, mark):
    data = rechecked(changed(udp4(net.a, net.b, mark), 0, bytes([version << 4 | 5])))
    frame_dropped(net, "drop_ipv4_version", as_ipv4(net, data), mark)


@requirement("RFC 1812 5.2.2 (5): header length must be at least 20 bytes, and inside the packet")
@pytest.mark.parametrize("words", [0, 1, 4, 15])
def test_ipv4_bad_header_length(net, words, mark):
    data = rechecked(changed(udp4(net.a, net.b, mark), 0, bytes([0x40 | words])))
    frame_dropped(net, "drop_ipv4_header_length", as_ipv4(net, data), mark)


@requirement("RFC 1812 5.2.2 (1), (5): total length must hold the header and be held by the frame")
@pytest.mark.parametrize("length", [0, 10, 19, 61, 200, 65535])
def test_ipv4_bad_total_length(net, length, mark):
    data = rechecked(changed(udp4(net.a, net.b, mark + bytes(20)), 2, length.to_bytes(2, "big")))
    frame_dropped(net, "drop_ipv4_length", as_ipv4(net, data), mark)


@requirement("RFC 1812 5.2.2 (2): header checksum must be right")
@pytest.mark.parametrize("flip", [0x0001, 0x8000, 0xFFFF])
def test_ipv4_bad_checksum(net, flip, mark):
    packet = bytes(udp4(net.a, net.b, mark, id=99))
    wrong = (int.from_bytes(packet[10:12], "big") ^ flip).to_bytes(2, "big")
    frame_dropped(net, "drop_ipv4_checksum", as_ipv4(net, changed(packet, 10, wrong)), mark)


@requirement("RFC 8200 3: version must be 6")
@pytest.mark.parametrize("version", [0, 4, 5, 7, 15])
def test_ipv6_bad_version(net, version, mark):
    data = changed(udp6(net.a, net.b, mark), 0, bytes([version << 4]))
    frame_dropped(net, "drop_ipv6_version", as_ipv6(net, data), mark, 6)


@requirement("RFC 8200 3: payload length must be held by the frame")
@pytest.mark.parametrize("length", [21, 100, 65535])
def test_ipv6_bad_payload_length(net, length, mark):
    data = changed(udp6(net.a, net.b, mark), 4, length.to_bytes(2, "big"))
    frame_dropped(net, "drop_ipv6_length", as_ipv6(net, data), mark, 6)


@requirement("RFC 4291 2.5.3, 2.5.2, 2.7: loopback, unspecified and multicast are no sources on a wire")
@pytest.mark.parametrize("source", ["::1", "::", "ff02::1", "ff0e::1"])
def test_ipv6_martian_source(net, source, mark):
    dropped(net, "drop_martian_source", udp6(net.a, net.b, mark, src=source), mark=mark, family=6)


@requirement("RFC 4291 2.5.3: a packet to loopback is never forwarded")
@pytest.mark.parametrize("destination", ["::1", "::"])
def test_ipv6_martian_destination(net, destination, mark):
    if net.router.name == "kernel" and destination == "::":
        pytest.skip("Linux answers the unspecified destination with an error")
    dropped(net, "drop_martian_destination", udp6(net.a, net.b, mark, dst=destination), mark=mark, family=6)


@requirement("RFC 4291 2.5.6: link-local destinations stay on their link")
def test_ipv6_link_local_destination(net, mark):
    net.a.send(udp6(net.a, net.b, mark, dst="fe80::1234"))
    fence(net, 6)
    assert not net.b.wire.waiting(lambda frame: mark in frame) and not net.c.wire.waiting(lambda frame: mark in frame)


@requirement("a frame that ends inside a header is dropped, whatever the length; the router lives on")
@pytest.mark.parametrize("make, family", [(udp4, 4), (udp6, 6)])
def test_truncated_frames(net, make, family, mark):
    whole = net.a.frame(make(net.a, net.b, mark))
    headers = 14 + (20 if family == 4 else 40)
    with counted(net, "drop_truncated", headers - 15), counted(net, f"drop_ipv{family}_length", len(whole) - headers):
        for length in range(15, len(whole)):
            net.a.wire.send(whole[:length])
        assert_silence(net, mark, family)


@requirement("RFC 791: truncated options and unknown garbage behind a valid start are no way through either")
def test_ipv4_options_beyond_the_frame(net, mark):
    packet = raw_ipv4(udp4(net.a, net.b, mark), b"\x01" * 36)
    with counted(net, "drop_ipv4_header_length", 36), counted(net, "drop_ipv4_length", len(packet) - 56):
        net.a.send(*[packet[:length] for length in range(20, len(packet))])
        assert_silence(net, mark)
