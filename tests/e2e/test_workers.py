# SPDX-License-Identifier: BSD-3-Clause
"""Several workers, several queues: who serves what, and that each packet still goes where it should."""

import os
import time

import pytest
from lib.namespaces import end
from lib.packets import delivered, udp4, udp6, wait_for_crossing
from lib.processes import cpu_seconds, worker_states
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("workers are Pktpit's own"), pytest.mark.xdp("queues and slots of AF_XDP"),
              pytest.mark.says_who_decides("each port has its own way")]


def start(build_net, workers, forwarding=("split", "split", "split"), **options):
    net = build_net(start=False, config={"workers": workers}, **options)
    for host, how in zip(net.hosts, forwarding):
        net.router.set_forwarding(how, host.port)
    net.start()
    return net


def workers_of(net):
    return net.router.json("show", "workers")["workers"]


def assert_no_slot_lost(net):
    for worker in workers_of(net):
        slots = worker["slots"]
        assert slots["lost"] == 0, slots
        assert slots["total"] == slots["free"] + slots["receive"] + slots["transmit"] + slots["retired"]


@requirement("two and three workers on ports of one queue: both families, both ways, nothing lost, nothing reordered")
@pytest.mark.parametrize("count", [2, 3])
def test_more_workers_than_queues(build_net, stream, count):
    net = start(build_net, {"count": count})
    there = workers_of(net)
    assert [worker["worker"] for worker in there] == list(range(count))
    assert sorted(len(worker["queues"]) for worker in there) == sorted([3 // count] * (count - 3 % count) + [3 // count + 1] * (3 % count))
    for make in (udp4, udp6):
        for sender in net.hosts:
            for receiver in net.hosts:
                if sender is not receiver:
                    wait_for_crossing(sender, receiver, make)
    streams = [stream(net.a, net.b, rate=4000), stream(net.b, net.c, rate=4000), stream(net.c, net.a, rate=4000, family=6)]
    for one in streams:
        one.flows_again(4000)
    for one in streams:
        assert_nothing_lost(one.finish())
    assert all(worker["packets"] >= 4000 for worker in workers_of(net)), workers_of(net)
    assert_no_slot_lost(net)


@requirement("a worker beside an inline port: its frames leave by that one too")
def test_workers_beside_inline(build_net, stream):
    net = start(build_net, {"count": 2}, ("split", "split", "inline"))
    streams = [stream(net.a, net.c, rate=5000), stream(net.b, net.a, rate=5000)]
    for one in streams:
        one.flows_again(2000)
    for one in streams:
        assert_nothing_lost(one.finish())
    assert_no_slot_lost(net)


@requirement("workers stay on the CPUs that they are given; one that does not exist is refused with what there is")
def test_cpus(build_net):
    cpus = sorted(os.sched_getaffinity(0))
    net = start(build_net, {"cpus": cpus[:2]})
    pinned = {}
    for task in os.listdir(f"/proc/{net.router.process.pid}/task"):
        with open(f"/proc/{net.router.process.pid}/task/{task}/comm") as comm:
            name = comm.read().strip()
        if name.startswith("pktpit-w"):
            pinned[name] = os.sched_getaffinity(int(task))
    assert pinned == {f"pktpit-w{index}": {cpu} for index, cpu in enumerate(cpus[:2])}
    assert [worker["cpu"] for worker in workers_of(net)] == cpus[:2]
    net.router.stop()
    net.router.config["workers"] = {"cpus": [cpus[0], 8000]}
    net.router.write()
    net.router.launch()
    assert net.router.process.wait(DEADLINE) == 1
    assert "/workers/cpus/1" in net.router.log() and "there is no CPU 8000" in net.router.log()


@requirement("an idle worker sleeps, but with \"busy\", where it never does; all forward")
@pytest.mark.parametrize("polling", ["adaptive", "interrupt", "busy"])
def test_polling(build_net, polling):
    net = start(build_net, {"polling": polling}, count=2)
    assert [worker["polling"] for worker in workers_of(net)] == [polling]
    pid = net.router.process.pid
    if polling == "busy":
        assert {state for _ in range(100) for state in worker_states(pid)} == {"R"}
    else:
        wait_for(lambda: worker_states(pid) == ["S"], what="the worker sleeps")
    for _ in range(20):
        delivered(net.a, net.b)


@requirement("an idle router takes next to no CPU, beside a loop that takes what it gets")
@pytest.mark.measure("a share of the CPU")
@pytest.mark.parametrize("polling", ["adaptive", "interrupt"])
def test_idle_cpu(build_net, polling):
    net = start(build_net, {"polling": polling}, count=2)
    loop = net.a.namespace.start("sh", "-c", "while :; do :; done")
    pids = (net.router.process.pid, loop.pid)
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(3)
    router, control = (cpu_seconds(pid) - then for pid, then in zip(pids, before))
    end(loop)
    print(f"{polling}: {router:.2f} s of a CPU while nothing comes, the loop {control:.2f} s")
    assert router <= 0.08 * control


@requirement("every queue of a port with two or four is served, by all workers, and each flow stays in order")
@pytest.mark.parametrize("queues, count", [(2, 2), (4, 2), (4, 4)])
def test_queues(build_net, stream, queues, count):
    net = start(build_net, {"count": count}, queues=queues)
    there = workers_of(net)
    assert {worker["worker"]: len(worker["queues"]) for worker in there} == {i: 3 * queues // count for i in range(count)}
    streams = [stream(net.a, net.b, rate=4000, flows=256), stream(net.b, net.a, rate=4000, flows=256)]
    for one in streams:
        one.flows_again(4000)
    for one in streams:
        assert_nothing_lost(one.finish())
    for port in ("p1", "p2"):
        statistics = net.topology.router_namespace.run("ethtool", "-S", port).stdout
        for queue in range(queues):
            packets = int(statistics.split(f"rx_queue_{queue}_xdp_packets:")[1].split()[0])
            assert packets > 500, f"queue {queue} of {port} had {packets} packets"
    assert all(worker["packets"] > 500 for worker in workers_of(net)), workers_of(net)
    assert_no_slot_lost(net)


@requirement("more receive queues than a worker has places for full ones: the busy ones do not starve, whichever they are")
def test_more_queues_than_full_ones(build_net, stream):
    net = start(build_net, {"count": 1}, queues=8)
    assert [len(worker["queues"]) for worker in workers_of(net)] == [24]
    for sender, receiver in ((net.c, net.b), (net.a, net.c), (net.b, net.a)):
        one = stream(sender, receiver, rate=4000)  # of one flow, and so of one queue
        one.flows_again(4000)
        assert_nothing_lost(one.finish())
    slots = workers_of(net)[0]["slots"]
    assert slots["free"] > slots["total"] / 8, slots
    assert_no_slot_lost(net)
