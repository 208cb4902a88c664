# SPDX-License-Identifier: BSD-3-Clause
"""Addresses of interfaces across reloads and restarts: those of the configuration are there, those of others stay."""

import pytest
from lib.packets import both_ways, udp4, udp6, wait_for_crossing
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")


def addresses(net, family="-4"):
    """Of port p2, without those that the kernel makes."""
    lines = net.topology.router_namespace.ip(family, "-o", "address", "show", "dev", "p2", "scope", "global").stdout.splitlines()
    return {line.split()[3] for line in lines}


def shown(net):
    port = next(port for port in net.router.json("show", "ports")["ports"] if port["name"] == "p2")
    return {address for address in port["addresses"] if not address.startswith("fe80:")}


@pytest.fixture
def net(build_net):
    return build_net()


def give(net, *given):
    net.router.config["interfaces"]["p2"]["addresses"] = list(given)


@requirement("another address of the same net by a reload: it is there, with those that others have set, and hosts are reached from it")
def test_renumbered_within_its_net(net):
    router = net.topology.router_namespace
    router.ip("address", "add", "10.2.0.100/24", "dev", "p2")
    give(net, "10.2.0.7/24", "2001:db8:2::7/64")
    net.router.apply()
    assert addresses(net) == {"10.2.0.7/24", "10.2.0.100/24"}
    assert addresses(net, "-6") == {"2001:db8:2::7/64"}
    wait_for(lambda: shown(net) == {"10.2.0.7/24", "10.2.0.100/24", "2001:db8:2::7/64"}, "show ports says the same")
    net.b.namespace.ip("route", "replace", "default", "via", "10.2.0.7")
    net.b.namespace.ip("-6", "route", "replace", "default", "via", "2001:db8:2::7")
    for there in (net.b.ip4, net.b.ip6):
        assert "1 received" in net.a.namespace.run("ping", "-c", "1", "-W", "30", there).stdout


@requirement("the way back of `commit --confirm` is one: the former address is there, with those of others")
def test_renumbered_and_back(net):
    net.topology.router_namespace.ip("address", "add", "10.2.0.100/24", "dev", "p2")
    give(net, "10.2.0.7/24", "2001:db8:2::1/64")
    net.router.write()
    net.router.cli("commit", "--confirm", "1")
    assert addresses(net) == {"10.2.0.7/24", "10.2.0.100/24"}
    wait_for(lambda: addresses(net) == {"10.2.0.1/24", "10.2.0.100/24"}, "it goes back by itself")


@requirement("another address of the same net by a restart: it is there, with those that others have set")
@pytest.mark.xdp("a tap goes with its daemon")
def test_renumbered_by_a_restart(net):
    net.topology.router_namespace.ip("address", "add", "10.2.0.100/24", "dev", "p2")
    net.router.kill()
    give(net, "10.2.0.7/24", "2001:db8:2::1/56")
    net.start()
    assert addresses(net) == {"10.2.0.7/24", "10.2.0.100/24"}
    assert addresses(net, "-6") == {"2001:db8:2::1/56"}


@requirement("an interface that leaves the configuration takes its addresses along, and none of others")
@pytest.mark.xdp("a tap goes with its interface")
def test_interface_leaves(net):
    net.topology.router_namespace.ip("address", "add", "10.2.0.100/24", "dev", "p2")
    del net.router.config["interfaces"]["p2"]
    net.router.config["routes"] = []
    net.router.apply()
    assert addresses(net) == {"10.2.0.100/24"} and not addresses(net, "-6")


@requirement("other prefix lengths by one reload, IPv4 and IPv6; nothing is lost but the moment of the exchange")
def test_prefix_lengths(net):
    give(net, "10.2.0.1/25", "2001:db8:2::1/56")
    net.router.apply()
    assert addresses(net) == {"10.2.0.1/25"} and addresses(net, "-6") == {"2001:db8:2::1/56"}
    wait_for(lambda: shown(net) == {"10.2.0.1/25", "2001:db8:2::1/56"}, "show ports says the same")
    both_ways(net.a, net.b)


@requirement("an IPv6 address that others have set with another prefix length is theirs: refused, with what to do, and all is as before")
def test_prefix_length_of_others(net):
    net.topology.router_namespace.ip("address", "add", "2001:db8:2::9/64", "dev", "p2")
    give(net, "10.2.0.7/24", "2001:db8:2::1/64", "2001:db8:2::9/56")
    net.router.write()
    refused = net.router.cli("reload", check=False)
    assert refused.returncode != 0 and "remove 2001:db8:2::9/64 first" in refused.stdout + refused.stderr
    assert addresses(net) == {"10.2.0.1/24"} and addresses(net, "-6") == {"2001:db8:2::1/64", "2001:db8:2::9/64"}
    for make in (udp4, udp6):
        wait_for_crossing(net.a, net.b, make)
