# SPDX-License-Identifier: BSD-3-Clause
"""What of the kernel's routing Pktpit does not follow is said, once, and never in silence."""

import pytest
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux follows itself"), pytest.mark.xdp("the control plane's matter: once is enough")]
NET = {"config": {"kernel_routes": {"enabled": True}}}


def said(net, text):
    wait_for(lambda: text in net.router.log(), 3, f"{text!r} in the log")
    assert net.router.log().count(text) == 1


@requirement("a route that encapsulates is told of: Linux has its packets")
def test_encapsulating_route(net):
    router = net.topology.router_namespace
    router.ip("-6", "route", "add", "2001:db8:eee::/48", "encap", "seg6", "mode", "encap", "segs", "2001:db8:2::9",
              "via", net.b.ip6, "dev", "p2", check=False)
    if "2001:db8:eee::/48" not in router.ip("-6", "route", "show").stdout:
        router.ip("route", "add", "203.0.114.0/24", "encap", "ip", "id", "5", "dst", "10.2.0.2", "via", net.b.ip4, "dev", "p2", check=False)
        if "203.0.114.0/24" not in router.ip("route", "show").stdout:
            pytest.skip("this kernel has no lightweight tunnels")
        return said(net, "kernel route 203.0.114.0/24: encapsulates, which Pktpit does not")
    said(net, "kernel route 2001:db8:eee::/48: encapsulates, which Pktpit does not")


@requirement("policy rules are told of, those that were there before, and those that come")
def test_policy_rules(build_net):
    net = build_net(start=False, settle=False)
    net.router.config["kernel_routes"] = {"enabled": True}
    net.router.write()
    net.topology.router_namespace.ip("rule", "add", "from", "10.1.0.0/24", "lookup", "100", "priority", "5")
    net.router.start()
    said(net, "ip rule 5: lookup of table 100 is not followed")
    net.topology.router_namespace.ip("-6", "rule", "add", "from", "2001:db8:1::/64", "lookup", "101", "priority", "6")
    said(net, "ip -6 rule 6: lookup of table 101 is not followed")
    assert "32766" not in net.router.log()
