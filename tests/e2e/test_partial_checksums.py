# SPDX-License-Identifier: BSD-3-Clause
"""Senders on the same machine leave checksums to a NIC that is none: frames reach a port in generic mode without them."""

import socket

import pytest
from lib.tcp import assert_transfer
from lib.waiting import DEADLINE

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.xdp("other dataplanes want real checksums on veth (docs/dpdk.md)"), pytest.mark.pktpit("generic mode is XDP's"),
              pytest.mark.says_who_decides("each way is tried")]


def assert_one_arrives(sender, receiver, address):
    """A datagram whose next hop nobody has asked for yet: the daemon sends it on. Fails if it is lost, or the checksum is wrong."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with receiver.namespace.entered():
        there = socket.socket(family, socket.SOCK_DGRAM)
    with sender.namespace.entered():
        here = socket.socket(family, socket.SOCK_DGRAM)
    with there, here:
        there.settimeout(DEADLINE)
        there.bind((address, 0))
        here.sendto(b"by the daemon", there.getsockname())
        assert there.recv(100) == b"by the daemon"


@requirement("frames without a checksum leave with the right one, whoever decides about them, and also those that waited for a neighbour")
@pytest.mark.parametrize("forwarding", ["inline", "split", "auto"])
def test_generic_mode(build_net, forwarding):
    net = build_net(start=False, count=2)
    for host in net.hosts:
        net.router.set_forwarding(forwarding, host.port)
        net.router.config["interfaces"][host.port] |= {"xdp_mode": "generic", "generic_vlan": "accept"}
        host.namespace.run("ethtool", "-K", "eth0", "tx", "on")
    net.start()
    assert {port["mode"] for port in net.router.ports().values()} == {"generic"}
    for sender, receiver in ((net.a, net.b), (net.b, net.a)):
        for address in (receiver.ip4, receiver.ip6):
            net.router.namespace.ip("neigh", "flush", "dev", receiver.port)
            assert_one_arrives(sender, receiver, address)
            assert_transfer(sender.namespace, receiver.namespace, address)
