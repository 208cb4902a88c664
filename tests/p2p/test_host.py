# SPDX-License-Identifier: BSD-3-Clause
"""What the router says in its own name: ARP, neighbour discovery, ping, ICMP errors. Payloads of these wait in the peer
memory like all others."""

import pytest
from lib.host import error_about, macs, ping, token, transit
from lib.packets import packed
from lib.routes import host_address
from lib.topology import PORTS
from lib.traffic import SENDER
from guests.waiting import wait_for
from scapy.layers.inet6 import ICMPv6ND_NA, ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether

requirement = pytest.mark.requirement
# Unicast addresses all over the globally routable space, of which a table covers some: the documentation's first.
ANYWHERE = {4: [int.from_bytes(packed("203.0.113.9"), "big"), *(first << 24 | 0x010109 for first in range(11, 100))],
            6: [int.from_bytes(packed("2001:db9::9"), "big"), *(first << 112 | 9 for first in range(0x3000, 0x3fff))]}
UDP = 17
each_port = pytest.mark.parametrize("port", range(PORTS))
each_family = pytest.mark.parametrize("family", [4, 6])
each_size = pytest.mark.parametrize("size", [16, 600, 1400])


@requirement("RFC 826: ARP requests for the router's address are answered with the port's MAC address")
@each_port
def test_arp_is_answered(router, machine, port):
    ours, theirs = macs(port)
    asked = (Ether(src=theirs, dst="ff:ff:ff:ff:ff:ff")
             / ARP(op=1, hwsrc=theirs, psrc=host_address(4, port, SENDER), pdst=host_address(4, port, 1)))
    machine.wires[port].send(bytes(asked).ljust(60, b"\0"))
    reply = Ether(machine.wires[port].receive(lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\2"))
    assert (reply.src, reply.dst) == (ours, theirs)
    assert (reply[ARP].hwsrc, reply[ARP].psrc) == (ours, host_address(4, port, 1))


@requirement("RFC 4861 7.2.4: neighbour solicitations for the router's address are answered")
@each_port
def test_neighbour_solicitation_is_answered(router, machine, port):
    ours, theirs = macs(port)
    target = host_address(6, port, 1)
    machine.wires[port].send(bytes(Ether(src=theirs, dst="33:33:ff:00:00:01")
                                   / IPv6(src=host_address(6, port, SENDER), dst="ff02::1:ff00:1", hlim=255)
                                   / ICMPv6ND_NS(tgt=target) / ICMPv6NDOptSrcLLAddr(lladdr=theirs)))
    reply = Ether(machine.wires[port].receive(lambda frame: frame[20:21] == b"\x3a" and frame[54:55] == b"\x88"))
    assert reply.src == ours and reply[ICMPv6ND_NA].tgt == target and reply[ICMPv6ND_NA].S == 1


@requirement("RFC 1812 4.3.3.6, RFC 4443 4.2: the router answers echo requests with the data it was sent")
@each_size
@each_family
@each_port
def test_ping_is_answered(router, machine, port, family, size):
    assert ping(machine, port, family, size)


@requirement("RFC 1812 5.3.1, RFC 4443 3.3: TTL 1 in transit: time exceeded goes back, and the frame no further")
@each_size
@each_family
@each_port
def test_time_exceeded(router, machine, bench, port, family, size):
    network, _ = next(iter(bench.full.table.routes[family]))
    mark = token()
    sent = transit(port, family, network.to_bytes(4 if family == 4 else 16, "big"), 1, mark.ljust(size, b"."))
    machine.wires[port].send(sent)
    assert error_about(machine, port, family, sent) == ((11, 0) if family == 4 else (3, 0))
    for wire in machine.wires:
        wire.pull()
        assert not any(mark in frame and frame[23 if family == 4 else 20] == UDP for frame in wire.pending)


@requirement("RFC 1812 5.2.7.1, RFC 4443 3.1: no route: destination unreachable, code 0, goes back")
@each_size
@each_family
@each_port
def test_no_route(router, machine, bench, port, family, size):
    nowhere = bench.full.oracle.uncovered(family, ANYWHERE[family]).to_bytes(4 if family == 4 else 16, "big")
    sent = transit(port, family, nowhere, 64, token().ljust(size, b"."))
    machine.wires[port].send(sent)
    assert error_about(machine, port, family, sent) == ((3, 0) if family == 4 else (1, 0))


@requirement("a frame of two VLAN tags around a packet as long as the MTU is taken, and one that is longer is not")
@pytest.mark.pktpit("Linux counts otherwise")
def test_two_tags_fit(router, machine):
    def too_long():
        return router.counters()["ports"]["p0"]["nic"]["rx_too_long"]

    ours, theirs = macs(0)
    head = bytes(Ether(dst=ours, src=theirs, type=0x88A8)) + b"\0\x64\x81\0\0\xc8\x08\0"
    before, unknown = too_long(), router.verdicts().get("host_unknown_vlan", 0)
    machine.wires[0].send(head + bytes(1500))
    wait_for(lambda: router.verdicts().get("host_unknown_vlan", 0) == unknown + 1, "the frame has been looked at")
    assert too_long() == before
    machine.wires[0].send(head + bytes(1501))
    wait_for(lambda: too_long() == before + 1, "the longer one is counted as too long")
