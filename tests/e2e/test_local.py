# SPDX-License-Identifier: BSD-3-Clause
"""The router's own addresses: its kernel stack answers for them, untouched by what forwards."""

import pytest
from lib.packets import IP, UDP, counted, icmp_answer
from lib.tcp import assert_transfer, connect, serve_once
from lib.waiting import DEADLINE
from scapy.layers.inet import ICMP
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6ND_RA, ICMPv6NDOptPrefixInfo, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether
from scapy.packet import Raw

requirement = pytest.mark.requirement


@requirement("RFC 826: ARP requests for the router's address are answered with the port's MAC address")
def test_arp_is_answered(net):
    net.a.wire.send(Ether(src=net.a.mac, dst="ff:ff:ff:ff:ff:ff")
                    / ARP(op=1, hwsrc=net.a.mac, psrc=net.a.ip4, pdst=net.a.router_ip4))
    reply = Ether(net.a.wire.receive(lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2"))
    assert (reply.src, reply.dst) == (net.a.router_mac, net.a.mac)
    assert (reply[ARP].hwsrc, reply[ARP].psrc) == (net.a.router_mac, net.a.router_ip4)


@requirement("RFC 4861 7.2.4: neighbour solicitations for the router's address are answered")
def test_neighbour_solicitation_is_answered(net):
    target = net.a.router_ip6
    net.a.wire.send(Ether(src=net.a.mac, dst="33:33:ff:00:00:01") / IPv6(src=net.a.ip6, dst="ff02::1:ff00:1", hlim=255)
                    / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=net.a.mac))
    reply = Ether(net.a.wire.receive(lambda frame: frame[20:21] == b"\x3a" and frame[54:55] == b"\x88"))
    assert reply.src == net.a.router_mac and reply[ICMPv6ND_NA].tgt == target and reply[ICMPv6ND_NA].S == 1
    assert reply[ICMPv6ND_NA].R == 1, "RFC 4861 7.2.4: a router MUST set the Router flag"


@requirement("RFC 4861 6.2.1, RFC 4862: a router does not configure itself from router advertisements")
def test_router_advertisement_is_not_believed(net):
    net.a.wire.send(Ether(src=net.a.mac, dst="33:33:00:00:00:01")
                    / IPv6(src="fe80::ff:fe00:102", dst="ff02::1", hlim=255) / ICMPv6ND_RA(routerlifetime=1800)
                    / ICMPv6NDOptPrefixInfo(prefix="2001:db8:bad::", prefixlen=64, L=1, A=1))
    net.a.namespace.run("ping", "-c", "1", "-W", "30", net.a.router_ip6)  # the stack has dealt with what came before
    router = net.topology.router_namespace
    assert "2001:db8:bad" not in router.ip("-6", "address").stdout
    assert "proto ra" not in router.ip("-6", "route").stdout


@requirement("RFC 4291 2.8: a router is a member of the all-routers group of each of its links")
def test_ping_all_routers(net):
    assert "1 received" in net.a.namespace.run("ping", "-c", "1", "-W", "2", "ff02::2%eth0", check=False).stdout


@requirement("RFC 1812 4.3.3.6: the router answers echo requests to each of its addresses")
@pytest.mark.parametrize("which", ["router_ip4", "router_ip6"])
@pytest.mark.parametrize("port", ["a", "b"])
def test_ping_router(net, which, port):
    answer = net.a.namespace.run("ping", "-c", "2", "-i", "0.05", "-W", "30", getattr(getattr(net, port), which)).stdout
    assert "2 received" in answer


@requirement("RFC 4291 2.6.1: packets to the subnet-router anycast address of each of its links are the router's; it answers")
@pytest.mark.parametrize("port", ["a", "b"])
def test_subnet_router_anycast(net, port):
    anycast = getattr(net, port).router_ip6.rsplit("::", 1)[0] + "::"
    with counted(net, "host_local", 2):
        answer = net.a.namespace.run("ping", "-c", "2", "-i", "0.05", "-W", "30", anycast).stdout
    assert "2 received" in answer


@requirement("RFC 4443 4.2: echo requests to the router's link-local address are answered")
def test_ping_link_local(net):
    router = net.a.namespace.run("ping", "-c", "1", "-W", "30", "ff02::1%eth0").stdout
    assert "1 received" in router
    answer = net.a.namespace.run("ping", "-c", "1", "-W", "30", "fe80::ff:fe00:101%eth0").stdout
    assert "1 received" in answer


@requirement("hosts reach one another through the router with the tools that people use")
@pytest.mark.parametrize("which", ["ip4", "ip6"])
def test_ping_across(net, which):
    answer = net.a.namespace.run("ping", "-c", "3", "-i", "0.05", "-W", "30", getattr(net.b, which)).stdout
    assert "3 received" in answer and ("ttl=63" in answer)


@requirement("RFC 1812 4.3.3.4: the router is a hop that traceroute shows")
@pytest.mark.parametrize("which, hop", [("ip4", "router_ip4"), ("ip6", "router_ip6")])
def test_traceroute(net, which, hop):
    shown = net.a.namespace.run("traceroute", "-n", "-q", "1", "-w", "2", "-m", "4", getattr(net.b, which)).stdout
    hops = [line.split()[1] for line in shown.splitlines()[1:]]
    assert hops == [getattr(net.a, hop), getattr(net.b, which)]


@requirement("RFC 1812 2.2.8: management traffic to the router's address reaches its own stack")
@pytest.mark.parametrize("which", ["router_ip4", "router_ip6"])
@pytest.mark.parametrize("port", ["a", "b"])
def test_tcp_to_the_router(net, which, port):
    address = getattr(getattr(net, port), which)
    tcp_port, thread = serve_once(net.topology.router_namespace, address, lambda peer, data: peer.sendall(data.upper()))
    with connect(net.a.namespace, address, tcp_port) as client:
        client.sendall(b"show version")
        assert client.recv(100) == b"SHOW VERSION"
    thread.join(DEADLINE)


@requirement("TCP crosses the router whole: four megabytes, byte for byte")
@pytest.mark.parametrize("which", ["ip4", "ip6"])
def test_tcp_across(net, which):
    assert_transfer(net.a.namespace, net.b.namespace, getattr(net.b, which))


@requirement("RFC 1812 4.2.2.7, RFC 8200 4.5: fragments to the router's address are reassembled by its stack")
@pytest.mark.parametrize("which", ["router_ip4", "router_ip6"])
@pytest.mark.parametrize("port", ["a", "b"])
@pytest.mark.not_dpdk("net_af_packet has the kernel put fragments together before it takes them")
def test_fragmented_ping_to_the_router(net, which, port):
    address = getattr(getattr(net, port), which)
    answer = net.a.namespace.run("ping", "-c", "2", "-i", "0.05", "-W", "30", "-s", "5000", address).stdout
    assert "2 received" in answer


@requirement("RFC 1122 3.2.2.1: UDP to the router where nobody listens: port unreachable from its stack")
def test_port_unreachable_from_the_router(net, mark):
    net.a.send(IP(src=net.a.ip4, dst=net.a.router_ip4) / UDP(sport=4000, dport=9) / Raw(mark))
    error = icmp_answer(net.a, mark)
    assert (error[ICMP].type, error[ICMP].code, error[IP].src) == (3, 3, net.a.router_ip4)
