# SPDX-License-Identifier: BSD-3-Clause
"""Which path a flow takes depends on the instance, which keeps to it."""

from collections import Counter

import pytest
from lib.packets import IP, Raw, UDP, token
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has a seed of its own")

FLOWS = 64


def two_paths(topology, **more):
    b, c = topology.b, topology.c
    return {"routes": [{"prefix": "198.51.100.0/24", "next_hops": [{"via": b.ip4}, {"via": c.ip4}]}], **more}


def paths(net):
    """Of each flow the host that it goes to."""
    mark = token()
    net.a.send(*(IP(src="198.18.1.7", dst="198.51.100.9") / UDP(sport=20000 + flow, dport=5000) / Raw(mark)
                 for flow in range(FLOWS)))
    taken = {}

    def arrived():
        for host in (net.b, net.c):
            for frame in host.wire.waiting(lambda frame: mark in frame):
                taken[int.from_bytes(frame[34:36], "big") - 20000] = host.label
        return len(taken) == FLOWS

    wait_for(arrived, f"all {FLOWS} flows arrive")
    return taken


def seed_file(router):
    return router.socket.with_suffix(".hash_seed")


@requirement("two routers in a row choose independently: of the flows that the first sends one way, the second uses all ways")
def test_two_tiers_are_not_polarised(build_net):
    first, second = (paths(build_net(configure=two_paths)) for _ in range(2))
    for way in "bc":
        onward = Counter(second[flow] for flow in range(FLOWS) if first[flow] == way)
        assert min(onward["b"], onward["c"]) >= 4, (way, onward)  # of about 32 flows; by chance once in 10,000 runs


@requirement("flows stay on their path over kill -9 and restart, and over a clean stop; the seed is nobody else's to read")
def test_flows_stay_on_their_path_over_restarts(build_net):
    net = build_net(configure=two_paths)
    before = paths(net)
    assert set(before.values()) == {"b", "c"}
    kept = seed_file(net.router)
    assert kept.stat().st_mode & 0o777 == 0o600
    seed = kept.read_text()
    net.router.kill()
    net.start()
    assert paths(net) == before and kept.read_text() == seed
    from lib.namespaces import end
    end(net.router.process)
    net.start()
    assert paths(net) == before and kept.read_text() == seed


@requirement("a file that is not as it was written is replaced, not waited for and not believed")
@pytest.mark.parametrize("what", ["garbage", "readable by all", "FIFO"])
def test_a_broken_seed_file_is_replaced(build_net, what):
    import os
    net = build_net(configure=two_paths)
    net.router.kill()
    kept = seed_file(net.router)
    seed = kept.read_text()
    if what == "garbage":
        kept.write_text("zzzzzzzzzzzzzzzz\n")
    elif what == "FIFO":
        kept.unlink()
        os.mkfifo(kept, 0o600)
    else:
        kept.chmod(0o644)
    net.router.start()
    assert kept.is_file() and kept.stat().st_mode & 0o777 == 0o600 and kept.read_text() != seed


@requirement("hash_seed of the configuration: routers with the same one choose alike; a reload that changes it moves flows and says so")
def test_configured_seed(build_net):
    def seven(topology):
        return two_paths(topology, hash_seed=7)

    one, other = (build_net(configure=seven) for _ in range(2))
    before = paths(one)
    assert paths(other) == before
    one.router.config["hash_seed"] = 8
    one.router.write()
    assert "seed of the flow hash: 7 → 8" in one.router.reload("--dry-run").stdout
    assert paths(one) == before, "nothing has been changed yet"
    one.router.reload()
    moved = sum(paths(one)[flow] != before[flow] for flow in range(FLOWS))
    assert FLOWS // 8 < moved < FLOWS * 7 // 8
    assert one.router.json("show", "config")["hash_seed"] == 8
    one.router.config["hash_seed"] = 7
    one.router.apply()
    assert paths(one) == before
