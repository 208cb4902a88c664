# SPDX-License-Identifier: BSD-3-Clause
"""A link fails under routes: what was under way to it is lost, and every next packet goes the other way, however many prefixes
lead over the link. How long that takes is measured; PKTPIT_ROUTES=N and PKTPIT_RATE=N (packets a second) for other numbers."""

import os

import pytest
from lib.packets import goes_to
from lib.waiting import wait_for

pytestmark = [pytest.mark.pktpit("backups and groups are Pktpit's own"),
              pytest.mark.xdp("other dataplanes ask their devices for the link")]
requirement = pytest.mark.requirement

RATE = int(os.environ.get("PKTPIT_RATE", 20_000))
FLAPS = 3
MANY = int(os.environ.get("PKTPIT_ROUTES", 100_000))
# As long as the cleaning up of so many prefixes would take at some million a second; an order of magnitude above what
# moves with the machine between two flaps.
RESOLUTION = 0.02 * RATE
DESTINATION = "198.19.7.7"
KINDS = pytest.mark.parametrize("kind", ["ecmp", "backup", "covering"])


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


def flows_by_c(net, stream, **options):
    """A stream of many flows to one destination behind b and c alike."""
    for host in (net.b, net.c):
        net.topology.router_namespace.ip("neighbour", "replace", host.ip4, "lladdr", host.mac, "dev", host.wire_port, "nud", "reachable")
    wait_for(lambda: goes_to(net, DESTINATION) in ("b", "c"), what="the destination can be reached")
    running = stream(net.a, net.b, also=[net.c], destination=DESTINATION, flows=64, **options)
    running.flows_again(2000, at=1)
    return running


def set_c(net, state):
    net.topology.router_namespace.ip("link", "set", net.c.wire_port, state)


@requirement("a link fails, with 100,000 prefixes over it: what was under way to it is lost and no more, where there is another way: a next hop more, "
             "a backup, or a route around them")
@KINDS
def test_every_next_packet_goes_the_other_way(build_net, stream, tmp_path, kind):
    net = open_with(build_net, tmp_path, MANY, kind)
    running = flows_by_c(net, stream)
    set_c(net, "down")
    running.flows_again(2000, at=0)
    assert goes_to(net, DESTINATION) == "b"
    result = running.finish()
    assert result["lost"] <= running.on_the_way(result), result
    assert result["duplicated"] == 0, result


@requirement("a next hop whose neighbour does not answer has no flows, also while the kernel asks for it again or forgets it; when it answers it has")
def test_dead_member_stays_dead_until_it_answers(build_net, stream):
    dead = "10.3.0.222"
    net = build_net(configure=lambda topology: {"routes": [
        {"prefix": "198.19.7.0/24", "next_hops": [{"via": topology.b.ip4}, {"via": dead}]}]})
    router = net.topology.router_namespace

    def state():
        [route] = net.router.json("show", "routes", "--within", "198.19.7.0/24")["routes"]
        return next(hop["state"] for hop in route["next_hops"] if hop["via"] == dead)

    goes_to(net, DESTINATION)
    wait_for(lambda: state() == "failed", "the neighbour has failed")
    running = stream(net.a, net.b, also=[net.c], destination=DESTINATION, flows=64)
    running.flows_again(2000, at=0)
    for _ in range(3):
        router.ip("neighbour", "del", dead, "dev", net.c.wire_port, check=False)
        router.run("ping", "-c", "1", "-W", "1", dead, check=False)  # unanswered: the kernel has asked, and given up
        running.flows_again(500, at=0)
        assert state() == "failed"
    result = running.finish()
    assert (result["lost"], result["duplicated"]) == (0, 0), result

    running = stream(net.a, net.b, also=[net.c], destination=DESTINATION, flows=64)
    running.flows_again(500, at=0)
    router.ip("neighbour", "replace", dead, "lladdr", net.c.mac, "dev", net.c.wire_port, "nud", "reachable")
    running.flows_again(500, at=1)
    result = running.finish()
    assert (result["lost"], result["duplicated"]) == (0, 0), result


@requirement("a link that fails costs as many packets with 100,000 prefixes over it as with one")
@pytest.mark.measure("packets lost at a rate")
@KINDS
def test_loss_does_not_grow_with_prefixes(build_net, stream, tmp_path, kind):
    lost = {}
    for count in (1, MANY):
        where = tmp_path / str(count)
        where.mkdir()
        net = open_with(build_net, where, count, kind)
        lost[count] = []
        for _ in range(FLAPS):
            running = flows_by_c(net, stream, rate=RATE, window=0)
            set_c(net, "down")
            running.flows_again(RATE // 4, at=0)
            lost[count].append(running.finish()["lost"])
            set_c(net, "up")
        lost[count].sort()
    print(f"{kind}: lost {lost}, at {RATE} packets/s")
    assert lost[MANY][FLAPS // 2] <= lost[1][FLAPS // 2] + RESOLUTION
