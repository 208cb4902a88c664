# SPDX-License-Identifier: BSD-3-Clause
"""A link fails under routes: how many packets that costs does not depend on how many prefixes lead over it.
PKTPIT_ROUTES=N and PKTPIT_RATE=N (packets a second) for other numbers; what is lost is printed with `pytest -s`."""

import json
import os
import signal
import struct
import subprocess
import time

import pytest
from lib.packets import goes_to
from lib.tools import compiled
from lib.waiting import wait_for

pytestmark = [pytest.mark.pktpit("backups and groups are Pktpit's own"),
              pytest.mark.xdp("on dpdk the time until the device is asked for its link, up to a second, hides what is measured")]
requirement = pytest.mark.requirement

RATE = int(os.environ.get("PKTPIT_RATE", 20_000))
FLAPS = 3
MANY = int(os.environ.get("PKTPIT_ROUTES", 100_000))
# As long as the cleaning up of so many prefixes would take at some million a second; an order of magnitude above what
# moves with the machine between two tries, of which the best counts.
RESOLUTION = 0.02 * RATE


def routes_of(count, tmp_path):
    """The stream's destination lies in the first of them."""
    path = tmp_path / "routes.txt"
    prefixes = ["198.19.7.0/24"] + [f"{20 + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0/24" for i in range(count - 1)]
    path.write_text("".join(f"{prefix} 1\n" for prefix in prefixes))
    return str(path)


def open_with(build_net, tmp_path, count, kind):
    def configure(topology):
        b, c = topology.b, topology.c
        hops = {"ecmp": {"next_hops": {"1": [{"via": c.ip4}, {"via": b.ip4}]}},
                "backup": {"next_hops": {"1": c.ip4}, "backup": {"*": b.ip4}},
                "covering": {"next_hops": {"1": c.ip4}}}[kind]
        around = [{"prefix": "0.0.0.0/0", "via": b.ip4}] if kind == "covering" else []
        return {"routes": around, "routes_files": [{"path": routes_of(count, tmp_path), **hops}]}

    return build_net(configure=configure)


class Receiver:
    def __init__(self, host, tmp_path):
        self.progress = tmp_path / f"progress-{host.label}"
        self.progress.write_bytes(bytes(8))
        self.process = host.namespace.start(compiled("traffic"), "receive", "eth0", self.progress, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def received(self):
        return struct.unpack("=Q", self.progress.read_bytes())[0]


def stop(process):
    process.send_signal(signal.SIGTERM)
    return json.loads(process.communicate(timeout=20)[0])


def lost_by_failure(net, tmp_path):
    """A stream of many flows to one destination behind b and c alike, of which c's link fails; on both sides it is counted."""
    receivers = [Receiver(host, tmp_path) for host in (net.b, net.c)]
    sender = net.a.namespace.start(compiled("traffic"), "send", "eth0", net.a.mac, net.a.router_mac, 4, net.a.behind4, "198.19.7.7",
                                   RATE, 64, 64, stdout=subprocess.PIPE, text=True)
    by_b, by_c = receivers
    wait_for(lambda: by_c.received() > 2000, 15, "the stream flows by c")
    net.topology.router_namespace.ip("link", "set", net.c.wire_port, "down")
    before = by_b.received()
    wait_for(lambda: by_b.received() > before + RATE / 2, 15, "the stream flows by b")
    sent = stop(sender)["sent"]
    settled = -1
    while (now := sum(one.received() for one in receivers)) != settled:
        settled = now
        time.sleep(0.1)
    got = [stop(one.process) for one in receivers]
    assert not any(one["missed_by_receiver"] for one in got)
    net.topology.router_namespace.ip("link", "set", net.c.wire_port, "up")
    return sent - sum(one["unique"] for one in got)


def least_lost(net, tmp_path):
    losses = []
    for _ in range(FLAPS):
        net.topology.router_namespace.ip("neighbour", "replace", net.c.ip4, "lladdr", net.c.mac, "dev", net.c.wire_port, "nud", "reachable")
        net.topology.router_namespace.ip("neighbour", "replace", net.b.ip4, "lladdr", net.b.mac, "dev", net.b.wire_port, "nud", "reachable")
        wait_for(lambda: goes_to(net, "198.19.7.7") in ("b", "c"), 15, "the destination can be reached")
        losses.append(lost_by_failure(net, tmp_path))
    print(f"lost: {losses} of {RATE} packets/s")
    return min(losses)


@requirement("a link that fails costs as many packets with 100,000 prefixes over it as with one, where there is another way: a next hop more, a backup, "
             "or a route around them")
@pytest.mark.parametrize("kind", ["ecmp", "backup", "covering"])
def test_loss_does_not_grow_with_prefixes(build_net, tmp_path, kind):
    lost = {}
    for count in (1, MANY):
        where = tmp_path / str(count)
        where.mkdir()
        net = open_with(build_net, where, count, kind)
        lost[count] = least_lost(net, where)
    print(f"{kind}: {lost}")
    assert lost[MANY] <= lost[1] + RESOLUTION
