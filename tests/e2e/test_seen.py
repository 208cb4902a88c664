# SPDX-License-Identifier: BSD-3-Clause
"""What the daemon tells of itself: events, memory, kernel routes that it leaves out."""

import json
import subprocess
import time

import pytest
from lib.pktpit_router import TOOL
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux follows itself"), pytest.mark.xdp("the control plane's matter: once is enough")]
NET = {"config": {"kernel_routes": {"enabled": True}}}


def ignored(net):
    return net.router.json("show", "routes", "--ignored")


def left_out(net, prefix):
    return [route for route in ignored(net)["routes"] if route["prefix"] == prefix]


@requirement("routes of one TOS, of a source, and those that throw are listed with the reason, counted, and warned of once a kind; "
             "they go from the list when they go")
def test_ignored_routes(net):
    ip = net.topology.router_namespace.ip
    before = ignored(net)["counts"]
    ip("route", "add", "203.0.113.0/24", "tos", "0x10", "via", net.b.ip4)
    ip("route", "add", "203.0.114.0/24", "tos", "0x10", "via", net.b.ip4)
    ip("route", "add", "throw", "203.0.115.0/24")
    ip("-6", "route", "add", "2001:db8:eee::/48", "from", "2001:db8:1::/64", "via", net.b.ip6, "dev", net.b.port)
    wait_for(lambda: left_out(net, "2001:db8:eee::/48"), "the last of them is listed")
    now = ignored(net)
    assert {kind: now["counts"][kind] - before[kind] for kind in ("tos", "throw", "from")} == {"tos": 2, "throw": 1, "from": 1}
    assert left_out(net, "203.0.113.0/24")[0]["kind"] == "tos" and "TOS 0x10" in left_out(net, "203.0.113.0/24")[0]["reason"]
    assert "from 2001:db8:1::/64" in left_out(net, "2001:db8:eee::/48")[0]["reason"]
    assert net.router.log().count("TOS 0x10") == 1, "once a kind"
    assert net.router.log().count("kernel route 203.0.115.0/24: throws") == 1
    assert "203.0.114.0/24" in net.router.cli("show", "routes", "--ignored").stdout
    ip("route", "del", "203.0.113.0/24", "tos", "0x10")
    ip("route", "del", "throw", "203.0.115.0/24")
    wait_for(lambda: not left_out(net, "203.0.113.0/24") and not left_out(net, "203.0.115.0/24"), "they are gone from the list")
    assert left_out(net, "203.0.114.0/24"), "the other of the kind stays"


@requirement("a rule that points to another table is listed, and goes from the list with it")
def test_ignored_rule(net):
    ip = net.topology.router_namespace.ip
    ip("rule", "add", "from", "10.9.0.0/24", "lookup", "177", "priority", "9")
    rules = lambda: [route for route in ignored(net)["routes"] if route["kind"] == "rule" and "table 177" in route["reason"]]  # noqa: E731
    wait_for(rules, "the rule is listed")
    ip("rule", "del", "priority", "9")
    wait_for(lambda: not rules(), "the rule is not listed any more")


def events(net, kind, text):
    return [event for event in net.router.json("show", "events")["events"] if event["kind"] == kind and text in event["text"]]


@requirement("links, addresses, next hops that fail, reloads and their refusal, and the reading of the kernel's table are events, with the "
             "time of the day, in their order")
def test_events(net):
    ip = net.topology.router_namespace.ip
    begun = time.time()
    assert events(net, "port", f"{net.b.port}: port stage attached") and events(net, "kernel_routes", "has been read")
    ip("link", "set", net.c.port, "down")
    wait_for(lambda: events(net, "link", f"{net.c.port}: down"), "the link's event")
    ip("link", "set", net.c.port, "up")
    wait_for(lambda: events(net, "link", f"{net.c.port}: up"), "the link's event")
    ip("address", "add", "192.0.2.77/32", "dev", net.b.port)
    wait_for(lambda: events(net, "address", "192.0.2.77/32 added"), "the address's event")
    ip("address", "del", "192.0.2.77/32", "dev", net.b.port)
    wait_for(lambda: events(net, "address", "192.0.2.77/32 removed"), "the address's event")
    net.router.reload()
    assert events(net, "reload", "changes")
    good = net.router.file.read_text()
    net.router.file.write_text("{")
    net.router.reload(check=False)
    wait_for(lambda: events(net, "reload", "refused"), "the refusal's event")
    net.router.file.write_text(good)
    everything = net.router.json("show", "events")
    assert [event["id"] for event in everything["events"]] == list(range(1, everything["last"] + 1))
    down = events(net, "link", f"{net.c.port}: down")[-1]
    assert begun - 1 < down["time"] < time.time() + 1
    assert f"{net.c.port}: down" in net.router.cli("show", "events").stdout


@requirement("`show events --follow` prints what happens from now on")
def test_events_follow(net):
    ip = net.topology.router_namespace.ip
    following = subprocess.Popen([TOOL, "--socket", net.router.socket, "show", "events", "--follow", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        ip("address", "add", "192.0.2.78/32", "dev", net.b.port)
        deadline = time.monotonic() + 60
        texts = []
        while not any("192.0.2.78/32 added" in text for text in texts):
            assert time.monotonic() < deadline
            texts.append(json.loads(following.stdout.readline())["text"])
    finally:
        following.terminate()
        following.wait()
        ip("address", "del", "192.0.2.78/32", "dev", net.b.port)


@pytest.mark.not_sanitized("the heap is the sanitizer's, of which mallinfo2 knows nothing")
@requirement("`show memory` has each part, says how it was found out, and grows with the routes")
def test_memory(net):
    def parts():
        return {part["part"]: part for part in net.router.json("show", "memory")["parts"]}

    before = parts()
    assert set(before) == {"fib_image", "fib_nodes", "rib", "kernel_table", "fpm_table", "next_hop_groups", "slow_path", "heap_used",
                           "heap_free", "resident", "resident_shared"}
    assert {part["how"] for part in before.values()} == {"measured", "computed"}
    batch = net.router.directory / "memory.batch"
    many = 20_000
    batch.write_text("".join(f"route add 20.{n >> 8 & 255}.{n & 255}.{n >> 16 << 7}/25 via {net.b.ip4}\n" for n in range(many)))
    net.topology.router_namespace.ip("-batch", batch)
    wait_for(lambda: net.router.json("show", "version")["kernel_routes"]["routes"] >= many, "the routes are followed")
    after = parts()
    for part in ("rib", "kernel_table"):
        grown = after[part]["bytes"] - before[part]["bytes"]
        assert 8 * many < grown < 400 * many, f"{part}: {grown} bytes for {many} routes"
    assert after["heap_used"]["bytes"] > before["heap_used"]["bytes"] and after["resident"]["bytes"] > 10 << 20
    assert after["fib_nodes"]["bytes"] >= before["fib_nodes"]["bytes"]
    assert "kernel_table" in net.router.cli("show", "memory").stdout
