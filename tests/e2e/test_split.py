# SPDX-License-Identifier: BSD-3-Clause
"""Split ports: the port stage hands headers to the daemon's control loop, which decides."""

import copy
import time

import pytest
from lib.packets import both_ways, delivered, token, udp4, udp6, wait_for_crossing
from lib.stream import assert_none_lost, assert_nothing_lost

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("who decides is Pktpit's own affair"), pytest.mark.xdp("split ports beside inline ones")]


def start(build_net, config=None, mtus=None, **forwarding):
    """A router whose ports forward as said, by their names; the others inline."""
    net = build_net(start=False, config=config, mtus=mtus)
    for name in net.router.config["interfaces"]:
        net.router.set_forwarding(forwarding.get(name, "inline"), name)
    net.start()
    return net


def forwarding_of(net):
    return {name: port["forwarding"] for name, port in net.router.ports().items()}


@requirement("each port has its own way: split and inline ports forward to each other, both families, all sizes")
def test_split_beside_inline(build_net):
    net = start(build_net, p1="split")
    assert forwarding_of(net) == {"p1": "split", "p2": "inline", "p3": "inline"}
    for make in (udp4, udp6):
        for sender, receiver in ((net.a, net.b), (net.b, net.a)):
            wait_for_crossing(sender, receiver, make)
            for size in (0, 1, 60, 86, 87, 500, 1400):
                assert delivered(sender, receiver, make, bytes(size)).dst == receiver.mac


@requirement("split loses nothing under a load that it can carry, and keeps the order of a flow")
@pytest.mark.parametrize("family", [4, 6])
def test_split_stream(build_net, stream, family):
    net = start(build_net, p1="split", p2="split")
    running = stream(net.a, net.b, family=family, rate=20000)
    assert_nothing_lost(running.finish(after=5000))
    ports = net.router.json("show", "counters")["ports"]
    assert ports["p1"]["verdicts"]["forwarded"] >= 5000
    assert ports["p2"]["tx_packets"] >= 5000
    latency = net.router.json("show", "latency")["ports"]
    taken = latency["p1"]
    assert taken["count"] >= 5000
    assert 0 < taken["p50"] <= taken["p90"] <= taken["p99"] <= taken["p999"] <= taken["max"]
    assert latency["p3"] == {"count": 0, "p50": None, "p90": None, "p99": None, "p999": None, "max": None}


@requirement("a reload moves a port from inline to split and back, and refuses nothing that runs")
def test_reload_changes_who_decides(build_net):
    net = start(build_net)
    for wanted in ("split", "inline", "split"):
        net.router.set_forwarding(wanted, "p1")
        net.router.apply()
        assert forwarding_of(net)["p1"] == wanted
        both_ways(net.a, net.b)


@requirement("the daemon dies: a split port forwards on, as an inline one does; the next daemon has it split again")
def test_kill_and_restart(build_net, stream):
    net = start(build_net, p1="split", p2="split")
    both_ways(net.a, net.b)
    net.router.kill()
    running = stream(net.a, net.b, rate=10000)
    assert_nothing_lost(running.finish())
    net.router.start()
    wait_for_crossing(net.a, net.b)
    assert forwarding_of(net)["p1"] == "split"


@requirement("a reload that changes who decides loses nothing of what is under way")
def test_reload_under_load(build_net, stream):
    net = start(build_net)
    running = stream(net.a, net.b, rate=10000)
    running.flows_again(2000)
    for wanted in ("split", "inline", "split"):
        net.router.set_forwarding(wanted, "p1")
        net.router.apply()
        running.flows_again(2000)
    assert_none_lost(running.finish())


@requirement("a reload that is refused after a port changed sides leaves it as it was, and forwarding")
def test_refused_reload(build_net):
    net = start(build_net, config={"fib": {"table_memory_mib": 1}}, p2="split")
    for wanted in ({"p1": "split"}, {"p2": "inline"}):
        before = forwarding_of(net)
        config = copy.deepcopy(net.router.config)
        for name, forwarding in wanted.items():
            config["interfaces"][name]["forwarding"] = forwarding
        config["routes"] += [{"prefix": f"{30 + i // 256}.{i % 256}.1.1/32", "via": "10.2.0.2"} for i in range(2000)]
        refused = net.router.apply(config, check=False)
        assert refused.returncode == 1 and "the FIB is full" in refused.stderr, "a table of 1 MiB holds no 2,000 such routes"
        assert forwarding_of(net) == before
        both_ways(net.a, net.b)
    net.router.write()


@requirement("every receive queue of a split port is served")
def test_queues(build_net):
    net = start(build_net)
    net.topology.router_namespace.run("ethtool", "-L", "p1", "rx", "2", check=False)
    net.router.config["interfaces"]["p1"]["forwarding"] = "split"
    net.router.apply()
    wait_for_crossing(net.a, net.b)
    for port in range(64):
        delivered(net.a, net.b, sport=4000 + port)


@requirement("what the host owns reaches the host's stack from a split port: ping of the router, both families")
def test_the_host_answers(build_net):
    net = start(build_net, p1="split")
    for address in ("10.1.0.1", "2001:db8:1::1", "10.2.0.1", "2001:db8:2::1"):
        net.a.namespace.run("ping", "-c", "2", "-W", "30", address)


@requirement("frames longer than a socket takes: forwarded and counted as such on a split or auto port, both ways and families, in "
             "order with shorter ones of their flow")
@pytest.mark.parametrize("forwarding", ["split", "auto"])
@pytest.mark.parametrize("family", [4, 6])
def test_long_frames(build_net, stream, family, forwarding):
    net = start(build_net, p1=forwarding, p2=forwarding, mtus={"a": 9000, "b": 9000})
    before = net.router.json("show", "counters")["ports"]
    running = stream(net.a, net.b, family=family, rate=5000, size=9000)
    running.flows_again(2000)
    result = running.finish()
    assert_nothing_lost(result)
    after = net.router.json("show", "counters")["ports"]
    grown = {name: count - before["p1"]["verdicts"].get(name, 0) for name, count in after["p1"]["verdicts"].items()}
    assert grown["forwarded"] >= result["sent"]
    assert grown.get("no_route", 0) == 0, grown
    assert after["p2"]["tx_packets"] - before["p2"]["tx_packets"] >= result["sent"]
    assert after["p2"]["tx_bytes"] - before["p2"]["tx_bytes"] >= result["sent"] * 9000


@requirement("a long frame that does not fit the next link is counted too_big, not no_route, and its sender is told")
def test_long_frame_too_big(build_net):
    net = start(build_net, p1="split", mtus={"a": 9000})
    mark = token()
    net.a.send(udp4(net.a, net.b, mark + bytes(8000), flags="DF"))
    net.a.wire.receive(lambda frame: frame[23] == 1 and frame[34:36] == b"\x03\x04", 3.0, "fragmentation needed")
    verdicts = net.router.json("show", "counters")["ports"]["p1"]["verdicts"]
    assert (verdicts["too_big"], verdicts.get("no_route", 0)) == (1, 0), verdicts


@requirement("frames above 3,584 bytes: a split port forwards at least half as many as an inline one, offered 100,000 a second")
@pytest.mark.measure("a rate, of split ports beside inline ones")
def test_long_frames_rate(build_net, stream):
    net = start(build_net, mtus={"a": 9000, "b": 9000})
    running = stream(net.a, net.b, rate=100000, size=9000, window=0)
    rates = {"inline": [], "split": []}
    for _ in range(3):
        for forwarding, measured in rates.items():
            net.router.config["interfaces"]["p1"]["forwarding"] = forwarding
            net.router.apply()
            running.flows_again(2000)
            before, began = running.received(), time.monotonic()
            time.sleep(1.0)  # a rate is over a time
            measured.append((running.received() - before) / (time.monotonic() - began))
    running.finish()
    inline, split = (sorted(measured)[1] for measured in rates.values())
    print(f"9,000-byte frames a second: inline {inline:.0f}, split {split:.0f}, {split / inline:.2f}; all: {rates}")
    assert split >= 0.5 * inline, rates
