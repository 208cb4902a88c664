# SPDX-License-Identifier: BSD-3-Clause
"""ICMP and ND redirects: a packet leaves by the port that it came in by, to a next hop that its sender could reach itself."""

import contextlib
import ipaddress

import pytest
from lib.packets import token, udp4, udp6
from lib.waiting import wait_for
from lib.wire import NothingReceived
from scapy.layers.inet import ICMP, IP
from scapy.layers.inet6 import ICMPv6ND_Redirect, ICMPv6NDOptDstLLAddr, ICMPv6NDOptRedirectedHdr, IPv6
from scapy.layers.l2 import Ether

requirement = pytest.mark.requirement
NEXT_HOP_MAC = "02:00:00:00:aa:77"
NET = {"config": {
    "neighbours": [{"address": "10.1.0.77", "mac": NEXT_HOP_MAC, "interface": "p1"},
                   {"address": "fe80::77", "mac": NEXT_HOP_MAC, "interface": "p1"}],
    "routes": [{"prefix": "198.51.100.0/24", "via": "10.1.0.77"},
               {"prefix": "2001:db8:e1::/48", "via": "fe80::77", "interface": "p1"}],
}}
FAMILIES = pytest.mark.parametrize("make, destination", [(udp4, "198.51.100.9"), (udp6, "2001:db8:e1::9")], ids=["ipv4", "ipv6"])


def sender(net, make, number):
    """An address of a's that no other test sends from: a sender gets a few redirects, and then none for a while."""
    address, length = (f"10.1.0.{number}", 24) if make is udp4 else (f"2001:db8:1::{number:x}", 64)
    net.a.namespace.ip("address", "replace", f"{address}/{length}", "dev", "eth0", *([] if make is udp4 else ["nodad"]))
    return address


def is_redirect(frame):
    return (frame[12:14] == b"\x08\x00" and frame[23] == 1 and frame[34] == 5) or (frame[12:14] == b"\x86\xdd" and frame[20] == 58 and frame[54] == 137)


def send_and_pass(net, make, source, destination, count=1):
    """Packets that all reach the next hop. They are given to it by MAC address; their bytes."""
    sent = []
    for _ in range(count):
        mark = token()
        packet = make(net.a, net.a, mark, src=source, dst=destination)
        net.a.send(packet)
        frame = net.a.wire.receive(lambda frame, mark=mark: mark in frame and not is_redirect(frame))
        assert Ether(frame).dst == NEXT_HOP_MAC
        sent.append(bytes(packet))
    return sent


def redirect_to(net, make, source, destination):
    """Sends until one comes: the daemon looks at one packet every tenth of a second."""
    packed = ipaddress.ip_address(source).packed
    place = slice(30, 34) if make is udp4 else slice(38, 54)

    def once():
        send_and_pass(net, make, source, destination)
        with contextlib.suppress(NothingReceived):
            return net.a.wire.receive(lambda frame: is_redirect(frame) and frame[place] == packed, 0.2)
        return None

    return Ether(wait_for(once, f"a redirect to {source}"))


def redirects(net):
    counters = net.router.slow_path()
    return counters["icmp4_redirect"] + counters["icmp6_redirect"]


@requirement("RFC 1812 5.2.7.2: the sender is told of the next hop on its net, and the packet is forwarded")
def test_icmp_redirect(net):
    source = sender(net, udp4, 50)
    frame = redirect_to(net, udp4, source, "198.51.100.9")
    assert (frame.src, frame.dst) == (net.a.router_mac, net.a.mac)
    assert (frame[IP].src, frame[IP].dst) == (net.a.router_ip4, source)
    assert (frame[ICMP].type, frame[ICMP].code, frame[ICMP].gw) == (5, 1, "10.1.0.77")
    quoted = frame[ICMP].payload
    assert (quoted.src, quoted.dst) == (source, "198.51.100.9")


@requirement("RFC 4861 4.5, 8.2: the sender is told of the next hop's link-local and MAC addresses, and the packet is forwarded")
def test_nd_redirect(net):
    source = sender(net, udp6, 0x50)
    frame = redirect_to(net, udp6, source, "2001:db8:e1::9")
    assert frame[IPv6].hlim == 255
    assert frame[IPv6].src.startswith("fe80:") and frame[IPv6].dst == source
    redirect = frame[ICMPv6ND_Redirect]
    assert (redirect.tgt, redirect.dst) == ("fe80::77", "2001:db8:e1::9")
    assert redirect[ICMPv6NDOptDstLLAddr].lladdr == NEXT_HOP_MAC
    assert redirect[ICMPv6NDOptRedirectedHdr].pkt.dst == "2001:db8:e1::9"


@requirement("RFC 1812 4.3.2.8: a sender that does not believe them gets a few, and what is withheld is counted")
@FAMILIES
def test_a_few_each(net, make, destination):
    source = sender(net, make, 51)
    before = redirects(net)
    withheld = lambda: net.router.slow_path()["icmp_redirect_withheld"]  # noqa: E731
    begun = withheld()

    def enough():
        send_and_pass(net, make, source, destination, 5)
        return withheld() > begun + 3

    wait_for(enough, "redirects are withheld")
    assert 1 <= redirects(net) - before <= 9


@requirement("RFC 1812 5.2.7.2: none for what comes from another net, or leaves by another port")
def test_not_to_senders_elsewhere(net):
    before = redirects(net)
    send_and_pass(net, udp4, net.a.behind4, "198.51.100.9", 20)
    send_and_pass(net, udp6, net.a.behind6, "2001:db8:e1::9", 20)
    net.a.send(udp4(net.a, net.b, mark := token(), src=net.a.ip4))
    net.b.receive(mark)
    redirect_to(net, udp4, sender(net, udp4, 52), "198.51.100.9")
    assert redirects(net) == before + 1


@requirement("`icmp.redirects` turns them off and on while packets pass")
@FAMILIES
def test_turned_off(build_net, make, destination):
    net = build_net(config={**NET["config"], "icmp": {"redirects": False}})
    source = sender(net, make, 53)
    send_and_pass(net, make, source, destination, 30)
    net.router.config["icmp"] = {"redirects": True}
    net.router.apply()
    redirect_to(net, make, source, destination)
    net.router.config["icmp"] = {"redirects": False}
    net.router.apply()
    before = redirects(net)
    send_and_pass(net, make, sender(net, make, 54), destination, 30)
    assert redirects(net) == before


@requirement("such packets are forwarded without a daemon, too")
@pytest.mark.xdp("other dataplanes end with their daemon")
def test_kill_9(build_net):
    net = build_net(config=NET["config"])
    redirect_to(net, udp4, sender(net, udp4, 55), "198.51.100.9")
    net.router.kill()
    send_and_pass(net, udp4, net.a.ip4, "198.51.100.9", 10)
    send_and_pass(net, udp6, net.a.ip6, "2001:db8:e1::9", 10)
