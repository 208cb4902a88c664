# SPDX-License-Identifier: BSD-3-Clause
"""Tables that are full: the route is refused and named, and everything else goes on."""

import pytest
from lib.packets import delivered, token, udp4
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("the limits are Pktpit's")
NET = {"config": {"fib": {"table_memory_mib": 1, "next_hop_groups": 16, "adjacencies": 32}}}


def crosses(net):
    return delivered(net.a, net.b)


@requirement("a full FIB refuses the route by its prefix; what is in it stays and works; room can be made again")
@pytest.mark.parametrize("prefixes, via", [
    ([f"100.{i}.1.1/32" for i in range(128)], "10.2.0.2"),
    ([f"2001:{i:x}::1/128" for i in range(0x1000, 0x10a0)], "2001:db8:2::2"),
])
def test_fib_full(net, prefixes, via):
    if ":" not in via:
        # A host route alone in its /16 takes a KiB: the FIB is nearly full of them before the first is typed.
        net.router.config["routes"] += [{"prefix": f"{30 + i // 256}.{i % 256}.1.1/32", "via": via} for i in range(700)]
        net.router.apply()
    added, refused = [], None
    for prefix in prefixes:
        done = net.router.route("add", prefix, "via", via, check=False)
        if done.returncode:
            refused = (prefix, done.stdout + done.stderr)
            break
        added.append(prefix)
    assert refused, "it never got full"
    assert len(added) >= 5
    assert refused[0] in refused[1] and "full" in refused[1].lower()
    assert crosses(net)
    assert net.router.json("lookup", added[-1].split("/")[0])["results"][0]["prefix"] == added[-1]
    for prefix in added:
        net.router.route("del", prefix)
    net.router.route("add", refused[0], "via", via)
    net.router.route("del", refused[0])


@requirement("too many different sets of next hops: the route is refused and named")
def test_groups_full(net):
    refused = None
    for number in range(40):
        prefix = f"100.64.0.{number}/32"
        done = net.router.cli("route", "add", prefix, "via", f"10.2.0.{number + 10}", check=False)
        if done.returncode:
            refused = (prefix, done.stdout + done.stderr)
            break
    assert refused and refused[0] in refused[1]
    assert crosses(net)
    for left in range(number):
        net.router.route("del", f"100.64.0.{left}/32")


@requirement("traffic to more neighbours than there are adjacencies costs the new ones, never the router")
def test_adjacencies_full(build_net):
    net = build_net(config={"fib": {"adjacencies": 32}})
    addresses = [f"10.2.0.{number}" for number in range(100, 160)]
    for address in addresses:
        net.b.namespace.ip("address", "add", f"{address}/24", "dev", "eth0")

    def are_full():
        net.a.send(*[udp4(net.a, net.b, token(), dst=address) for address in addresses])
        [part] = [part for part in net.router.json("show", "memory")["fib"]["parts"] if part["part"] == "adjacencies"]
        return part["used"] == part["capacity"] - 1  # adjacency 0 is nobody's

    wait_for(are_full, what="all adjacencies are taken")
    assert crosses(net)
    for address in addresses:
        delivered(net.a, net.b, dst=address)
