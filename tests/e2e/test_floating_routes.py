# SPDX-License-Identifier: BSD-3-Clause
"""Configured routes that stand behind those of routing daemons (a worse `preference`): what is installed in the kernel for the
host's own traffic does not change what FRR and BIRD choose."""

import pytest
from lib.frr import Bird, Frr
from lib.packets import arrives
from lib.pktpit_router import TOOL, inline_only
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux has no routes beside those of its table"),
              pytest.mark.xdp("the daemons need the ports' own devices and addresses, the control plane is the same"),
              pytest.mark.says_who_decides("whose routes they are is the same to every port stage")]
PROTOCOL = "112"
THERE4, THERE6 = "203.0.113.5", "2001:db8:bbbb::5"
BY = {"fpm": {"fpm": {"listen": "127.0.0.1:2620"}}, "kernel": {"kernel_routes": {"enabled": True}}}


def floating(build_net, by):
    def defaults(topology):
        return {**BY[by], "routes": [{"prefix": "0.0.0.0/0", "via": topology.c.ip4, "preference": 250},
                                     {"prefix": "::/0", "via": topology.c.ip6, "preference": 250}]}

    net = build_net(configure=defaults)
    both_arrive(net, net.c)
    return net


def both_arrive(net, host):
    for there in (THERE4, THERE6):
        wait_for(lambda: [member["via"] for member in net.router.json("show", "route", there)["group"]["members"]]
                 in ([host.ip4], [host.ip6]), f"{there} is by {host.label}")
        arrives(net.a, host, there)


def ours(net, family="-4"):
    return net.topology.router_namespace.ip(family, "route", "show", "proto", PROTOCOL).stdout


@requirement("FRR's default is used before a configured one of a worse preference, which stands in the kernel first, and that one again when FRR's goes")
@pytest.mark.parametrize("by", BY)
def test_frr(build_net, closing, by):
    net = floating(build_net, by)
    frr = closing(Frr(net.topology.router_namespace, fpm=BY[by].get("fpm", {}).get("listen")).start())
    # By the worst distance that FRR uses before ours.
    routes = [f"ip route 0.0.0.0/0 {net.b.ip4} 253", f"ipv6 route ::/0 {net.b.ip6} 253"]
    frr.configure(*routes)
    both_arrive(net, net.b)
    assert net.c.ip4 in ours(net) and net.c.ip6 in ours(net, "-6")
    frr.configure(*(f"no {route}" for route in routes))
    both_arrive(net, net.c)


@requirement("FRR finds a gateway behind a configured route, as it does behind any other route of the kernel")
def test_frr_resolves_by_ours(build_net, closing):
    def gateway(topology):
        return {**BY["kernel"], "routes": [{"prefix": "198.51.100.0/24", "via": topology.c.ip4}]}

    net = build_net(configure=gateway)
    frr = closing(Frr(net.topology.router_namespace, fpm=None).start())
    frr.configure("ip route 203.0.113.0/24 198.51.100.9")
    arrives(net.a, net.c, THERE4)


@requirement("BIRD's default is used before a configured one of a worse preference, also where BIRD learns the kernel's routes")
def test_bird(build_net, closing):
    net = floating(build_net, "kernel")
    bird = closing(Bird(net.topology.router_namespace, f"""
router id 10.1.0.1;
protocol device {{ }}
protocol kernel {{ learn; ipv4 {{ import all; export all; }}; }}
protocol kernel {{ learn; ipv6 {{ import all; export all; }}; }}
protocol static four {{ ipv4 {{ preference 11; }}; route 0.0.0.0/0 via {net.b.ip4}; }}
protocol static six {{ ipv6 {{ preference 11; }}; route ::/0 via {net.b.ip6}; }}
""").start())
    both_arrive(net, net.b)
    bird.ctl("disable", "four")
    bird.ctl("disable", "six")
    both_arrive(net, net.c)


def former_metric(instance):
    """Where earlier versions had the routes of an instance: FRR took them for the best that there are."""
    sum_of = 2166136261
    for letter in instance.encode():
        sum_of = (sum_of ^ letter) * 16777619 % 2**32
    return 1_000_000 if instance == "default" else 1_000_001 + sum_of % 0xFFFF


def left_by_an_earlier_version(net):
    router = net.topology.router_namespace
    router.ip("address", "replace", f"{net.b.router_ip4}/24", "dev", net.b.port)
    metric = str(former_metric(net.router.instance))
    for prefix in ("198.18.2.0/24", "198.51.100.0/24"):  # one that is configured, one that was
        router.ip("route", "add", prefix, "via", net.b.ip4, "proto", PROTOCOL, "metric", metric)
    router.ip("route", "add", "203.0.113.0/24", "via", net.b.ip4, "proto", PROTOCOL, "metric", "999999")  # another one's
    return f"metric {metric} "


@requirement("what an earlier version has left in the kernel, at its metric, is replaced at the start")
def test_left_by_an_earlier_version(build_net):
    net = build_net(start=False)
    there = left_by_an_earlier_version(net)
    assert ours(net).count(there) == 2
    net.router.start()
    wait_for(lambda: there not in ours(net) and "198.18.2.0/24" in ours(net), "they stand at the new metric alone")
    assert "198.51.100.0/24" not in ours(net) and "203.0.113.0/24" in ours(net)


@requirement("`pktpit detach` takes what an earlier version has left out of the kernel, too")
@inline_only
def test_detach_after_an_earlier_version(build_net):
    net = build_net()
    net.router.kill()
    there = left_by_an_earlier_version(net)
    net.topology.router_namespace.run(TOOL, "--instance", net.router.instance, "detach", "--yes")
    assert there not in ours(net) and "203.0.113.0/24" in ours(net)
