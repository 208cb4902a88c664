# SPDX-License-Identifier: BSD-3-Clause
"""No packet's place is ever lost, with rings forced full, neighbours dying, ports flapping. PKTPIT_ROUNDS=N for more of that."""

import os
import signal

import pytest
from lib.packets import token, udp4, wait_for_crossing
from lib.processes import cpu_seconds
from lib.tools import compiled
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("slots are Pktpit's own"), pytest.mark.xdp("slots of AF_XDP"),
              pytest.mark.says_who_decides("each port has its own way")]

ROUNDS = int(os.environ.get("PKTPIT_ROUNDS", 4))


def workers_of(net):
    return net.router.json("show", "workers")["workers"]


def lost(workers):
    return [worker["slots"]["lost"] for worker in workers]


def flap(net, flow):
    """The device of c goes and comes again."""
    net.router.namespace.ip("link", "del", net.c.port)
    net.c.reconnect()


def kill_neighbour(net, flow):
    """b answers nothing for a while; what is for it waits or is dropped."""
    net.b.namespace.ip("link", "set", "eth0", "arp", "off")
    net.router.namespace.ip("neigh", "flush", "dev", net.b.port)
    flow()
    net.b.namespace.ip("link", "set", "eth0", "arp", "on")


def stand_still(net, flow):
    """The daemon is stopped until every receive ring is full."""
    net.router.process.send_signal(signal.SIGSTOP)
    flow()
    net.router.process.send_signal(signal.SIGCONT)


def block_egress(net, flow):
    """b's port takes nothing: transmit rings fill up as far as routes let packets there."""
    net.router.namespace.ip("link", "set", net.b.port, "down")
    flow()
    net.router.namespace.ip("link", "set", net.b.port, "up")


@requirement("floods, rings forced full, neighbours dying, ports flapping: no slot is lost")
def test_no_slot_is_lost(build_net):
    tool = compiled("flood")
    net = build_net(start=False, queues=2, config={"workers": {"count": 2}})
    for host in net.hosts:
        net.router.config["interfaces"][host.port]["forwarding"] = "split"
    net.start()

    def frames(sender, *receivers):
        return [sender.frame(udp4(sender, receiver, token() + bytes(20))).hex() for receiver in receivers]

    cpus = sorted(os.sched_getaffinity(0))
    floods = [
        net.a.namespace.start(tool, "eth0", cpus[0], 1 << 40, *frames(net.a, net.b, net.c)),
        net.b.namespace.start(tool, "eth0", cpus[-1], 1 << 40, *frames(net.b, net.c, net.a)),
    ]

    def flow():
        """Each flood has had 50 ms of a CPU, in which it sends some ten thousand frames."""
        enough = [cpu_seconds(flood.pid) + 0.05 for flood in floods]
        wait_for(lambda: all(cpu_seconds(flood.pid) >= goal for flood, goal in zip(floods, enough)), what="the floods go on")

    for number in range(ROUNDS):
        flow()
        (flap, kill_neighbour, stand_still, block_egress)[number % 4](net, flow)
        assert lost(workers_of(net)) == [0, 0], workers_of(net)
    for flood in floods:
        flood.terminate()
        flood.wait()

    def at_rest():
        slots = [worker["slots"] for worker in workers_of(net)]
        return all(one["transmit"] == 0 and one["retired"] == 0 and one["lost"] == 0 and
                   one["free"] + one["receive"] == one["total"] for one in slots) and slots

    wait_for(at_rest, what="all slots are free or in receive rings")
    packets = sum(worker["packets"] for worker in workers_of(net))
    print(f"{packets} packets in {ROUNDS} rounds")
    assert packets > 1000 * ROUNDS
    assert net.router.counters().get("drop_split_full", 0) > 0, "no receive ring was ever full"
    net.c.wire.drain()
    wait_for_crossing(net.a, net.c)
    wait_for_crossing(net.a, net.b)
