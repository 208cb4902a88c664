# SPDX-License-Identifier: BSD-3-Clause
"""Devices that redirected frames do not reach: what is for them leaves by the kernel's stack, with or without a daemon. And
devices that cannot be ports."""

import json
import os

import pytest
from lib.kernel_parts import has_part, need_parts
from lib.namespaces import run
from lib.packets import delivered, udp4, udp6, wait_for_crossing
from lib.pktpit_router import TOOL
from lib.stream import assert_none_lost
from lib.tcx import Crowd
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux redirects nothing"), pytest.mark.xdp("no other dataplane redirects"),
              pytest.mark.says_who_decides("split ports send otherwise")]


def port(net, name):
    return net.router.ports()[name]


def no_redirects_to(net, *hosts, gro="off"):
    """The router's ends go up before the hosts', as container runtimes do it: without GRO there the kernel then drops what is
    redirected to them. A kernel that does not say so loses it (docs/install.md)."""
    need_parts("redirect_targets", "stack_redirects")
    router = net.topology.router_namespace
    for host in hosts:
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


def newer_than(*version):
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) > version


def all_cross(sender, receiver, count=20):
    for number in range(count):
        for make in (udp4, udp6):
            assert delivered(sender, receiver, make, sport=2000 + number).dst == receiver.mac


@requirement("a tun, which has no Ethernet, is refused as a port with the reason")
def test_tun_is_refused(build_net):
    net = build_net(start=False)
    router = net.topology.router_namespace
    router.ip("tuntap", "add", "tun7", "mode", "tun")
    net.router.config["interfaces"]["tun7"] = {"addresses": ["10.77.0.1/24"]}
    net.router.write()
    process = net.router.launch()
    assert process.wait(DEADLINE) == 1
    assert "/interfaces/tun7" in net.router.log() and "without Ethernet" in net.router.log()
    del net.router.config["interfaces"]["tun7"]
    net.router.write()
    net.router.start()
    net.router.config["interfaces"]["tun7"] = {"addresses": ["10.77.0.1/24"]}
    refused = net.router.apply(check=False)
    assert refused.returncode == 1 and "without Ethernet" in refused.stdout + refused.stderr
    wait_for_crossing(net.a, net.b)


def make_generic(net, name, host):
    """The port becomes a macvlan on another device: its driver knows nothing of XDP."""
    router, below = net.topology.router_namespace, f"below{name}"
    router.ip("link", "set", name, "down")
    router.ip("link", "set", name, "name", below)
    router.ip("link", "set", below, "address", "02:00:00:00:07:07", "up")
    router.ip("link", "add", name, "link", below, "address", host.router_mac, "type", "macvlan", "mode", "bridge")
    router.sysctl({f"net/ipv6/conf/{name}/accept_dad": 0})
    router.ip("link", "set", name, "up")
    net.router.config["interfaces"][name]["generic_vlan"] = "accept"


@requirement("a port that only generic mode works on leaves the others in native mode, and nothing that goes there is lost")
def test_one_generic_port_leaves_the_others_native(build_net):
    net = build_net(start=False, settle=False)
    make_generic(net, "p2", net.b)
    net.router.write()
    net.router.start()
    assert {name: port(net, name)["mode"] for name in ("p1", "p2", "p3")} == {"p1": "native", "p2": "generic", "p3": "native"}
    for sender, receiver in ((net.a, net.b), (net.b, net.a), (net.c, net.b), (net.a, net.c)):
        for make in (udp4, udp6):
            wait_for_crossing(sender, receiver, make)
        all_cross(sender, receiver)
    way = "stack" if has_part("stack_redirects") else "daemon"
    assert port(net, "p2")["sent_by"] == way and "p2: its device takes no redirected frames" in net.router.log()
    assert net.router.slow_path()["transmit_failed"] == 0
    if way == "stack":
        net.router.kill()
        all_cross(net.a, net.b)
        all_cross(net.b, net.a)


@requirement("between ports that only generic mode works on nothing is lost, with and without the daemon")
def test_between_two_generic_ports(build_net):
    net = build_net(start=False, settle=False)
    make_generic(net, "p1", net.a)
    make_generic(net, "p2", net.b)
    net.router.write()
    net.router.start()
    for sender, receiver in ((net.a, net.b), (net.b, net.a)):
        for make in (udp4, udp6):
            wait_for_crossing(sender, receiver, make)
        all_cross(sender, receiver)
    net.router.kill()
    all_cross(net.a, net.b)
    all_cross(net.b, net.a)


@requirement("frames for a veth whose peer came up later, or has no GRO, arrive, and the port says how; redirects begin when they can")
@pytest.mark.parametrize("gro", ["on", "off"])
def test_veth_that_takes_no_redirects(build_net, gro):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.a, net.b, gro=gro)
    net.router.start()
    for make in (udp4, udp6):
        wait_for_crossing(net.a, net.b, make)
    all_cross(net.a, net.b)
    all_cross(net.b, net.a)
    if gro == "on" and newer_than(6, 18) and port(net, "p2")["sent_by"] == "redirect":
        # 7.3 says that a veth takes them as soon as its peer goes up with GRO, 6.18 does not; all have crossed.
        assert port(net, "p2")["not_redirected"] is None
        return
    assert port(net, "p2")["sent_by"] == "stack"
    assert "ethtool -K DEVICE gro on" in port(net, "p2")["not_redirected"]
    assert "p2: its device takes no redirected frames" in net.router.log()
    assert "so the kernel's stack sends what other ports have for it" in net.router.cli("show", "ports").stdout
    # The host turns GRO on while it is up, or the router's end goes down and up: from then on by redirect.
    net.b.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    net.b.namespace.run("ethtool", "-K", "eth0", "gro", "on")
    wait_for(lambda: port(net, "p2")["sent_by"] == "redirect", "redirects reach p2")
    assert port(net, "p2")["not_redirected"] is None
    all_cross(net.a, net.b)
    json.dumps(port(net, "p2"))


def stacks(net):
    return sorted(path.name for path in net.router.pins.glob("stack_*"))


@requirement("kill -9 of the daemon, and a restart: ports that no redirect reaches go on, and nothing is lost; an orderly end leaves nothing")
@pytest.mark.parametrize("family", [4, 6])
def test_goes_on_without_the_daemon(build_net, stream, family):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.a, net.b)
    net.start()
    wait_for(lambda: port(net, "p2")["sent_by"] == "stack", "the stack sends to p2")
    running = stream(net.a, net.b, family=family, rate=5000)
    net.router.kill()
    running.flows_again(2000)
    all_cross(net.b, net.a)
    net.router.start()
    # Not the order: p1 has NAPI, b has none, so a frame waits for b in the queue of the processor that had p1's turn, and the
    # next turn may be another's. Linux forwarding with such devices did so too (6.12, busy: in 2 of 96 streams).
    result = running.finish(after=2000)
    assert_none_lost(result)
    assert result["duplicated"] == 0, result
    assert len(stacks(net)) == 3
    del net.router.config["interfaces"]["p3"]
    net.router.apply()
    assert len(stacks(net)) == 2
    net.router.stop()
    assert not net.router.pins.exists()


@requirement("the program that sends by the stack is put on again when somebody has detached it, and the log says so")
def test_detached_by_somebody(build_net):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.b)
    net.start()
    wait_for(lambda: port(net, "p2")["sent_by"] == "stack", "the stack sends to p2")
    for name in stacks(net):
        net.topology.router_namespace.run("bpftool", "link", "detach", "pinned", net.router.pins / name)
    wait_for(lambda: net.router.log().count("had been detached: it is put on again") == 3, "all three are put on again")
    wait_for(lambda: len(stacks(net)) == 3, "their pins")
    all_cross(net.a, net.b)


@requirement("`pktpit detach` takes the way by the stack down with the ports")
def test_detach(build_net):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.b)
    net.router.start()
    wait_for_crossing(net.a, net.b)
    assert stacks(net)
    net.router.kill()
    run(TOOL, "detach", "--instance", net.router.instance, "--yes")
    assert not net.router.pins.exists()


def statistics(namespace, device):
    return json.loads(namespace.ip("-s", "-j", "link", "show", device).stdout)[0]["stats64"]


def account(net):
    """Frames that p1 has taken, that have arrived at b, and that somebody says to have dropped: port stages, the daemon, and the
    device that they left by."""
    counters = net.router.json("show", "counters")
    said = sum(count for name, count in counters["totals"]["verdicts"].items() if name.startswith("drop_"))
    said += counters["slow_path"]["transmit_failed"] + statistics(net.router.namespace, "p2")["tx"]["dropped"]
    return counters["ports"]["p1"]["rx_packets"], statistics(net.b.namespace, "eth0")["rx"]["packets"], said


@requirement("whatever the load to a port that no redirect reaches, what does not arrive has been counted under a name")
@pytest.mark.parametrize("way", ["stack", "daemon"])
def test_losses_have_names(build_net, stream, way, tmp_path):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.b)
    with Crowd(net.router.namespace, ["p1", "p2", "p3"] if way == "daemon" else [], tmp_path):
        net.start()
        wait_for(lambda: port(net, "p2")["sent_by"] == way, f"p2 is sent to by the {way}")
        before = account(net)
        running = stream(net.a, net.b, rate=200000, window=0)  # more than the machine sends
        running.flows_again(10000)
        running.abort()

        def all_have_a_name():
            taken, arrived, said = (now - then for now, then in zip(account(net), before))
            print(f"{taken} taken, {arrived} arrived, {said} dropped by name")
            return taken <= arrived + said

        wait_for(all_have_a_name, what="each frame that p1 has taken has arrived or was dropped by name", interval=0.2)


@requirement("where the kernel has no room for the program that sends by the stack the daemon sends, and the log says so")
def test_daemon_sends_where_the_stack_cannot(build_net, tmp_path):
    net = build_net(start=False, settle=False)
    no_redirects_to(net, net.a, net.b)
    with Crowd(net.router.namespace, ["p1"], tmp_path):
        net.router.start()
        for make in (udp4, udp6):
            wait_for_crossing(net.a, net.b, make)
        all_cross(net.a, net.b)
        all_cross(net.b, net.a)
        assert port(net, "p2")["sent_by"] == "daemon"
        assert "the daemon sends what other ports cannot redirect" in net.router.log()
        assert net.router.slow_path()["sent_for_stage"] >= 40
