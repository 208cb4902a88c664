# SPDX-License-Identifier: BSD-3-Clause
"""What only the model dataplane does: files in virtual time, the same result each time, and that it says what it is."""

import json
import random
import signal

import pytest
from lib.namespaces import end
from lib.packets import udp4, udp6, wait_for_crossing
from lib.pktpit_router import DATAPLANE, on_model
from lib.waiting import DEADLINE, wait_for
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import PcapReader, wrpcap

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the dataplane is Pktpit's"),
              pytest.mark.skipif(DATAPLANE != "model", reason="model: with PKTPIT_DATAPLANE=model")]

ROUTER, NEIGHBOUR = "02:00:00:00:09:01", "02:00:00:00:00:{:02x}"
COUNT = 600
BEGIN = 1_700_000_000


def frames(port, seed):
    """[(frame, egress)]: to two networks, both families, all sizes; some that no route is for."""
    chance = random.Random(seed)
    made = []
    for number in range(COUNT):
        egress = chance.choice(("out1", "out2", "out2", None))
        far = {"out1": 1, "out2": 2, None: 99}[egress]
        payload = number.to_bytes(4, "big") + chance.randbytes(chance.choice((14, 60, 100, 400, 1400)))
        if chance.random() < 0.3:
            packet = IPv6(src="2001:db8:9::2", dst=f"2001:db8:{far}::5") / UDP(sport=number, dport=9) / Raw(payload)
        else:
            packet = IP(src="10.9.0.2", dst=f"198.18.{far}.5") / UDP(sport=number, dport=9) / Raw(payload)
        frame = Ether(src="02:00:00:00:09:02", dst=ROUTER) / packet
        frame.time = BEGIN + number * 300e-9  # faster than the modelled ports here and there
        made.append((frame, egress))
    return made


def start(build_net, directory, name, transfer, sent):
    """A router between files alone; the frames that left, by port, and what its ports count."""
    wrpcap(str(directory / f"{name}.pcap"), [frame for frame, _ in sent], nano=True)
    net = build_net(start=False, settle=False)
    config = {key: net.router.config[key] for key in ("instance", "log_level", "dataplane")}
    config |= {
        "model": {"topology": "four-nics", "transfer": transfer},
        "icmp": {"rate": 0, "rate_per_prefix": 0},
        "interfaces": {"in": {"wire": {"read": str(directory / f"{name}.pcap"), "mac": ROUTER}, "addresses": ["10.9.0.1/24", "2001:db8:9::1/64"]},
                       **{f"out{n}": {"wire": {"write": str(directory / f"{name}-out{n}.pcap")}, "nic_port": f"nic{n + 1}/0",
                                      "addresses": [f"10.{n}.0.1/24", f"2001:db8:f{n}::1/64"]} for n in (1, 2)}},
        "routes": [route for n in (1, 2) for route in ({"prefix": f"198.18.{n}.0/24", "via": f"10.{n}.0.2"},
                                                       {"prefix": f"2001:db8:{n}::/48", "via": f"2001:db8:f{n}::2"})],
        "neighbours": [{"address": address, "mac": NEIGHBOUR.format(n), "interface": f"out{n}"}
                       for n in (1, 2) for address in (f"10.{n}.0.2", f"2001:db8:f{n}::2")]}
    net.router.config = config
    net.router.write()
    net.router.launch()
    wait_for(lambda: net.router.cli("show", "version", check=False).returncode == 0, "the router is ready", interval=0.05)
    wanted = {n: sum(egress == f"out{n}" for _, egress in sent) for n in (1, 2)}

    def ports():
        return net.router.json("show", "counters")["ports"]

    def done():
        shown = ports()
        return shown["in"]["rx_packets"] == len(sent) and all(shown[f"out{n}"]["tx_packets"] == wanted[n] for n in wanted)

    wait_for(done, "all frames of the file have been through the model")
    shown, latency = ports(), net.router.json("show", "latency")["ports"]["in"]
    assert end(net.router.process, signal.SIGTERM) == 0
    return {n: (directory / f"{name}-out{n}.pcap").read_bytes() for n in (1, 2)}, shown, latency


@requirement("frames of a file come out by the longest prefix, byte for byte what a router makes of them, later than they came in")
@pytest.mark.parametrize("transfer", ["write", "read", "bounce"])
def test_files_are_routed(build_net, tmp_path, transfer):
    sent = frames("in", transfer)
    files, shown, latency = start(build_net, tmp_path, "one", transfer, sent)
    for n in (1, 2):
        expected = {}
        for frame, egress in sent:
            if egress != f"out{n}":
                continue
            wanted = frame.copy()
            layer = wanted[IP] if IP in wanted else wanted[IPv6]
            if IP in wanted:
                layer.ttl -= 1
            else:
                layer.hlim -= 1
            wanted.src, wanted.dst = None, NEIGHBOUR.format(n)
            expected[bytes(frame[UDP].payload)] = (frame.time, bytes(layer))
        left = list(PcapReader(str(tmp_path / f"one-out{n}.pcap")))
        assert len(left) == len(expected)
        for frame in left:
            time, packet = expected.pop(bytes(frame[UDP].payload))
            assert bytes(frame.payload) == packet and frame.dst == NEIGHBOUR.format(n)
            assert 1e-7 < float(frame.time - time) < 1e-3, "so many nanoseconds later, in virtual time"
        assert not expected
    nics = {name: port["nic"] for name, port in shown.items()}
    assert shown["in"]["verdicts"]["no_route"] == sum(egress is None for _, egress in sent)
    assert latency["count"] == sum(egress is not None for _, egress in sent) and latency["p50"] > 0
    # Every payload byte has come to the egress NICs over the modelled fabric.
    moved = sum(len(frame) for frame, egress in sent if egress)
    assert nics["out1"]["modelled_pcie_bytes_in"] + nics["out2"]["modelled_pcie_bytes_in"] > moved
    assert all(nics[name]["modelled_nic_no_slot"] == nics[name]["modelled_nic_dma_errors"] == 0 for name in nics)


@requirement("the same files give the same result: every byte, every virtual nanosecond, every modelled counter")
@pytest.mark.parametrize("transfer", ["write", "read"])
def test_the_same_each_time(build_net, tmp_path, transfer):
    sent = frames("in", 7)
    first, second = (start(build_net, tmp_path, name, transfer, sent) for name in ("first", "second"))
    assert first[0] == second[0]
    for name in ("in", "out1", "out2"):
        ours, theirs = first[1][name], second[1][name]
        for shown in (ours, theirs):
            shown["nic"].pop("own_frames_not_written")  # the kernel's, which come when they come
        assert ours == theirs
    assert first[2] == second[2]


@requirement("whatever prints a figure of the model says that it is one")
def test_says_that_it_is_modelled(net):
    wait_for_crossing(net.a, net.b)
    what = "topology four-nics, profile generic, transfer "
    for words in (("show", "offload"), ("show", "ports"), ("show", "latency"), ("show", "version")):
        assert f"modelled, not measured: {what}" in net.router.cli(*words).stdout, words
        assert net.router.json(*words)["modelled"].startswith(what), words
    assert "modelled hardware" in net.router.log() and "time is virtual" in net.router.log()
    shown = net.router.json("show", "ports")["ports"][0]["nic"]
    assert shown["model"].startswith("modelled NIC port") and shown["payload"].startswith("modelled ")


@requirement("a topology, profile, port or file that is not there is refused in words, at its place")
@pytest.mark.parametrize("change, said", [
    (lambda config: config["model"].update(topology="no-such"), ("/model/topology", "no-such")),
    (lambda config: config["model"].update(profile="no-such"), ("/model/profile", "no-such")),
    (lambda config: config["interfaces"]["p1"].update(nic_port="nic0/7"), ("/interfaces/p1/nic_port", "nic0/7", "has 4 ports")),
    (lambda config: config["interfaces"].update({f"x{n}": {"wire": {}} for n in range(2)}), ("no modelled port is left", "has 4 ports")),
    (lambda config: config["interfaces"]["p1"].update(wire={"read": "/dev/null"}), ("/interfaces/p1/wire/read", "/dev/null")),
    (lambda config: config["interfaces"]["p1"].update(wire={"write": "/no/such/place"}), ("/interfaces/p1/wire/write", "/no/such/place")),
    (lambda config: config["interfaces"]["p1"].update(wire={"device": "lo"}), ("/interfaces/p1/wire/device", "has addresses")),
])
def test_refused(build_net, change, said):
    net = build_net(start=False, settle=False)
    net.topology.router_namespace.ip("address", "add", "10.77.0.1/24", "dev", "lo")
    change(net.router.config)
    net.router.write(net.router.config)
    assert net.router.launch().wait(DEADLINE) == 1
    assert all(words in net.router.log() for words in said), net.router.log()


@requirement("a clean stop leaves nothing: taps gone, no file; the next daemon starts as if nothing had been")
def test_stop_and_restart(build_net):
    net = build_net()
    assert end(net.router.process, signal.SIGTERM) == 0
    links = {link["ifname"] for link in json.loads(net.topology.router_namespace.ip("-j", "link").stdout)}
    assert not {"p1", "p2", "p3"} & links
    net.router.start()
    for make in (udp4, udp6):
        wait_for_crossing(net.a, net.b, make)


@requirement("a reload adds a port to a running model and takes one away")
def test_ports_come_and_go(build_net):
    net = build_net()
    whole = net.router.config
    less = {**whole, "interfaces": {name: port for name, port in whole["interfaces"].items() if name != "p3"},
            "routes": [route for route in whole["routes"] if "10.3.0.2" not in str(route) and "db8:3::2" not in str(route)]}
    for config, there in ((less, {"p1", "p2"}), (whole, {"p1", "p2", "p3"})):
        net.router.apply(on_model(config, net.topology))
        assert {port["name"] for port in net.router.json("show", "ports")["ports"]} == there
        wait_for_crossing(net.a, net.b)
    wait_for_crossing(net.a, net.c)
