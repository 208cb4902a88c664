# SPDX-License-Identifier: BSD-3-Clause
"""What of the kernel's routing Pktpit does not follow is said, once, and never in silence."""

import pytest
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux follows itself"), pytest.mark.xdp("the control plane's matter: once is enough")]
NET = {"config": {"kernel_routes": {"enabled": True}}}


def said(net, text):
    wait_for(lambda: text in net.router.log(), f"{text!r} in the log")
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


def listed(net):
    """{(prefix, reason)} of what stands in tables that rules lead to."""
    answer = net.router.json("show", "routes", "--ignored")
    routes = {(one["prefix"], one["reason"]) for one in answer["routes"] if one["kind"] == "table"}
    assert answer["counts"]["table"] == len(routes)
    return routes


def stands(prefix, table):
    return prefix, f"stands in table {table}, which the kernel's rules lead to, and Pktpit does not"


@requirement("routes of tables that rules lead to are listed, live, those that were there before and those that come; of tables that no rule "
             "leads to none is; one line in the log")
def test_tables_that_rules_lead_to(build_net):
    net = build_net(start=False, settle=False)
    net.router.config["kernel_routes"] = {"enabled": True}
    net.router.write()
    ip, b, c = net.topology.router_namespace.ip, net.b, net.c
    for port, address in ((b.port, b.router_ip4), (c.port, c.router_ip4)):
        ip("link", "set", port, "up")
        ip("address", "add", f"{address}/24", "dev", port)
    ip("rule", "add", "from", "10.9.0.0/16", "lookup", "100", "priority", "5")
    ip("route", "add", "203.0.113.0/24", "via", b.ip4, "table", "100")
    ip("route", "add", "203.0.114.0/24", "via", b.ip4, "table", "101")
    net.router.start()
    wait_for(lambda: listed(net) == {stands("203.0.113.0/24", 100)}, "what was there before")
    said(net, "kernel route 203.0.113.0/24: stands in table 100")
    ip("route", "add", "203.0.115.0/24", "tos", "0x10", "via", c.ip4, "table", "100")
    ip("route", "add", "203.0.116.0/24", "via", c.ip4, "table", "101")
    ip("route", "add", "blackhole", "203.0.117.0/24", "table", "100")
    wait_for(lambda: {stands("203.0.115.0/24", 100), stands("203.0.117.0/24", 100)} <= listed(net), "what has come")
    ip("route", "del", "203.0.113.0/24", "table", "100")
    wait_for(lambda: listed(net) == {stands("203.0.115.0/24", 100), stands("203.0.117.0/24", 100)}, "what has gone")
    ip("rule", "add", "from", "10.9.0.0/16", "lookup", "101", "priority", "6")
    wait_for(lambda: {stands("203.0.114.0/24", 101), stands("203.0.116.0/24", 101)} <= listed(net), "a table that a rule leads to now")
    ip("rule", "del", "priority", "5")
    wait_for(lambda: listed(net) == {stands("203.0.114.0/24", 101), stands("203.0.116.0/24", 101)}, "one that none does any more")
    assert net.router.log().count("stands in table") == 1


@requirement("a table of more routes than are listed is read no further, and holds up nothing")
def test_a_large_table_that_a_rule_leads_to(build_net):
    net = build_net(config={"kernel_routes": {"enabled": True}})
    ip, b = net.topology.router_namespace.ip, net.b
    file = net.router.directory / "large.batch"
    file.write_text("".join(f"route add 20.{i >> 8}.{i & 255}.0/24 via {b.ip4} table 100\n" for i in range(30_000)))
    ip("-batch", file)
    ip("rule", "add", "from", "10.9.0.0/16", "lookup", "100", "priority", "5")
    counts = lambda: net.router.json("show", "routes", "--ignored")  # noqa: E731
    wait_for(lambda: counts()["counts"]["table"] > 9_000, "as many as are kept are listed")
    assert counts()["more"] and counts()["counts"]["table"] <= 10_000
    ip("route", "add", "203.0.113.0/24", "via", b.ip4)
    wait_for(lambda: net.router.json("show", "route", "203.0.113.9")["prefix"] == "203.0.113.0/24", "what comes is followed")
    ip("rule", "del", "priority", "5")
    wait_for(lambda: counts()["counts"]["table"] == 0, "and gone with the rule")
