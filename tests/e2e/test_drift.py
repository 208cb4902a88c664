# SPDX-License-Identifier: BSD-3-Clause
"""What somebody else changes of the machine: said in the log, shown by `show drift`, put right by a reload."""

import pytest
from lib.packets import wait_for_crossing
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux has no configuration to drift from"),
              pytest.mark.xdp("the control plane's matter: once is enough")]
NET = {"config": {"interfaces": {}}}


def drift(net):
    return [(item["where"], item["what"], item["expected"], item["found"]) for item in net.router.json("show", "drift")["drift"]]


def mended(net, item, line):
    """The drift is shown and warned of; a reload of the unchanged file says that it mends it, and does."""
    wait_for(lambda: item in drift(net), f"{item} in `show drift`, which has {drift(net)}")
    shown = net.router.cli("show", "drift").stdout
    assert item[0] in shown and item[3] in shown
    wait_for(lambda: line in net.router.log(), f"{line!r} in the log")
    assert item[0] in net.router.reload("--dry-run").stdout
    assert item in drift(net), "a dry run changes nothing"
    assert item[0] in net.router.reload().stdout
    wait_for(lambda: not drift(net), "nothing is left")


@requirement("no drift while nobody interferes")
def test_no_drift_at_first(net):
    assert drift(net) == []
    assert "no drift" in net.router.cli("show", "drift").stdout


@requirement("a configured address that somebody deletes comes back with a reload, and the router can be reached there again")
@pytest.mark.parametrize("family", [4, 6])
def test_deleted_address(net, family):
    address, length = (net.b.router_ip4, 24) if family == 4 else (net.b.router_ip6, 64)
    net.topology.router_namespace.ip("address", "del", f"{address}/{length}", "dev", "p2")
    mended(net, ("p2", "address", f"{address}/{length}", "absent"), f"p2: address {address}/{length}: absent; somebody else")
    net.b.namespace.run("ping", "-c", "1", "-W", "30", address)
    wait_for_crossing(net.a, net.b)


@requirement("a link that somebody sets down is set up again by a reload")
def test_link_set_down(net):
    net.topology.router_namespace.ip("link", "set", "p3", "down")
    mended(net, ("p3", "link", "up", "set down"), "p3: link up: set down")
    wait_for_crossing(net.a, net.c)


@requirement("a configured MTU that somebody changes is set again by a reload")
def test_changed_mtu(build_net):
    net = build_net(configure=lambda t: {"interfaces": {"p2": {"addresses": [f"{t.b.router_ip4}/24", f"{t.b.router_ip6}/64"], "mtu": 1500}}})
    net.topology.router_namespace.ip("link", "set", "p2", "mtu", "1400")
    mended(net, ("p2", "mtu", "1500", "1400"), "p2: mtu 1500: 1400")


@requirement("a switch of the router's role that somebody turns back is turned again by a reload")
def test_turned_switch(net):
    net.topology.router_namespace.sysctl({"net/ipv6/conf/p2/forwarding": 0})
    mended(net, ("p2", "ipv6/conf/p2/forwarding", "1", "0"), "p2: ipv6/conf/p2/forwarding 1: 0")


@requirement("a kernel route of ours that somebody removes comes back with a reload")
def test_removed_kernel_route(net):
    router = net.topology.router_namespace
    wait_for(lambda: "198.18.2.0/24" in router.ip("route", "show", "proto", "112").stdout, "the route is installed")
    router.ip("route", "del", "198.18.2.0/24", "proto", "112")
    mended(net, ("198.18.2.0/24", "kernel route", "installed", "removed by somebody else"), "198.18.2.0/24: kernel route")
    assert "198.18.2.0/24" in router.ip("route", "show", "proto", "112").stdout


@requirement("a port stage that somebody has detached is attached again by a reload")
def test_detached_port_stage(build_net):
    net = build_net()
    links = [path for path in net.router.pins.iterdir() if path.name.startswith("port")]
    index = {port["name"]: port["ifindex"] for port in net.router.json("show", "ports")["ports"]}["p2"]
    pin = next(path for path in links if path.name.endswith(f"_{index}"))
    net.topology.router_namespace.run("bpftool", "link", "detach", "pinned", pin)
    mended(net, ("p2", "xdp", "the port stage", "its link has been detached"), "p2: xdp the port stage: its link has been detached")
    wait_for_crossing(net.b, net.a)


@requirement("a device that was renamed is shown with its new name")
def test_renamed_device(build_net):
    net = build_net()
    router = net.topology.router_namespace
    router.ip("link", "set", "p2", "down")
    router.ip("link", "set", "p2", "name", "other0")
    wait_for(lambda: ("p2", "device", "there", "renamed to other0") in drift(net), "the new name")
    router.ip("link", "set", "other0", "name", "p2")
    router.ip("link", "set", "p2", "up")
    wait_for_crossing(net.a, net.b)
    wait_for(lambda: not drift(net), "its switches are the port's again: the kernel has them later than the name")
