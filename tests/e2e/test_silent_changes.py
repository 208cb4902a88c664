# SPDX-License-Identifier: BSD-3-Clause
"""What Linux does to its routes without a word (docs/routing.md): it is followed by rule where one knows, else found by a comparison."""

import pytest
from lib.packets import arrives
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux follows itself")
NET = {"config": {"kernel_routes": {"enabled": True}, "routes": [{"prefix": "::/0", "via": "2001:db8:2::2"}]}}
SOURCE = "2001:db8:9::1"


def counts(net):
    return net.router.json("show", "counters")["kernel_routes"]


def mtu_of(net, destination):
    group = net.router.json("show", "route", destination)["group"]
    return group["members"][0]["mtu"]


@requirement("an IPv6 route whose preferred source has gone is taken out when it is removed: Linux names the source no more")
@pytest.mark.parametrize("kind", ["blackhole", "unreachable", "prohibit"])
def test_source_of_a_route_to_nowhere(net, kind):
    router = net.topology.router_namespace
    prefix, there = "2001:db8:ffff::/48", "2001:db8:ffff::1"

    def known():
        return [route["type"] for route in net.router.json("show", "routes", "--source", "kernel")["routes"] if route["prefix"] == prefix]

    arrives(net.a, net.b, there)
    router.ip("address", "add", f"{SOURCE}/128", "dev", "lo")
    router.ip("-6", "route", "add", kind, prefix, "src", SOURCE)
    wait_for(lambda: known() == [kind], "it drops")
    router.ip("address", "del", f"{SOURCE}/128", "dev", "lo")
    assert SOURCE not in router.ip("-6", "route", "show", prefix).stdout
    assert known() == [kind]
    router.ip("-6", "route", "del", kind, prefix)
    wait_for(lambda: not known(), "it is gone")
    arrives(net.a, net.b, there)
    assert counts(net)["differences"] == 0, "by rule alone"


@requirement("a reload finds what has changed without a word, puts it right, counts it and says it once")
@pytest.mark.xdp("the device's MTU is changed under it")
@pytest.mark.says_who_decides("what is followed is the same to every port stage")
def test_found_by_a_reload(build_net):
    net = build_net(**NET)
    router = net.topology.router_namespace
    destination = "2001:db8:bbb::1"
    router.ip("-6", "route", "add", "2001:db8:bbb::/48", "via", net.c.ip6, "mtu", "1400")
    wait_for(lambda: mtu_of(net, destination) == 1400, "its MTU is followed")
    # rt6_mtu_change(): the route takes the device's MTU, and the device's next one.
    for mtu in ("1300", "1500"):
        router.ip("link", "set", net.c.port, "mtu", mtu)
    wait_for(lambda: "mtu 1400" not in router.ip("-6", "route", "show", "2001:db8:bbb::/48").stdout, "Linux has changed it")
    before = counts(net)
    net.router.reload()
    wait_for(lambda: counts(net)["comparisons"] > before["comparisons"], "it has been compared")
    assert counts(net)["differences"] == before["differences"] + 1
    wait_for(lambda: mtu_of(net, destination) == 1500, "as Linux has it")
    said = "1 prefix and 0 nexthop objects had changed in the kernel without a word, and are put right (2001:db8:bbb::/48: the kernel has another)"
    assert net.router.log().count(said) == 1
    net.router.reload()
    wait_for(lambda: counts(net)["comparisons"] > before["comparisons"] + 1, "compared again")
    assert counts(net)["differences"] == before["differences"] + 1
    assert net.router.log().count("without a word") == 1
