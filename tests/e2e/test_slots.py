# SPDX-License-Identifier: BSD-3-Clause
"""No packet's place is ever lost: ten million packets, with rings forced full, neighbours dying, ports flapping."""

import os
import signal
import subprocess
import time

import pytest
from lib.packets import token, udp4, wait_for_crossing
from lib.tools import compiled
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("slots are Pktpit's own"), pytest.mark.xdp("slots of AF_XDP"),
              pytest.mark.says_who_decides("each port has its own way")]

PACKETS = 10_000_000


def workers_of(net):
    return net.router.json("show", "workers")["workers"]


def lost(workers):
    return [worker["slots"]["lost"] for worker in workers]


def flap(net):
    """The device of c goes and comes again."""
    net.router.namespace.ip("link", "del", net.c.port)
    net.c.reconnect()


def kill_neighbour(net):
    """b answers nothing for a while; what is for it waits or is dropped."""
    net.b.namespace.ip("link", "set", "eth0", "arp", "off")
    net.router.namespace.ip("neigh", "flush", "dev", net.b.port)
    time.sleep(0.5)
    net.b.namespace.ip("link", "set", "eth0", "arp", "on")


def stand_still(net):
    """The daemon is stopped until every receive ring is full."""
    net.router.process.send_signal(signal.SIGSTOP)
    time.sleep(0.2)
    net.router.process.send_signal(signal.SIGCONT)


def block_egress(net):
    """b's port takes nothing: transmit rings fill up as far as routes let packets there."""
    net.router.namespace.ip("link", "set", net.b.port, "down")
    time.sleep(0.1)
    net.router.namespace.ip("link", "set", net.b.port, "up")


@pytest.mark.timeout(170)
@pytest.mark.alone("ten million packets take all of the machine")
@requirement("ten million packets, rings forced full, neighbours dying, ports flapping: no slot is lost")
def test_no_slot_is_lost(build_net):
    tool = compiled("flood")
    net = build_net(start=False, queues=2, config={"workers": {"count": 2}})
    for host in net.hosts:
        net.router.config["interfaces"][host.port]["forwarding"] = "split"
    net.router.write()
    net.router.start()
    net.topology.settle(net.router)

    def frames(sender, *receivers):
        return [sender.frame(udp4(sender, receiver, token() + bytes(20))).hex() for receiver in receivers]

    cpus = sorted(os.sched_getaffinity(0))
    floods = [
        net.a.namespace.start(tool, "eth0", cpus[0], 2 * PACKETS, *frames(net.a, net.b, net.c), stdout=subprocess.PIPE),
        net.b.namespace.start(tool, "eth0", cpus[-1], 2 * PACKETS, *frames(net.b, net.c, net.a), stdout=subprocess.PIPE),
    ]
    packets, rounds = 0, 0
    deadline = time.monotonic() + 120
    while packets < PACKETS or rounds < 8:
        assert time.monotonic() < deadline, f"{packets} packets after {rounds} rounds"
        (flap, kill_neighbour, stand_still, block_egress)[rounds % 4](net)
        rounds += 1
        workers = workers_of(net)
        assert lost(workers) == [0, 0], workers
        packets = sum(worker["packets"] for worker in workers)
    for flood in floods:
        flood.terminate()
        flood.wait()

    def at_rest():
        slots = [worker["slots"] for worker in workers_of(net)]
        return all(one["transmit"] == 0 and one["retired"] == 0 and one["lost"] == 0 and
                   one["free"] + one["receive"] == one["total"] for one in slots) and slots

    wait_for(at_rest, 10.0, "all slots are free or in receive rings")
    verdicts = net.router.counters()
    assert verdicts.get("drop_split_full", 0) > 0, "no receive ring was ever full"
    net.c.wire.drain()
    wait_for_crossing(net.a, net.c)
    wait_for_crossing(net.a, net.b)
