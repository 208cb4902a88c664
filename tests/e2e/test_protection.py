# SPDX-License-Identifier: BSD-3-Clause
"""Checks of sources (uRPF) and rates, of interfaces and to the host: they change by a reload, and say what they have done."""

import contextlib
import copy
import errno
import json
import os
import threading
import time

import pytest
from lib.namespaces import end
from lib.packets import token, udp4, udp6
from lib.tcp import connect
from lib.waiting import wait_for
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from test_trace import Observation, wait_for_end

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")

NOWHERE4, NOWHERE6 = "203.0.113.7", "2001:db8:ffff::7"
NET = {"config": {"routes": [{"prefix": "192.0.2.0/24", "type": "blackhole"}]}}


def configure(net, host=None, interfaces=None, routes=(), **settings):
    """`settings`: of `host`'s port. `interfaces`: more of them."""
    config = copy.deepcopy(net.router.config)
    if host:
        config["interfaces"][host.port].update(settings)
    else:
        config.update(settings)
    config["interfaces"].update(interfaces or {})
    config["routes"] = config["routes"] + list(routes)
    net.router.apply(config)


@contextlib.contextmanager
def flooding(host, packet):
    """Some thousands of the packet a second, as many as every dataplane takes on a busy machine."""
    frames, stopped = [host.frame(packet)] * 32, threading.Event()

    def send():
        while not stopped.wait(0.002):
            try:
                host.wire.send(*frames)
            except OSError as error:  # of a machine that is busy: a queue is full
                if error.errno not in (errno.ENOBUFS, errno.EAGAIN):
                    raise

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def passes(net, make=udp4, receiver=None, sender=None, **fields):
    receiver, sender, mark = receiver or net.b, sender or net.a, token()
    return crosses_or_counts(net, receiver, mark, lambda: sender.send(make(sender, receiver, mark, **fields)))


def crosses_or_counts(net, receiver, mark, send, name="drop_rpf"):
    """Whether what is sent arrives; False: it is counted as dropped instead."""
    before = net.router.counters().get(name, 0)
    send()

    def decided():
        if receiver.wire.waiting(lambda frame: mark in frame):
            return "arrived"
        return net.router.counters().get(name, 0) > before and "counted"

    return wait_for(decided, f"the packet arrives, or is counted as {name}") == "arrived"


@contextlib.contextmanager
def counted(net, name, by=1):
    before = net.router.counters().get(name, 0)
    yield
    wait_for(lambda: net.router.counters().get(name, 0) - before == by, f"{by} more are counted as {name}")


@pytest.fixture(autouse=True)
def original_afterwards(net):
    yield
    net.router.write()
    net.router.reload(net.router.file)


@requirement("RFC 3704 2.2: strict lets those sources pass whose route leads out of the interface, and counts the others")
@pytest.mark.parametrize("make, other, nowhere", [(udp4, "behind4", NOWHERE4), (udp6, "behind6", NOWHERE6)])
def test_strict(net, make, other, nowhere):
    assert passes(net, make, src=getattr(net.c, other))
    configure(net, net.a, rpf="strict")
    assert passes(net, make)
    with counted(net, "drop_rpf", 2):
        assert not passes(net, make, src=getattr(net.c, other))
        assert not passes(net, make, src=nowhere)
    # Another interface has no check.
    assert passes(net, make, sender=net.c, src=getattr(net.a, other))
    configure(net)
    assert passes(net, make, src=getattr(net.c, other))


@requirement("RFC 3704 2.4: loose wants a route, whichever way, that does not drop; a default route is one")
@pytest.mark.parametrize("make, other, nowhere, default", [(udp4, "behind4", NOWHERE4, "0.0.0.0/0"), (udp6, "behind6", NOWHERE6, "::/0")])
def test_loose(net, make, other, nowhere, default):
    configure(net, net.a, rpf="loose")
    assert passes(net, make, src=getattr(net.c, other))
    with counted(net, "drop_rpf"):
        assert not passes(net, make, src=nowhere)
    gateway = net.c.ip4 if make is udp4 else net.c.ip6
    configure(net, net.a, rpf="loose", routes=[{"prefix": default, "via": gateway}])
    assert passes(net, make, src=nowhere)
    configure(net, net.a, rpf="strict", routes=[{"prefix": default, "via": gateway}])
    assert not passes(net, make, src=nowhere)
    assert passes(net, make, sender=net.c, src=nowhere)


@requirement("a blackhole route to a source drops what comes from there (RFC 5635)")
def test_blackholed_source(net):
    with counted(net, "drop_rpf"):
        configure(net, net.a, rpf="loose")
        assert not passes(net, src="192.0.2.9")


@requirement("a route that appears lets its sources pass; of several next hops any one will do")
def test_routes_change(net):
    configure(net, net.a, rpf="strict")
    assert not passes(net, src=NOWHERE4)
    net.router.route("add", "203.0.113.0/24", "nexthop", "via", net.c.ip4, "nexthop", "via", net.b.ip4)
    assert not passes(net, src=NOWHERE4)
    net.router.route("del", "203.0.113.0/24")
    net.router.route("add", "203.0.113.0/24", "nexthop", "via", net.c.ip4, "nexthop", "via", net.a.ip4)
    assert passes(net, src=NOWHERE4)
    net.router.route("del", "203.0.113.0/24")
    assert not passes(net, src=NOWHERE4)


@requirement("a VLAN interface has its own check, whatever its port has")
def test_vlan(net):
    vlan = {"parent": net.a.port, "vlan": [100], "addresses": ["10.20.0.1/24"]}
    routes = [{"prefix": "203.0.113.0/24", "via": "10.20.0.2"}]

    def tagged_passes(source):
        mark = token()
        packet = IP(src=source, dst=net.b.behind4, ttl=64) / UDP(sport=4000, dport=5000) / Raw(mark)
        frame = bytes(Ether(src=net.a.mac, dst=net.a.router_mac, type=0x8100)) + bytes([0, 100, 8, 0]) + bytes(packet)
        return crosses_or_counts(net, net.b, mark, lambda: net.a.wire.send(frame))

    config = {"v100": {**vlan, "rpf": "strict"}}
    configure(net, interfaces=config, routes=routes)
    assert tagged_passes(NOWHERE4) and tagged_passes("10.20.0.9")
    assert not tagged_passes(net.a.behind4)
    assert passes(net)
    configure(net, net.a, interfaces={"v100": vlan}, routes=routes, rpf="strict")
    assert tagged_passes(net.a.behind4)
    assert not passes(net, src=NOWHERE4)


@requirement("neighbours, the link's own addresses and those without one reach the host; forged sources do not")
def test_the_host_is_reached(net):
    configure(net, net.a, rpf="strict")
    net.a.namespace.ip("neigh", "flush", "dev", "eth0")
    net.a.namespace.run("ping", "-c", "2", "-i", "0.2", "-W", "30", net.a.router_ip4)
    net.a.namespace.run("ping", "-c", "2", "-i", "0.2", "-W", "30", net.a.router_ip6)
    net.a.namespace.run("ping", "-c", "2", "-i", "0.2", "-W", "30", "ff02::1%eth0")
    with counted(net, "host_broadcast"):
        net.a.send(IP(src="0.0.0.0", dst="255.255.255.255") / UDP(sport=68, dport=67) / Raw(b"discover"), dst="ff:ff:ff:ff:ff:ff")
    with counted(net, "drop_rpf", 2):
        net.a.send(IP(src=net.c.behind4, dst=net.a.router_ip4) / ICMP() / Raw(b"forged"),
                   IPv6(src=net.c.behind6, dst=net.a.router_ip6) / ICMPv6EchoRequest(data=b"forged"))


@requirement("a trace names the check; show interfaces says what is in force")
def test_seen(net):
    configure(net, net.a, rpf="strict", police_in="2.5 Mbit/s")
    trace = Observation(net.router, "trace", "--count", "1", "--json", "--verdict", "drop_rpf")
    try:
        assert not passes(net, src=net.c.behind4)
        packets, _ = trace.packets()
    finally:
        end(trace.process)
        wait_for_end(net.router)
    assert [(one["verdict"], one["action"]) for one in packets] == [("drop_rpf", "drop")]
    assert "source" in packets[0]["meaning"] and packets[0]["lookup"]["as_the_packet_met"]
    shown = {port["name"]: port["guards"] for port in net.router.json("show", "interfaces", "--interval", "0.1")["ports"]}
    assert shown[net.a.port] == {"rpf": "strict", "police_in": "2.5 Mbit/s", "police_burst": 32768}
    assert shown[net.b.port] == {"rpf": "off", "police_in": None, "police_burst": None}
    assert "strict, 2.5 Mbit/s" in net.router.cli("show", "interfaces", "--interval", "0.1").stdout


@requirement("what cannot be is refused with its place, and what is in force stays")
@pytest.mark.parametrize("settings, place", [({"rpf": "both"}, "rpf"), ({"police_in": "100 Mbits"}, "police_in"),
                                             ({"police_in": "1 bit/s"}, "police_in"), ({"police_burst": 5000}, "police_burst")])
def test_refused(net, settings, place):
    configure(net, net.a, rpf="strict")
    config = copy.deepcopy(net.router.config)
    config["interfaces"][net.a.port].update(settings)
    refused = net.router.apply(config, check=False)
    assert refused.returncode == 1 and f"/interfaces/{net.a.port}/{place}" in refused.stderr
    assert not passes(net, src=net.c.behind4)


@requirement("what comes at once passes up to the burst, by then as much as the rate has made up for, and what is above it is counted")
@pytest.mark.parametrize("make", [udp4, udp6])
def test_burst(net, make):
    frames, burst, rate = 120, 20000, 1000  # bytes, and bytes a second
    configure(net, net.a, police_in=f"{rate * 8 / 1000:g} kbit/s", police_burst=burst)
    mark = token()
    frame = net.a.frame(make(net.a, net.b, mark + bytes(400)))
    before, began = net.router.counters(), time.monotonic()
    net.a.wire.send(*[frame] * frames)

    def counted():
        now = net.router.counters()
        forwarded, dropped = (now.get(name, 0) - before.get(name, 0) for name in ("forwarded", "drop_police"))
        return (forwarded, dropped) if forwarded + dropped >= frames else None

    forwarded, dropped = wait_for(counted, "all are counted")
    seconds = time.monotonic() - began
    print(f"{forwarded} of {frames} frames of {len(frame)} bytes within {seconds:.2f} s")
    # docs/protection.md: a sixteenth less, and a sixteenth more for each CPU.
    assert 15 / 16 * burst - len(frame) <= forwarded * len(frame) <= (1 + os.cpu_count() / 16) * burst + rate * seconds
    assert forwarded + dropped == frames
    assert len(net.b.wire.receive_many(forwarded, lambda arrived: mark in arrived)) == forwarded
    configure(net)
    net.a.wire.send(*[frame] * frames)
    net.b.wire.receive_many(frames, lambda arrived: mark in arrived)


@requirement("of twice the rate the rate arrives, and what is above it is counted")
@pytest.mark.measure("the share of its rate that passes, of twice as much")
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.not_model("its clock is not the machine's")
def test_rate(net, stream, record_property, family):
    size, rate = 500, 1500  # frames a second
    configure(net, net.a, police_in=f"{size * 8 * rate / 1000:g} kbit/s", police_burst=20000)
    running = stream(net.a, net.b, family=family, rate=2 * rate, size=size)

    def now():
        counters = net.router.counters()
        return time.monotonic(), counters.get("forwarded", 0), counters.get("drop_police", 0)

    began = now()
    running.flows_again(4000)
    seconds, forwarded, dropped = (after - before for after, before in zip(now(), began))
    offered, share = (forwarded + dropped) / seconds, forwarded / seconds / rate
    print(f"offered {offered:.0f} frames a second, rate {rate}, passed {share:.3f} of it")
    record_property("share of the rate", share)
    assert offered > 1.5 * rate, "the machine gave too little time for twice the rate"
    assert 0.9 <= share <= 1.1


@requirement("a rate does not take the neighbours")
def test_neighbours_pass_above_the_rate(net, stream):
    configure(net, net.a, police_in="8 kbit/s", police_burst=2000)
    before = net.router.counters().get("drop_police", 0)
    with flooding(net.a, udp4(net.a, net.b, b"x" * 100)):
        wait_for(lambda: net.router.counters().get("drop_police", 0) > before + 1000, "packets are above the rate")
        for address in (net.a.router_ip4, net.a.router_ip6):
            net.a.namespace.ip("neigh", "del", address, "dev", "eth0", check=False)
            net.a.namespace.run("ping", "-c", "1", "-W", "1", address, check=False)
            wait_for(lambda: net.a.router_mac in net.a.namespace.ip("neigh", "show", address, "dev", "eth0").stdout,
                     f"the neighbour {address} is found")


SERVER = """
import socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((sys.argv[1], 179))
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
while data := connection.recv(4096):
    connection.sendall(data)
"""


@requirement("BGP goes on while ICMP floods, of which the host gets what its rate lets in")
@pytest.mark.parametrize("family", [4, 6])
def test_bgp_goes_on_while_icmp_floods(net, family):
    rate = 200
    configure(net, host_police={"arp": 500, "icmp": rate, "bgp": 5000, "other": 2000})
    server = net.topology.router_namespace.start("/usr/bin/python3", "-c", SERVER, net.b.router_ip4, stdout=-1, text=True)
    assert server.stdout.readline() == "ready\n"
    echo = (IP(src=net.a.ip4, dst=net.a.router_ip4) / ICMP() if family == 4
            else IPv6(src=net.a.ip6, dst=net.a.router_ip6) / ICMPv6EchoRequest())
    before, echoes, began = net.router.counters(), echo_requests(net, family), time.monotonic()
    try:
        with connect(net.b.namespace, net.b.router_ip4, 179) as client, flooding(net.a, echo / Raw(b"x" * 50)):
            wait_for(lambda: net.router.counters().get("drop_host_icmp", 0) - before.get("drop_host_icmp", 0) > 1000,
                     "echo requests are above the rate")
            for number in range(300):
                message = f"keepalive {number:6d}".encode()
                client.sendall(message)
                got = b""
                while len(got) < len(message):
                    got += client.recv(4096)
                assert got == message
    finally:
        end(server)
    echoes, seconds = echo_requests(net, family) - echoes, time.monotonic() - began
    after = net.router.counters()
    print(f"{echoes} echo requests came to the host in {seconds:.1f} s, of a rate of {rate}")
    # The bucket holds a tenth of a second's.
    assert 0 < echoes <= rate * seconds + rate / 10
    assert after["drop_host_icmp"] > before.get("drop_host_icmp", 0) + 1000
    for name in ("drop_host_bgp", "drop_host_arp"):
        assert after.get(name, 0) == before.get(name, 0)


def echo_requests(net, family):
    """That the router's own stack has had."""
    name = "IcmpInEchos" if family == 4 else "Icmp6InEchos"
    shown = json.loads(net.topology.router_namespace.run("nstat", "--json", "--zeros", "--ignore", "--noupdate", name).stdout)
    return shown["kernel"][name]


@requirement("each class has a rate and a name of its own; to whom it does not say, nothing is limited")
def test_classes(net):
    configure(net, host_police={"other": 1})  # so few that a slow machine sends more, too
    before = net.router.counters()
    for _ in range(10):
        net.a.send(*(IP(src=net.a.ip4, dst=net.a.router_ip4) / UDP(sport=4000, dport=9) / Raw(b"x") for _ in range(20)))
        net.a.send(*(IP(src=net.a.ip4, dst=net.a.router_ip4) / ICMP() / Raw(b"x") for _ in range(20)))

    def more(name):
        return net.router.counters().get(name, 0) - before.get(name, 0)

    wait_for(lambda: more("host_local") + more("drop_host_other") >= 400 and more("drop_host_other") > 100, "UDP is above the rate")
    assert more("host_local") >= 200 and more("drop_host_icmp") == 0
    assert more("drop_host_bgp") == 0
