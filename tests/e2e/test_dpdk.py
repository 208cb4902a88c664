# SPDX-License-Identifier: BSD-3-Clause
"""What only the dpdk dataplane does: devices of drivers' own, EAL's errors in our words, nothing left behind."""

import copy
import json
import signal
from pathlib import Path

import pytest
from lib.namespaces import end
from lib.packets import both_ways, delivered, udp4, wait_for_crossing
from lib.pktpit_router import DATAPLANE
from lib.processes import worker_states
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the dataplane is Pktpit's"),
              pytest.mark.skipif(DATAPLANE != "dpdk", reason="dpdk: with PKTPIT_DATAPLANE=dpdk")]

SILENT = {"ipv6/conf/{}/disable_ipv6": "1", "ipv4/conf/{}/arp_ignore": "8", "ipv4/conf/{}/rp_filter": "1"}


def switches(net, device):
    with net.topology.router_namespace.entered():
        return {name: Path("/proc/sys/net", name.format(device)).read_text().strip() for name in SILENT}


def links(net):
    return {link["ifname"] for link in json.loads(net.topology.router_namespace.ip("-j", "link").stdout)}


def start_with_af_xdp(build_net):
    net = build_net(start=False)
    net.router.config["interfaces"]["p1"]["device"] = "net_af_xdp,iface=w1"
    net.router.write()
    net.router.start()
    return net


@requirement("a clean stop leaves nothing: taps gone, the Linux devices' switches as they were, no file, no hugepage")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_clean_stop_leaves_nothing(build_net, how):
    net = build_net(start=False)
    before = switches(net, "w1")
    net.start()
    assert switches(net, "w1") == SILENT
    assert {"p1", "p2", "p3"} <= links(net)
    assert end(net.router.process, how) == 0
    assert not {"p1", "p2", "p3"} & links(net)
    assert switches(net, "w1") == before
    assert not Path("/run/dpdk", f"pktpit-{net.router.instance}").exists()
    assert not net.router.socket.exists()


@requirement("kill -9: the next daemon starts as if nothing had been")
def test_kill_and_restart(build_net):
    net = build_net()
    net.router.kill()
    net.router.start()
    both_ways(net.a, net.b)


@requirement("kill -9: the switches of the Linux devices below are put back by the next daemon, as it ends or at once where it does not take them")
@pytest.mark.parametrize("kills", [1, 2])
def test_switches_after_a_kill(build_net, kills):
    net = build_net(start=False)
    before = {device: switches(net, device) for device in ("w1", "w2", "w3")}
    assert all(found != SILENT for found in before.values())
    for _ in range(kills):
        net.router.start()
        net.router.kill()
    assert switches(net, "w1") == switches(net, "w2") == SILENT
    del net.router.config["interfaces"]["p2"]
    net.router.write()
    net.router.launch()
    wait_for(lambda: net.router.cli("show", "version", check=False).returncode == 0, "the daemon is ready", interval=0.05)
    wait_for(lambda: switches(net, "w2") == before["w2"], "what is no port any more speaks again")
    assert switches(net, "w1") == SILENT
    both_ways(net.a, net.c)
    assert end(net.router.process) == 0
    assert {device: switches(net, device) for device in before} == before
    assert not list(net.router.run_folder.glob(f"{net.router.instance}.below_*"))


@requirement("the kernel says nothing on the device below a port: one answer to a ping, one to an ARP request")
def test_one_answer_only(net):
    shown = net.a.namespace.run("ping", "-c", "5", "-i", "0.1", "-W", "30", net.a.router_ip4).stdout
    assert "5 received" in shown and "DUP" not in shown and "duplicates" not in shown, shown
    net.a.wire.drain()
    net.a.namespace.ip("neigh", "flush", "dev", "eth0")
    net.a.namespace.run("ping", "-c", "2", "-W", "30", net.a.router_ip4)
    answers = net.a.wire.waiting(lambda frame: frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x02")
    assert len(answers) == 1, [frame.hex() for frame in answers]


@requirement("a port of another driver, AF_XDP's, and one of net_af_packet forward to each other")
def test_af_xdp(build_net):
    net = start_with_af_xdp(build_net)
    nic = net.router.ports()["p1"]["nic"]
    assert nic == {**nic, "device": "net_af_xdp,iface=w1", "model": "net_af_xdp"}
    both_ways(net.a, net.b)
    for size in (0, 60, 86, 87, 500, 1400):
        assert delivered(net.a, net.b, payload=bytes(size)).dst == net.b.mac


@requirement("drivers without a wire: packets from a file, forwarded to net_null without end, at whatever rate a core has")
def test_pcap_to_null(build_net, tmp_path):
    mac = "02:70:63:61:70:00"  # that of every first net_pcap device
    wrpcap(str(tmp_path / "in.pcap"), [Ether(src="02:00:00:00:09:02", dst=mac) / udp4(None, None, bytes(18), src="10.9.0.2", dst=dst)
                                       for dst in ("10.8.0.2", "10.8.0.3", "10.7.0.1")])
    net = build_net(start=False)
    net.router.config["interfaces"].update(
        {"in": {"device": f"net_pcap,rx_pcap={tmp_path}/in.pcap,infinite_rx=1", "addresses": ["10.9.0.1/24"]},
         "out": {"device": "net_null,no-rx=1", "addresses": ["10.8.0.1/24"]}})
    net.router.config["neighbours"] = [{"address": f"10.8.0.{host}", "mac": "02:00:00:00:08:02", "interface": "out"} for host in (2, 3)]
    net.router.write()
    net.router.start()
    net.topology.router_namespace.ip("link", "set", "in", "address", mac)

    def forwarded():
        shown = net.router.json("show", "counters")["ports"]
        return shown["in"]["verdicts"].get("forwarded", 0) > 50000 and shown["out"]["tx_packets"] > 50000

    wait_for(forwarded, "packets of the file cross")
    both_ways(net.a, net.b)


@requirement("fragments pass as they are, where the driver hands them over as they are")
def test_fragments_on_af_xdp(build_net):
    net = start_with_af_xdp(build_net)
    wait_for_crossing(net.a, net.b)
    packet = delivered(net.a, net.b, payload=bytes(64), flags="MF", frag=7).payload
    assert (packet.frag, packet.flags.MF) == (7, True)


@requirement("a reload adds and removes ports while the others forward, and loses nothing of theirs")
def test_ports_come_and_go_under_load(build_net, stream):
    net = build_net()
    whole = copy.deepcopy(net.router.config)
    less = copy.deepcopy(whole)
    del less["interfaces"]["p3"]
    less["routes"] = [route for route in less["routes"] if "10.3.0.2" not in str(route) and "db8:3::2" not in str(route)]
    running = stream(net.a, net.b, rate=10000)
    for config, there in ((less, {"p1", "p2"}), (whole, {"p1", "p2", "p3"})):
        net.router.apply(config)
        assert set(net.router.ports()) == there
        running.flows_again(2000)
    both_ways(net.a, net.c)
    assert_nothing_lost(running.finish())


@requirement("a reload that a driver refuses says what the driver said, and leaves everything as it was")
@pytest.mark.parametrize("device, said", [
    ("net_pcap,rx_pcap=/there/is/none.pcap", "No such file or directory"), ("net_nonsense", "net_nonsense"),
    ("net_af_packet,iface=lo", "has addresses")])
def test_refused_device(build_net, stream, device, said):
    net = build_net()
    running = stream(net.a, net.b, rate=5000)
    config = copy.deepcopy(net.router.config)
    config["interfaces"]["new"] = {"device": device}
    refused = net.router.apply(config, check=False)
    assert refused.returncode == 1
    assert "/interfaces/new/device" in refused.stdout + refused.stderr and said in refused.stdout + refused.stderr
    assert set(net.router.ports()) == {"p1", "p2", "p3"} and "new" not in links(net)
    assert_nothing_lost(running.finish(after=2000))
    config = copy.deepcopy(net.router.config)
    config["dpdk"]["mbufs"] = 4095
    refused = net.router.apply(config, check=False)
    assert refused.returncode == 1 and "/dpdk" in refused.stdout + refused.stderr


@requirement("EAL's refusal is the daemon's error, in EAL's words, and the start leaves nothing")
def test_eal_refuses(build_net):
    net = build_net(start=False)
    net.router.config["dpdk"]["eal"] = ["--iova-mode=nonsense"]
    net.router.write()
    assert net.router.launch().wait(DEADLINE) == 1
    log = net.router.log()
    assert "/dpdk" in log and "iova" in log.lower(), log
    assert not {"p1", "p2", "p3"} & links(net)


@requirement("what a driver counts is shown by its names")
def test_driver_statistics(net):
    wait_for_crossing(net.a, net.b)
    statistics = net.router.json("show", "counters")["ports"]["p1"]["nic"]
    assert statistics["rx_packets"] > 0 and statistics["tx_packets"] > 0
    assert {"rx_missed", "rx_errors", "rx_nombuf", "tx_errors"} <= statistics.keys()


@requirement("two workers on drivers of one and of two queues: both families, nothing lost, nothing reordered")
def test_two_workers(build_net, stream):
    net = build_net(start=False, config={"workers": {"count": 2}})
    for host in net.hosts:
        net.router.config["interfaces"][host.port]["device"] += ",qpairs=2"
    net.start()
    queues = [(queue["port"], queue["queue"]) for worker in net.router.json("show", "workers")["workers"]
              for queue in worker["queues"]]
    assert sorted(queues) == [(host.port, queue) for host in net.hosts for queue in (0, 1)]
    streams = [stream(net.a, net.b, rate=4000), stream(net.b, net.c, rate=4000, family=6)]
    for one in streams:
        one.flows_again(4000)
    for one in streams:
        assert_nothing_lost(one.finish())


@requirement("a driver with fewer transmit queues than workers is refused in words")
def test_too_few_queues(build_net):
    net = build_net(start=False, config={"workers": {"count": 2}})
    assert net.router.launch().wait(DEADLINE) == 1
    assert "1 transmit queues here for 2 workers" in net.router.log() and "qpairs" in net.router.log()


@requirement("an idle worker sleeps, and is awake again for each packet")
def test_idle_worker_sleeps(build_net):
    net = build_net()
    wait_for(lambda: worker_states(net.router.process.pid) == ["S"], what="the worker sleeps")
    assert "4 received" in net.a.namespace.run("ping", "-c", "4", "-i", "0.2", "-q", net.b.ip4).stdout
    wait_for(lambda: worker_states(net.router.process.pid) == ["S"], what="the worker sleeps again")
