# SPDX-License-Identifier: BSD-3-Clause
"""Senders on the same machine leave checksums to a NIC that is none: frames reach the ports without them, as from every container and guest."""

import socket

import pytest
from lib.kernel_parts import need_parts
from lib.tcp import assert_transfer
from lib.waiting import DEADLINE

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.xdp("other dataplanes want real checksums on veth (docs/dpdk.md)"), pytest.mark.pktpit("ways and modes are XDP's"),
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


def ordinary(*hosts):
    """As the kernel makes veth pairs: all offloads on. GRO is what the topology has set."""
    for host in hosts:
        host.namespace.run("ethtool", "-K", "eth0", "tx", "on", "tso", "on", "gso", "on")


@requirement("hosts with checksum and segmentation offload on, as every veth has them: TCP and UDP of both families arrive whole, inline, split and auto, "
             "by redirects (GRO on) and by the kernel's stack (GRO off)")
@pytest.mark.parametrize("gro", ["on", "off"])
@pytest.mark.parametrize("forwarding", ["inline", "split", "auto"])
def test_native_mode(build_net, forwarding, gro):
    if gro == "off":
        need_parts("redirect_targets")  # before Linux 6.3 nobody knows that the device takes no redirected frames
    net = build_net(start=False, count=2)
    net.router.set_forwarding(forwarding)
    ordinary(*net.hosts)
    for host in net.hosts:
        host.namespace.run("ethtool", "-K", "eth0", "gro", gro)
    net.start()
    assert {port["mode"] for port in net.router.ports().values()} == {"native"}
    for sender, receiver in ((net.a, net.b), (net.b, net.a)):
        for address in (receiver.ip4, receiver.ip6):
            net.router.namespace.ip("neigh", "flush", "dev", receiver.port)
            assert_one_arrives(sender, receiver, address)
            assert_transfer(sender.namespace, receiver.namespace, address)


@requirement("frames longer than a page, whose segments lie in fragments")
def test_long_frames(build_net):
    need_parts("redirect_targets")  # before Linux 6.3 no redirect in native mode takes a frame in fragments
    net = build_net(start=False, count=2, mtus={"a": 9000, "b": 9000})
    ordinary(*net.hosts)
    net.start()
    for sender, receiver in ((net.a, net.b), (net.b, net.a)):
        for address in (receiver.ip4, receiver.ip6):
            assert_transfer(sender.namespace, receiver.namespace, address)
