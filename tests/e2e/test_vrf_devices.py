# SPDX-License-Identifier: BSD-3-Clause
"""VRFs whose devices are in VRFs of the kernel, too: with these the host itself answers in each, though the addresses are the
same. Hosts a and b are in red, c and d in blue; a and c are both 10.77.0.2 behind the router's 10.77.0.1, and so it is with
IPv6. b and d have addresses of their own, and so can tell who answers them."""

import json

import pytest
from lib import kernel_devices
from lib.namespaces import end
from lib.packets import token, udp4
from lib.waiting import wait_for
from lib.wire import NothingReceived
from test_vlan_devices import wait_for_answer

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the kernel router knows no VRFs"), pytest.mark.xdp("taps of a daemon are not there before it"),
              pytest.mark.not_model("the modelled topology has four ports")]
VRFS = {"a": "red", "b": "red", "c": "blue", "d": "blue"}
TABLES = {"red": 1001, "blue": 1002}


def own(host):
    """The router's addresses on the host's link, and the host's."""
    if host.label in "ac":
        return ["10.77.0.1/24", "2001:db8:77::1/64"], ["10.77.0.2/24", "2001:db8:77::2/64"]
    return [f"{host.router_ip4}/24", f"{host.router_ip6}/64"], [f"{host.ip4}/24", f"{host.ip6}/64"]


def configure(topology):
    kernel_devices.need("vrf")
    router = topology.router_namespace
    for vrf, table in TABLES.items():
        router.batch([f"link add {vrf} type vrf table {table}", f"link set {vrf} up"])
    interfaces = {}
    for host in topology.hosts:
        vrf = VRFS[host.label]
        router.ip("link", "set", host.port, "master", vrf)
        theirs = own(host)[1]
        if host.label in "ac":
            host.namespace.batch([f"address del {host.ip4}/24 dev eth0", f"address del {host.ip6}/64 dev eth0",
                                  f"address add {theirs[0]} dev eth0", f"address add {theirs[1]} dev eth0 nodad",
                                  "route replace default via 10.77.0.1"])
            host.namespace.batch(["route replace default via 2001:db8:77::1"], ("-6",))
        interfaces[host.port] = {"addresses": own(host)[0], "vrf": vrf}
    return {"interfaces": interfaces, "vrfs": {vrf: {"table": table} for vrf, table in TABLES.items()},
            "kernel_routes": {"enabled": True}, "routes": [
                {"prefix": "203.0.113.0/24", "via": "10.77.0.2", "vrf": vrf} for vrf in TABLES]}


NET = {"count": 4, "configure": configure, "settle": False}


def received(host):
    """Echo requests for host's stack: what of them has come."""
    return int(host.namespace.run("nstat", "-asz", "IcmpInEchos").stdout.split("IcmpInEchos")[1].split()[0])


@requirement("the router answers in each VRF from the address that both have, to the host of that VRF")
@pytest.mark.parametrize("label", "abcd")
def test_router_answers(net, label):
    host = getattr(net, label)
    for address in own(host)[0]:
        wait_for_answer(host.namespace, address.split("/")[0])


@requirement("the router's own packets go by the VRF that they are sent in")
@pytest.mark.parametrize("label", "ac")
def test_router_asks(net, label):
    host, other = getattr(net, label), getattr(net, "ca"["ac".index(label)])
    router = net.topology.router_namespace
    wait_for_answer(router, "10.77.0.2", "-I", VRFS[label])
    before, elsewhere = received(host), received(other)
    router.run("ping", "-c", "3", "-i", "0.2", "-W", "10", "-I", VRFS[label], "10.77.0.2")
    router.run("ping", "-c", "1", "-W", "10", "-I", VRFS[label], "2001:db8:77::2")
    assert received(host) == before + 3 and received(other) == elsewhere


@requirement("transit stays in its VRF: both hosts of the same address are reached by the hosts of their own VRF")
@pytest.mark.parametrize("sender, receiver, other", [("b", "a", "c"), ("d", "c", "a")])
def test_transit(net, sender, receiver, other):
    sender, receiver, other = (getattr(net, label) for label in (sender, receiver, other))
    wait_for_answer(sender.namespace, "10.77.0.2")
    wait_for_answer(sender.namespace, "2001:db8:77::2")
    before, elsewhere = received(receiver), received(other)
    sender.namespace.run("ping", "-c", "3", "-i", "0.2", "-W", "10", "10.77.0.2")
    assert received(receiver) == before + 3 and received(other) == elsewhere


@requirement("routes that somebody sets in the table of a VRF of the kernel's are followed into the VRF, and the router's own are there")
def test_tables(net):
    router = net.topology.router_namespace
    for vrf, sender, receiver in (("red", net.b, net.a), ("blue", net.d, net.c)):
        router.ip("route", "add", "198.51.100.0/24", "via", "10.77.0.2", "vrf", vrf)
        try:
            def arrives():
                mark = token()
                sender.send(udp4(sender, receiver, mark, dst="198.51.100.9"))
                try:
                    return receiver.receive(mark, 0.3)
                except NothingReceived:
                    return None

            wait_for(arrives, f"packets by the kernel's route of {vrf}")
            there = json.loads(router.ip("-json", "route", "show", "vrf", vrf).stdout)
            assert any(route["dst"] == "203.0.113.0/24" and route["protocol"] in ("112", "pktpit") for route in there)
        finally:
            router.ip("route", "del", "198.51.100.0/24", "vrf", vrf)


@requirement("an error of the router's comes from its address in the VRF that the packet came in by")
@pytest.mark.parametrize("label", "ac")
def test_errors(net, label):
    host = getattr(net, label)
    done = host.namespace.run("ping", "-c", "1", "-W", "5", "-t", "1", "203.0.113.7", check=False)
    assert "10.77.0.1" in done.stdout, done.stdout


@requirement("devices that move to another VRF of the kernel's keep the router's addresses after a restart, and no rule of VRF devices is warned of")
def test_restart(net):
    assert "l3mdev" not in net.router.log()
    end(net.router.process, 9)
    net.router.start()
    for host in net.hosts:
        for address in own(host)[0]:
            wait_for_answer(host.namespace, address.split("/")[0])
    assert net.router.json("show", "drift")["drift"] == []
