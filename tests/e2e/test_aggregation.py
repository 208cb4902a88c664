# SPDX-License-Identifier: BSD-3-Clause
"""The router adds what workers send it: real workers behind its ports, over a network that loses, doubles and reorders
(by the workers' own doing: they drop, repeat and hold back datagrams either way)."""

import copy
import socket
from contextlib import ExitStack

import pytest
from lib.packets import delivered
from lib.stream import WINDOW, assert_nothing_lost
from lib.summing import PORT, Job, WorkerByHand, give_addresses, group, header
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux adds nothing"), pytest.mark.xdp("port stages do the adding")]
FAULTS = {"lose": 0.005, "duplicate": 0.01, "delay": 0.02}  # each way, at each worker


@pytest.fixture
def jobs():
    running = []

    def start(workers, **options):
        running.append(Job(workers, **options))
        return running[-1]

    yield start
    for job in running:
        job.close()


def build(build_net, count=4, each=1, settings=None, groups=None):
    workers = []

    def configure(topology):
        workers.extend(give_addresses(topology, each))
        return {"aggregation": {"groups": groups(workers) if groups else {"job1": group(workers, **(settings or {}))}}}

    net = build_net(count=count, configure=configure)
    net.workers = workers
    return net


def shown(net, name="job1"):
    return net.router.json("show", "aggregation")["groups"][name]


@requirement("4 workers on 4 ports, 1 % loss, 1 % duplicates, reordering: every sum at every worker is bit-exact")
def test_four_workers_over_a_bad_network(build_net, jobs):
    net = build(build_net)
    job = jobs(net.workers, rounds=5, elements=362 * 200, **FAULTS)
    done = job.finish()
    assert all(one["again"] > 0 and one["repeated"] > 0 for one in done), "there was no loss"
    state = shown(net)
    assert state["chunks"] == 5 * 200
    assert sum(one["packets"] for one in state["workers"]) > 4 * state["chunks"], "with those that were sent again"
    assert sum(one["last"] for one in state["workers"]) == state["chunks"]
    assert {why: count for why, count in state["drops"].items() if count and why not in ("stale", "epoch")} == {}


@requirement("16 workers, 4 behind each port: a copy of the result for each of them")
def test_sixteen_workers_four_behind_a_port(build_net, jobs):
    net = build(build_net, each=4, settings={"slots": 64})
    job = jobs(net.workers, rounds=2, elements=362 * 100, **FAULTS)
    job.finish()
    assert shown(net)["chunks"] == 2 * 100


@requirement("block floating point: 4 workers, 1 % loss, 1 % duplicates, reordering, every sum exact")
def test_block_floating_point(build_net, jobs):
    net = build(build_net, settings={"type": "bfp16"})
    done = jobs(net.workers, rounds=4, elements=724 * 200, type="bfp16", **FAULTS).finish()
    assert all(one["again"] > 0 and one["repeated"] > 0 for one in done), "there was no loss"
    state = shown(net)
    # Of each vector, 200 chunks with mantissas behind 200 that agree on the exponents: there are more slots.
    assert (state["type"], state["chunks"]) == ("bfp16", 4 * 400)


@requirement("block floating point, 16 workers, 4 behind each port")
def test_block_floating_point_of_sixteen(build_net, jobs):
    net = build(build_net, each=4, settings={"type": "bfp16", "slots": 64})
    jobs(net.workers, rounds=2, elements=724 * 100, type="bfp16", **FAULTS).finish()
    assert shown(net)["chunks"] == 2 * 164


@requirement("without loss each worker gets each result once, by the first copy: nobody has to ask, and nobody is answered")
@pytest.mark.parametrize(("count", "each"), [(4, 1), (2, 2), (4, 4)])
def test_results_come_without_asking(build_net, count, each):
    net = build(build_net, count=count, each=each, settings={"timeout_ms": 60_000})
    with ExitStack() as stack:
        workers = [stack.enter_context(WorkerByHand(number, *worker)) for number, worker in enumerate(net.workers)]
        for worker in workers:
            worker.say_join()
        assert len({worker.wait_until_open() for worker in workers}) == 1, "one epoch"
        elements = lambda worker, chunk: (worker.number + 1, chunk * (worker.number + 1))
        ahead = WINDOW // len(workers)  # chunks under way
        for chunk in range(1000 + ahead):
            if chunk < 1000:
                for worker in workers:
                    worker.add(chunk, elements(worker, chunk))
            if chunk >= ahead:
                sums = tuple(map(sum, zip(*(elements(worker, chunk - ahead) for worker in workers))))
                assert {worker.result(chunk - ahead) for worker in workers} == {sums}
        assert not any(worker.more() for worker in workers)
    state = shown(net)
    assert (state["chunks"], state["answered"]) == (1000, 0)
    assert [worker["packets"] for worker in state["workers"]] == [1000] * len(workers)


def goes_on(job):
    """Each worker has some rounds more, and no sum of any was wrong."""
    for worker, before in [(worker, len(worker.of("round"))) for worker in job.running]:
        worker.wait("round", before + 3)
    assert all(one["wrong"] == 0 for worker in job.running for one in worker.of("round"))


@requirement("a worker that is killed is told to the others within its timeout; started again it joins a new epoch")
def test_worker_is_killed_and_started_again(build_net, jobs):
    net = build(build_net, settings={"timeout_ms": 1000})
    job = jobs(net.workers, rounds=100000, elements=362 * 20, **FAULTS)
    for worker in job.running:
        worker.wait("round", 3)
    assert [worker["port"] for worker in shown(net)["workers"]] == [host.port for host in net.hosts]
    job.running[2].kill()
    for worker in job.running[:2] + job.running[3:]:
        assert worker.wait("failed")["lost"] == [2]
    assert shown(net)["workers"][2]["lost"]
    job.restart(2)
    for worker in job.running:
        assert worker.wait("joined", 1 if worker is job.running[2] else 2)["epoch"] == job.running[2].wait("joined")["epoch"]
    epochs = [one["epoch"] for one in job.running[0].of("joined")]
    assert epochs[1] == (epochs[0] + 1) % 65536
    goes_on(job)
    # One that is started anew before anybody has missed it.
    joined = [len(worker.of("joined")) for worker in job.running]
    job.running[3].kill()
    job.restart(3)
    for worker, count in zip(job.running[:3], joined):
        worker.wait("joined", count + 1)
    goes_on(job)


@requirement("kill -9 of the daemon: the stage goes on adding; a restarted daemon takes the epoch over")
def test_daemon_is_killed_and_restarted(build_net, jobs):
    net = build(build_net)
    job = jobs(net.workers, rounds=100000, elements=362 * 100, pause_ms=5, **FAULTS)
    for worker in job.running:
        worker.wait("round", 5)
    epoch = shown(net)["epoch"]
    net.router.kill()
    counts = [len(worker.of("round")) for worker in job.running]
    for worker, count in zip(job.running, counts):
        worker.wait("round", count + 20)
    net.router.start()
    state = shown(net)
    assert (state["running"], state["epoch"]) == (True, epoch)
    goes_on(job)
    assert all(len(worker.of("joined")) == 1 for worker in job.running), "nobody had to join again"


@requirement("a reload adds and removes groups while others run, and a refused one changes nothing")
def test_reload_under_way(build_net, jobs):
    net = build(build_net, each=2, groups=lambda workers: {"job1": group(workers[0::2])})
    first, second = net.workers[0::2], net.workers[1::2]
    job = jobs(first, rounds=100000, elements=362 * 50, pause_ms=5, **FAULTS)
    job.running[0].wait("round", 3)
    config = copy.deepcopy(net.router.config)
    config["aggregation"]["groups"]["job2"] = group(second, port=PORT + 1, slots=64)
    net.router.apply(config)
    other = jobs(second, rounds=5, elements=362 * 50, port=PORT + 1, **FAULTS)
    other.finish()
    # Somebody else has the port.
    with net.topology.router_namespace.entered():
        taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("0.0.0.0", PORT + 2))
    refused = copy.deepcopy(config)
    del refused["aggregation"]["groups"]["job2"]
    refused["aggregation"]["groups"]["job3"] = group(second, port=PORT + 2)
    said = net.router.apply(refused, check=False)
    assert said.returncode and "/aggregation/groups/job3/port" in said.stdout + said.stderr
    taken.close()
    assert set(net.router.json("show", "aggregation")["groups"]) == {"job1", "job2"}
    net.router.apply()
    assert set(net.router.json("show", "aggregation")["groups"]) == {"job1"}
    goes_on(job)
    assert all(len(worker.of("joined")) == 1 for worker in job.running), "nobody had to join again"


@requirement("groups that go take the adding out of the programs; they come back with a reload")
def test_last_group_goes_and_comes_back(build_net, jobs):
    net = build(build_net, count=2)
    jobs(net.workers, rounds=2).finish()
    without = copy.deepcopy(net.router.config)
    del without["aggregation"]
    net.router.apply(without)
    assert net.router.json("show", "aggregation")["groups"] == {}
    assert not [name for name in net.router.pins.iterdir() if "sum" in name.name]
    net.router.apply()
    jobs(net.workers, rounds=2).finish()


@requirement("no packet of a stranger changes a sum: counted by reason")
def test_strangers(build_net, jobs):
    net = build(build_net)
    job = jobs(net.workers, rounds=100000, elements=362 * 20, pause_ms=5)
    job.running[0].wait("round", 3)
    epoch = shown(net)["epoch"]
    host = net.hosts[0]

    def datagram(payload=b"\xff" * 8, **fields):
        return header(**{"epoch": epoch, "count": 2} | fields) + payload

    sent = {
        "key": datagram(key=1), "epoch": datagram(epoch=(epoch - 1) % 65536), "slot": datagram(slot=999),
        "length": datagram(payload=b"\0" * 7), "source": datagram(worker=1), "form": b"hello",
    }
    with host.namespace.entered():
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stranger.bind((net.workers[0][1], 0))
    for bytes_ in sent.values():
        stranger.sendto(bytes_, (host.router_ip4, PORT))
    wait_for(lambda: all(shown(net)["drops"][why] >= 1 for why in sent), "each is counted")
    stranger.close()
    with host.namespace.entered():
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stranger.bind((host.ip4, 0))  # no worker's address
    before = shown(net)["drops"]["source"]
    stranger.sendto(datagram(), (host.router_ip4, PORT))
    wait_for(lambda: shown(net)["drops"]["source"] == before + 1, "it is counted")
    stranger.close()
    assert net.router.counters()["drop_aggregation"] >= 7
    goes_on(job)


@requirement("plain forwarding on the same ports goes on beside the adding, nothing lost")
def test_forwarding_beside_it(build_net, jobs, stream):
    net = build(build_net)
    job = jobs(net.workers, rounds=100000, elements=362 * 100, pause_ms=10)
    job.running[0].wait("round", 2)
    running = stream(net.a, net.b)
    running.flows_again(2000)
    goes_on(job)
    assert_nothing_lost(running.finish())


@requirement("where the router does not answer, workers add by a ring over TCP, and say so")
def test_ring_without_a_router(build_net, jobs):
    net = build(build_net, count=3, groups=lambda workers: {})
    peers = ",".join(f"{address}:7000" for _, address in net.workers)
    job = jobs(net.workers, rounds=5, elements=50001, peers=peers, router_timeout_ms=300)
    job.finish()
    for worker in job.running:
        assert worker.of("joined")[0]["way"] == "ring"
        assert "no answer from" in worker.of("log")[0]["text"]


@requirement("who is missing is named")
def test_worker_that_does_not_come(build_net, jobs):
    net = build(build_net, count=2)
    job = Job(net.workers[:1])
    try:
        wait_for(lambda: shown(net)["workers"][0]["joined"], "it has joined")
        text = net.router.cli("show", "aggregation").stdout
        assert "waits for workers" in text and "missing" in text
    finally:
        job.close()


@requirement("what a worker sends beside elements is a packet like any other")
def test_port_is_not_in_the_way_of_transit(build_net):
    net = build(build_net, count=2)
    delivered(net.a, net.b, dport=PORT)
