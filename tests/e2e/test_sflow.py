# SPDX-License-Identifier: BSD-3-Clause
"""sFlow: what collectors get, as Wireshark's dissector reads it."""

import collections
import copy
import json
import socket

import pytest
from lib.namespaces import run
from lib.packets import delivered, token, udp4, udp6
from lib.waiting import wait_for
from lib.wire import SO_RCVBUFFORCE
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw
from scapy.utils import wrpcap

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")
AGENT = "192.0.2.77"
NET = {"config": {"routes": [{"prefix": "192.0.2.0/24", "type": "blackhole"}]}}


class Collector:
    """UDP port 6343 of a host."""

    def __init__(self, host):
        with host.namespace.entered():
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        self.socket.bind((host.ip4, 6343))
        self.socket.setblocking(False)
        self.datagrams = []

    def take(self):
        """All that have arrived by now."""
        try:
            while True:
                self.datagrams.append(self.socket.recv(65536))
        except BlockingIOError:
            return self.datagrams

    def samples(self, tmp_path):
        """(flow samples, counter samples) by name of field, as tshark has them."""
        path = tmp_path / "sflow.pcap"
        wrpcap(str(path), [Ether() / IP(src="192.0.2.1", dst="192.0.2.2") / UDP(sport=6343, dport=6343) / Raw(one)
                           for one in self.datagrams])
        shown = json.loads(run("tshark", "-r", path, "-d", "udp.port==6343,sflow", "-T", "json", "--no-duplicate-keys").stdout)
        flows, counters = [], []
        for packet in shown:
            assert "_ws.malformed" not in packet["_source"]["layers"], packet
            sflow = packet["_source"]["layers"]["sflow"]
            assert (sflow["sflow_245.version"], sflow["sflow_245.agent"]) == ("5", AGENT)
            found = [one for key, value in sflow.items() if "sample" in key and isinstance(value, (dict, list))
                     for one in (value if isinstance(value, list) else [value])]
            assert len(found) == int(sflow["sflow_245.numsamples"]), sflow.keys()
            for sample in found:
                flat = flattened(sample)
                (flows if flat["sflow_245.sampletype"] == ["1"] else counters).append(flat)
        return flows, counters

    def close(self):
        self.socket.close()


def flattened(tree):
    """{field: [value, …]} of a dissected sample, however deep."""
    flat = collections.defaultdict(list)

    def walk(node):
        for key, value in node.items():
            for one in value if isinstance(value, list) else [value]:
                walk(one) if isinstance(one, dict) else flat[key].append(one)

    walk(tree)
    return flat


@pytest.fixture
def collector(net):
    collector = Collector(net.c)
    yield collector
    collector.close()
    net.router.write()
    net.router.reload(net.router.file)


def configure(net, collectors, sample=1, port=None, **settings):
    config = copy.deepcopy(net.router.config)
    config["interfaces"][port or net.a.port]["sample"] = sample
    config["sflow"] = {"collectors": collectors, "agent": AGENT, **settings}
    net.router.apply(config)


def ifindex(net, host):
    ports = net.router.json("show", "ports")["ports"]
    return next(port["ifindex"] for port in ports if port["name"] == host.port)


@requirement("each sample has the packet as it came, its length, its interfaces and its rate; Wireshark reads it")
def test_flow_samples(net, collector, tmp_path):
    configure(net, [net.c.ip4], counters_s=0)
    sent = [udp4(net.a, net.b, b"four" * 40), udp6(net.a, net.b, b"six"), udp4(net.a, net.b, b"hole", dst="192.0.2.9"),
            udp4(net.a, net.b, b"host", dst=net.a.router_ip4, dport=9), udp4(net.a, net.b, b"late", ttl=1)]
    for packet in sent:
        net.a.send(packet)

    def arrived():
        flows = of_tests(collector.samples(tmp_path)[0]) if collector.take() else []
        return flows if len(flows) >= len(sent) else None

    flows = wait_for(arrived, "all samples arrive", interval=0.2)
    assert len(flows) == len(sent)
    a, b = str(ifindex(net, net.a)), str(ifindex(net, net.b))
    for flow in flows:
        assert flow["sflow.flow_sample.sampling_rate"] == ["1"], flow
        assert flow["sflow.flow_sample.index"] == [a] and flow["sflow.flow_sample.dropped_packets"] == ["0"]
        assert int(flow["sflow.flow_sample.sample_pool"][0]) >= len(sent)
    by_payload = {payload: flow for flow in flows for payload in (b"four", b"six", b"hole", b"host", b"late")
                  if payload.hex() in "".join(flow["data.data"] + flow["udp.payload"]).replace(":", "")}
    assert set(by_payload) == {b"four", b"six", b"hole", b"host", b"late"}
    four = by_payload[b"four"]
    assert four["eth.src"] == [net.a.mac] and four["ip.src"] == [net.a.behind4] and four["ip.dst"] == [net.b.behind4]
    assert four["ip.ttl"] == ["64"], "as it came in"
    assert four["sflow_245.header.frame_length"] == [str(14 + 28 + 160 + 4)]
    assert by_payload[b"six"]["ipv6.dst"] == [net.b.behind6]
    assert interfaces_of(four) == (a, b) and interfaces_of(by_payload[b"six"]) == (a, b)
    assert interfaces_of(by_payload[b"host"])[1] == str(0x3fffffff)
    reasons = {payload: (flow["sflow.flow_sample.output_interface_format"][0], flow["sflow.flow_sample.output_interface_value"][0])
               for payload, flow in by_payload.items()}
    assert reasons[b"hole"] == ("1", "256") and reasons[b"late"] == ("1", "257")


def of_tests(flows):
    """Without what neighbours have to say."""
    return [flow for flow in flows if flow["udp.dstport"] in (["5000"], ["9"])]


def interfaces_of(flow):
    return flow["sflow.flow_sample.input_interface"][0], flow["sflow.flow_sample.output_interface_value"][0]


@requirement("counters are those of the port")
def test_counter_samples(net, collector, tmp_path):
    configure(net, [net.c.ip4], counters_s=1)
    net.a.send(udp4(net.a, net.b, b"counted"))

    def twice():
        """A datagram may have samples of packets alone."""
        counters = collector.samples(tmp_path)[1] if collector.take() else []
        return counters if len(counters) >= 2 else None

    counters = wait_for(twice, "counters arrive twice", interval=0.2)
    ports = {str(port["ifindex"]): port for port in net.router.json("show", "ports")["ports"]}
    sampled = str(ifindex(net, net.a))
    for one in counters:
        assert one["sflow_245.ifindex"] == [sampled]
        assert 0 < int(one["sflow_245.ifinoct"][0]) <= ports[sampled]["rx_bytes"] + 4 * ports[sampled]["rx_packets"]
        assert int(one["sflow_245.ifinpkt"][0]) <= ports[sampled]["rx_packets"]


@requirement("of many packets as many are sampled as the rate says: at the collector, each with its number, and none missing")
@pytest.mark.not_model("modelled ports are too slow for this")
def test_rate(net, collector, tmp_path):
    rate, packets, burst = 20, 20_000, 100
    configure(net, [net.c.ip4], sample=rate, counters_s=0)
    before = net.router.json("show", "counters")["sflow"]
    mark = token()
    frame = net.a.frame(udp4(net.a, net.b, mark))
    for _ in range(0, packets, burst):  # no queue on the way holds fewer
        net.a.wire.send(*[frame] * burst)
        net.b.wire.receive_many(burst, lambda arrived: mark in arrived)
        collector.take()

    mark = token()

    def later_one():
        """Behind a sample of what was sent afterwards there is none of what was sent before."""
        net.a.send(udp4(net.a, net.b, mark, dport=9))
        return any(mark in datagram for datagram in collector.take())

    wait_for(later_one, "all samples have been taken")
    told = {name: count - before[name] for name, count in net.router.json("show", "counters")["sflow"].items()}
    wait_for(lambda: len(collector.take()) >= told["datagrams"], "each datagram that was sent is here")
    flows = collector.samples(tmp_path)[0]
    numbers = [int(flow["sflow.flow_sample.sequence_number"][0]) for flow in flows]
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + len(flows))), "no two have the same number, and none is missing"
    chosen = sum(flow["udp.dstport"] == ["5000"] for flow in flows) + told["skipped"]
    print(f"{chosen} samples of {packets} packets, {told}")
    # Each packet is chosen by itself: 1,000 of 20,000, with a standard deviation of 30.8. By chance one run in 10^10 is outside.
    assert abs(chosen - packets / rate) < 6.6 * (packets / rate * (1 - 1 / rate)) ** 0.5


@requirement("a collector that is gone slows nothing: packets cross, the API answers, others get their samples")
def test_collectors_that_are_gone(net, collector, tmp_path):
    # Nobody listens there; nothing leads there; no host there.
    configure(net, [f"{net.b.ip4}:7", "203.0.113.9", f"10.{net.b.number}.0.99", net.c.ip4], counters_s=1)
    before = net.router.json("show", "counters")["sflow"]["not_sent"]

    def is_seen():
        delivered(net.a, net.b)
        collector.take()
        return net.router.json("show", "counters")["sflow"]["not_sent"] > before

    wait_for(is_seen, "what cannot be sent is counted")
    mark = token()
    net.a.send(udp4(net.a, net.b, mark))
    wait_for(lambda: any(mark in datagram for datagram in collector.take()), "the other one has its samples")


@requirement("samples end with the configuration, and programs are as before")
@pytest.mark.xdp("programs at ports")
def test_off(net, collector):
    from test_trace import program_of

    configure(net, [net.c.ip4])
    assert program_of(net.router, net.a.port)[0] == "port_observed"
    net.router.write()
    net.router.reload(net.router.file)
    wait_for(lambda: program_of(net.router, net.a.port)[0] == "port_stage", "the port has its program again")


@requirement("samples for nobody, of VLANs, and collectors that are none are refused with their place")
@pytest.mark.parametrize("change, place", [
    (lambda c, p: c["interfaces"][p].update(sample=5), "/interfaces/p1/sample"),
    (lambda c, p: c.update(sflow={"collectors": ["here"], "agent": AGENT}), "/sflow/collectors/0"),
    (lambda c, p: c.update(sflow={"collectors": ["192.0.2.1"]}), "/sflow"),
    (lambda c, p: (c.update(sflow={"collectors": ["192.0.2.1"], "agent": AGENT}),
                   c["interfaces"].update(v5={"parent": p, "vlan": [5], "sample": 5})), "/interfaces/v5/sample"),
])
def test_refused(net, change, place):
    config = copy.deepcopy(net.router.config)
    change(config, net.a.port)
    refused = net.router.apply(config, check=False)
    assert refused.returncode != 0 and place in refused.stdout + refused.stderr
    net.router.write()
