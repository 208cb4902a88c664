# SPDX-License-Identifier: BSD-3-Clause
"""Devices that redirected frames do not reach, and devices that cannot be ports."""

import json

import pytest
from lib.packets import token, udp4, udp6, wait_for_crossing
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux redirects nothing"), pytest.mark.xdp("no other dataplane redirects"),
              pytest.mark.says_who_decides("split ports send otherwise")]


def port(net, name):
    return next(port for port in net.router.json("show", "ports")["ports"] if port["name"] == name)


def all_cross(sender, receiver, count=20):
    for number in range(count):
        for make in (udp4, udp6):
            mark = token()
            sender.send(make(sender, receiver, mark, sport=2000 + number))
            assert receiver.receive(mark).dst == receiver.mac


@requirement("a tun, which has no Ethernet, is refused as a port with the reason")
def test_tun_is_refused(build_net):
    net = build_net(start=False)
    router = net.topology.router_namespace
    router.ip("tuntap", "add", "tun7", "mode", "tun")
    net.router.config["interfaces"]["tun7"] = {"addresses": ["10.77.0.1/24"]}
    net.router.write()
    process = net.router.launch()
    assert process.wait(10) != 0
    assert "/interfaces/tun7" in net.router.log() and "without Ethernet" in net.router.log()
    del net.router.config["interfaces"]["tun7"]
    net.router.write()
    net.router.start()
    net.router.config["interfaces"]["tun7"] = {"addresses": ["10.77.0.1/24"]}
    net.router.write()
    refused = net.router.reload(check=False)
    assert refused.returncode != 0 and "without Ethernet" in refused.stdout + refused.stderr
    wait_for_crossing(net.a, net.b)


@requirement("a port that only generic mode works on leaves the others in native mode, and nothing that goes there is lost")
def test_one_generic_port_leaves_the_others_native(build_net):
    net = build_net(start=False, settle=False)
    router = net.topology.router_namespace
    # A macvlan on another device: its driver knows nothing of XDP.
    router.ip("link", "set", "p2", "down")
    router.ip("link", "set", "p2", "name", "below")
    router.ip("link", "set", "below", "address", "02:00:00:00:07:07", "up")
    router.ip("link", "add", "p2", "link", "below", "address", net.b.router_mac, "type", "macvlan", "mode", "bridge")
    router.sysctl({"net/ipv6/conf/p2/accept_dad": 0})
    router.ip("link", "set", "p2", "up")
    net.router.start()
    assert {name: port(net, name)["mode"] for name in ("p1", "p2", "p3")} == {"p1": "native", "p2": "generic", "p3": "native"}
    for sender, receiver in ((net.a, net.b), (net.b, net.a), (net.c, net.b), (net.a, net.c)):
        for make in (udp4, udp6):
            wait_for_crossing(sender, receiver, make)
        all_cross(sender, receiver)
    assert port(net, "p2")["by_daemon"] and "p2: its device takes no redirected frames" in net.router.log()
    assert net.router.slow_path()["sent_for_stage"] >= 80
    assert net.router.slow_path()["transmit_failed"] == 0


@requirement("frames for a veth whose peer came up later, or has no GRO, arrive, and the port says how; redirects begin when they can")
@pytest.mark.parametrize("gro", ["on", "off"])
def test_veth_that_takes_no_redirects(build_net, gro):
    net = build_net(start=False, settle=False)
    router = net.topology.router_namespace
    for host in (net.a, net.b):  # the router's end up before the host's, as container runtimes do it
        host.namespace.ip("link", "set", "eth0", "down")
        host.namespace.run("ethtool", "-K", "eth0", "gro", "off")
        router.ip("link", "set", host.port, "down")
        router.ip("link", "set", host.port, "up")
        host.namespace.run("ethtool", "-K", "eth0", "gro", gro)
        host.namespace.ip("link", "set", "eth0", "up")
        host.namespace.ip("route", "replace", "default", "via", host.router_ip4)
        host.namespace.ip("address", "replace", f"{host.ip6}/64", "dev", "eth0", "nodad")
        host.namespace.ip("-6", "route", "replace", "default", "via", host.router_ip6)
        host.wire.drain()  # of the error that the link was down
    net.router.start()
    for make in (udp4, udp6):
        wait_for_crossing(net.a, net.b, make)
    all_cross(net.a, net.b)
    all_cross(net.b, net.a)
    assert port(net, "p2")["by_daemon"]
    assert "p2: its device takes no redirected frames" in net.router.log()
    assert "p2: " in net.router.cli("show", "ports").stdout
    # The host turns GRO on while it is up, or the router's end goes down and up: from then on by redirect.
    net.b.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    net.b.namespace.run("ethtool", "-K", "eth0", "gro", "on")
    wait_for(lambda: port(net, "p2")["by_daemon"] is None, 3, "redirects reach p2")
    sent = net.router.slow_path()["sent_for_stage"]
    all_cross(net.a, net.b)
    assert net.router.slow_path()["sent_for_stage"] == sent
    json.dumps(port(net, "p2"))
