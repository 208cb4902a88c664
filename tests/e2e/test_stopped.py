# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that stands still (SIGSTOP, a debugger, a starved machine): every port forwards on. An inline one loses
nothing, a split or auto one what was under way to its worker; once the daemon goes on its workers decide again, and
nothing comes twice or late. With "on_daemon_loss": "kernel" Linux takes over after a while."""

import contextlib
import json
import signal
import subprocess
import time

import pytest
from lib.namespaces import end
from lib.packets import token, udp4, udp6, wait_for_crossing
from lib.pktpit_router import TOOL
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("who decides is Pktpit's own affair"), pytest.mark.xdp("split ports beside inline ones"),
              pytest.mark.says_who_decides("each port has its own way")]

FRAMES = 3000


def start(build_net, forwarding, config=None, **options):
    net = build_net(start=False, config={"heartbeat": {}, **(config or {})}, count=2, **options)
    net.router.set_forwarding(forwarding)
    net.start()
    return net


def stopped(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"


@contextlib.contextmanager
def standing_still(net):
    pid = net.router.process.pid
    net.router.process.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: stopped(pid), "the daemon stands still")
        yield
    finally:
        net.router.process.send_signal(signal.SIGCONT)


def stood_in(net):
    """What the stage of p1 has done in its worker's place."""
    return net.router.ports()["p1"]["stand_in"]


def dropped_by_name(net):
    verdicts = net.router.counters()
    return sum(verdicts.get(name, 0) for name in ("drop_stale", "drop_split_full", "drop_egress_full"))


def assert_lost_on_the_way(net, running, before):
    """Of each time that a worker stood at most what was under way to it, each frame counted; none came twice, none late."""
    result = running.finish()
    assert (result["duplicated"], result["reordered"]) == (0, 0), result
    stood = stood_in(net)["times"]
    assert stood >= 1 and result["lost"] <= stood * running.on_the_way(result), (stood, result)
    wait_for(lambda: dropped_by_name(net) - before == result["lost"], what=f"each of {result['lost']} lost frames is counted under a name")


@requirement("SIGSTOP of the daemon: a split or auto port loses what was under way to its worker and no more, each frame counted; "
             "SIGCONT: none comes twice, none late, and the workers decide again; IPv4 and IPv6, observed or not")
@pytest.mark.parametrize("observed", [False, True], ids=["plain", "traced"])
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("forwarding", ["split", "auto"])
def test_hung_daemon(build_net, stream, forwarding, family, observed):
    # An auto port's stage would hold the few destinations of a stream: none may be held.
    net = start(build_net, forwarding, {"offload": {"fib_entries": 0}})
    trace = None
    if observed:
        trace = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "trace", "--sample", "1000", "--json"],
                                 stdout=subprocess.DEVNULL, start_new_session=True)
        wait_for(lambda: "packets are observed: " in net.router.log(), "the daemon observes")
    try:
        before = dropped_by_name(net)
        running = stream(net.a, net.b, family=family)
        with standing_still(net):
            running.flows_again(FRAMES)
        running.flows_again(FRAMES)
        assert_lost_on_the_way(net, running, before)
    finally:
        if trace:
            end(trace)
    assert stood_in(net)["packets"] >= FRAMES
    wait_for(lambda: not stood_in(net)["now"], "the worker has the packets again")
    split = net.router.json("show", "offload")["ports"][0]["split_packets"]
    wait_for_crossing(net.a, net.b)
    wait_for(lambda: net.router.json("show", "offload")["ports"][0]["split_packets"] > split, "the worker decides")
    wait_for(lambda: "port p1: its worker stood still" in net.router.log(), "the log says so")


@requirement("SIGSTOP again and again, and only for moments: none comes twice, none late")
def test_hung_again_and_again(build_net, stream):
    net = start(build_net, "split")
    before = dropped_by_name(net)
    running = stream(net.a, net.b, flows=64)
    for frames in [10, 50, 100, 125, 200, 500] * 3:
        with standing_still(net):
            running.flows_again(frames)
        running.flows_again(4 * frames)
    assert_lost_on_the_way(net, running, before)


@requirement("several workers, several queues: each queue's stage stands in for its own worker")
def test_hung_workers(build_net, stream):
    net = start(build_net, "split", {"workers": {"count": 2}}, queues=4)
    before = dropped_by_name(net)
    running = stream(net.a, net.b, flows=256)
    with standing_still(net):
        running.flows_again(FRAMES)
    running.flows_again(FRAMES)
    assert_lost_on_the_way(net, running, before)
    wait_for(lambda: not stood_in(net)["now"], "the workers have the packets again")


@requirement("inline ports lose nothing while the daemon stands still")
def test_hung_daemon_inline(build_net, stream):
    net = start(build_net, "inline")
    running = stream(net.a, net.b)
    with standing_still(net):
        running.flows_again(10_000)
    assert_nothing_lost(running.finish(after=FRAMES))


@requirement("\"worker_ms\": 0: a worker is waited for; a reload changes it")
def test_no_heartbeat(build_net, stream):
    net = start(build_net, "split", {"heartbeat": {"worker_ms": 0}})
    with standing_still(net):
        marks = [token() for _ in range(4)]
        for mark in marks:
            net.a.send(udp4(net.a, net.b, mark))
            time.sleep(0.05)  # for longer than a heartbeat; on a slower machine it is still longer
    for mark in marks:
        net.b.receive(mark)
    assert stood_in(net) == {"now": False, "times": 0, "packets": 0}
    net.router.config["heartbeat"] = {"worker_ms": 10}
    assert "heartbeat: ms that a worker is waited for: 0 → 10" in net.router.apply().stdout
    running = stream(net.a, net.b)
    with standing_still(net):
        running.flows_again(FRAMES)
    running.finish()
    assert stood_in(net)["times"] >= 1


# The appliance: routing daemons go on giving Linux their routes.

TO_THE_KERNEL = {"heartbeat": {"on_daemon_loss": "kernel", "hold_s": 1}}


def kernel_forwards(net):
    """Linux's forwarding, and its own way to what lies behind the hosts, as a routing daemon would give it."""
    net.topology.router_namespace.sysctl({"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    for host in net.hosts:
        net.router.namespace.ip("route", "replace", f"198.18.{host.number}.0/24", "via", host.ip4)
        net.router.namespace.ip("-6", "route", "replace", f"2001:db8:{host.number}:100::/56", "via", host.ip6)


def crosses_by_the_kernel_alone(net, family):
    """A destination that only Linux has a route to."""
    if family == 4:
        net.router.namespace.ip("route", "replace", "203.0.113.0/24", "via", net.b.ip4)
        wait_for_crossing(net.a, net.b, lambda *hosts: udp4(*hosts, dst="203.0.113.7"))
    else:
        net.router.namespace.ip("-6", "route", "replace", "2001:db8:ffff::/64", "via", net.b.ip6)
        wait_for_crossing(net.a, net.b, lambda *hosts: udp6(*hosts, dst="2001:db8:ffff::7"))


def to_kernel(net, port="p1"):
    return net.router.json("show", "counters")["ports"][port]["verdicts"].get("host_daemon_lost", 0)


def wait_for_the_stage(net, running):
    def back():
        before = to_kernel(net)
        running.flows_again(1000)
        return to_kernel(net) == before

    wait_for(back, what="the port stage has the packets again")


@requirement("\"on_daemon_loss\": \"kernel\": after hold_s without a daemon Linux forwards, by a route that only it has; the daemon "
             "goes on: the port stage forwards again")
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("forwarding", ["inline", "split", "auto"])
def test_kernel_takes_over(build_net, stream, forwarding, family):
    net = start(build_net, forwarding, TO_THE_KERNEL)
    kernel_forwards(net)
    running = stream(net.a, net.b, family=family, rate=5000)
    with standing_still(net):
        crosses_by_the_kernel_alone(net, family)
        running.flows_again(FRAMES)
    wait_for(lambda: to_kernel(net) >= FRAMES, "Linux has forwarded")
    wait_for(lambda: "stood still for" in net.router.log(), "the log says so")
    wait_for_the_stage(net, running)
    result = running.finish()
    assert result["duplicated"] == 0, result


@requirement("\"on_daemon_loss\": \"kernel\" after kill -9, and a restart takes the packets back")
def test_kernel_takes_over_after_a_kill(build_net, stream):
    net = start(build_net, "inline", TO_THE_KERNEL)
    kernel_forwards(net)
    running = stream(net.a, net.b, rate=5000)
    net.router.kill()
    crosses_by_the_kernel_alone(net, 4)
    running.flows_again(FRAMES)
    net.router.start()
    assert to_kernel(net) >= FRAMES, "counters are taken over"
    wait_for_the_stage(net, running)
    running.finish()


@requirement("\"on_daemon_loss\" by a reload, both ways, on ports that run; forwarding that is off is warned about")
def test_daemon_loss_by_reload(build_net, stream):
    net = start(build_net, "inline")
    assert "net/ipv4/ip_forward is 0" not in net.router.log()
    net.topology.router_namespace.sysctl({"net/ipv4/ip_forward": 0})
    net.router.config.update(TO_THE_KERNEL)
    assert "forward → kernel" in net.router.apply().stdout
    assert "net/ipv4/ip_forward is 0" in net.router.log()
    kernel_forwards(net)
    running = stream(net.a, net.b, rate=2000)
    with standing_still(net):
        crosses_by_the_kernel_alone(net, 4)
    net.router.config["heartbeat"] = {}
    net.router.apply()
    running.flows_again(1000)
    before = to_kernel(net)
    with standing_still(net):
        running.flows_again(2000 * 2)  # as many as come in twice the time that the daemon would be waited for
    assert to_kernel(net) == before
    assert json.loads(net.router.cli("show", "config").stdout)["heartbeat"]["on_daemon_loss"] == "forward"
    running.finish()
