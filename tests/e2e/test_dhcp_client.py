# SPDX-License-Identifier: BSD-3-Clause
"""A DHCP client of the host on a port: what the server answers goes to an address that nobody has yet, and is the host's all the same."""

import pytest
from lib.packets import token
from lib.waiting import wait_for
from lib.wire import Wire
from scapy.layers.dhcp import BOOTP, DHCP
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has the port's frames anyway")


@pytest.fixture
def net(build_net):
    """p2 has no IPv4 address; all that is known of the world is behind c."""
    net = build_net(configure=lambda topology: {"routes": [{"prefix": "0.0.0.0/0", "via": topology.c.ip4}]})
    net.router.config["interfaces"]["p2"]["addresses"] = [net.b.router_ip6 + "/64"]
    net.router.apply()
    return net


@pytest.fixture
def client(net):
    """Hears what comes to the host by p2, as a DHCP client does."""
    wire = Wire(net.topology.router_namespace, "p2")
    yield wire
    wire.close()


def answer(net, mark, of, message="offer"):
    """From the server, which is b, to the client with the MAC address `of`, unicast."""
    return (Ether(src=net.b.mac, dst=net.b.router_mac) / IP(src=net.b.ip4, dst="10.2.0.50") / UDP(sport=67, dport=68)
            / BOOTP(op=2, yiaddr="10.2.0.50", siaddr=net.b.ip4, chaddr=bytes.fromhex(of.replace(":", "")))
            / DHCP(options=[("message-type", message), "end"]) / Raw(mark))


@requirement("RFC 2131 4.1: an OFFER and an ACK by unicast to the port's MAC address and to the address that is offered are the host's, by no route")
def test_answers_are_the_hosts(net, client):
    for message in ("offer", "ack"):
        mark = token()
        net.b.wire.send(answer(net, mark, net.b.router_mac, message))
        client.receive(lambda frame, mark=mark: mark in frame)
        assert not net.c.wire.waiting(lambda frame, mark=mark: mark in frame)
    wait_for(lambda: net.router.counters().get("host_dhcp", 0) == 2, "both are counted")


@requirement("what a server answers to clients behind this router is forwarded, though the port that it comes in by has no address")
def test_answers_to_others_are_forwarded(net):
    mark = token()
    net.b.wire.send(answer(net, mark, "02:00:00:00:77:77"))
    net.c.wire.receive(lambda frame: mark in frame)
    assert net.router.counters().get("host_dhcp", 0) == 0


@requirement("once the port has an address it is the routes that say what is the host's")
def test_with_an_address(net):
    net.topology.router_namespace.ip("address", "add", "10.9.0.1/24", "dev", "p2")
    wait_for(lambda: "10.9.0.1/24" in str(net.router.json("show", "ports")), "the address is known")
    mark = token()
    net.b.wire.send(answer(net, mark, net.b.router_mac))
    net.c.wire.receive(lambda frame: mark in frame)
    assert net.router.counters().get("host_dhcp", 0) == 0
