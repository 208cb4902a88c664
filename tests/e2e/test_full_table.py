# SPDX-License-Identifier: BSD-3-Clause
"""A hundred thousand routes of the kernel come and go, and the daemon has time for everything else all the while.
PKTPIT_ROUTES=N for another number; figures are printed with `pytest -s`."""

import concurrent.futures
import datetime
import os
import re
import threading
import time

import pytest
from lib.asking import Asking, ask_json
from lib.packets import arrives, wait_for_crossing
from lib.pktpit_router import inline_only
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for
from lib.web import standing_still

requirement = pytest.mark.requirement
NET = {"config": {"kernel_routes": {"enabled": True}}}
ROUTES = int(os.environ.get("PKTPIT_ROUTES", 100_000))
PATIENCE = 120 + ROUTES / 1000  # seconds; a machine that starves is slow
pytestmark = [pytest.mark.pktpit("about the daemon's API"), pytest.mark.timeout(10 * PATIENCE)]


def prefix(number):
    return f"{20 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24"


def address(number):
    return prefix(number).removesuffix("0/24") + "9"


def add(net, first=0, last=ROUTES):
    """Some at a time: while a daemon that stands still has much to read, the kernel takes the processor from `ip` at each route."""
    file = net.router.directory / f"{net.router.instance}.batch"
    for begin in range(first, last, 5000):
        lines = (f"route add {prefix(number)} via {net.b.ip4} proto static\n" for number in range(begin, min(begin + 5000, last)))
        file.write_text("".join(lines))
        net.topology.router_namespace.ip("-batch", file, timeout=PATIENCE)


def flush(net):
    net.topology.router_namespace.ip("route", "flush", "proto", "static", timeout=PATIENCE)


def progress(net):
    return ask_json(net.router.socket, "/v1/version").get("kernel_routes")


def matched(net, number):
    return ask_json(net.router.socket, f"/v1/lookup?address={address(number)}")["results"][0]["prefix"] == prefix(number)


def settled(net, there):
    """The last route is there, or gone, and nothing waits any more."""
    if matched(net, ROUTES - 1) != there:
        return False
    now = progress(net)  # None: of a daemon that does not say
    return now is None or (now["waiting"] == 0 and now["state"] == "complete" and (now["routes"] >= ROUTES) == there)


def followed(net, change, there):
    """How many routes each answer told of, from before the change until it had been followed whole."""
    over = threading.Event()

    def ask_on():
        told = []
        while not over.wait(0.001):
            told.append(progress(net)["routes"])
        return told

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask_on)
        try:
            change()
            wait_for(lambda: settled(net, there), "the change has been followed", deadline=PATIENCE, interval=0.05)
        finally:
            over.set()
        return asking.result()


@requirement("while a full table comes, is withdrawn, and loses its link, the API goes on answering, by the state between")
def test_api_answers_while_the_table_changes(net):
    ip = net.topology.router_namespace.ip
    try:
        for what, change, there in (("add", lambda: add(net), True), ("withdraw", lambda: flush(net), False),
                                    ("add again", lambda: add(net), True),
                                    ("link down", lambda: ip("link", "set", net.b.port, "down"), False)):
            told = followed(net, change, there)
            first, last = told[0], progress(net)["routes"]
            print(f"{what}: from {first} to {last} routes, {len(told)} answers, {len(set(told) - {first, last})} states between")
            assert told == sorted(told, reverse=not there), what
            assert set(told) - {first, last}, f"{what}: nobody was answered in between"
        counters = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]
        assert counters["routes"] < 100 and counters["waiting"] == 0
    finally:
        ip("link", "set", net.b.port, "down")
        ip("link", "set", net.b.port, "up")


@requirement("no answer waits for the table, and who adds routes one by one does not wake the daemon for each")
@pytest.mark.measure("the longest answer while a full table comes, against answers of an idle daemon")
def test_how_long_answers_take(net):
    with Asking(net.router.socket) as idle:
        time.sleep(2)
    turns = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]["turns"]
    try:
        with Asking(net.router.socket) as asking:
            began = time.monotonic()
            add(net)
            wait_for(lambda: settled(net, True), "the table is there", deadline=PATIENCE, interval=0.05)
            took = time.monotonic() - began
        turns = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]["turns"] - turns
        print(f"\n{ROUTES} routes in {took:.2f} s, {turns} turns; {asking}; idle: {idle}")
        assert not asking.failed, asking.failed[:3]
        assert max(asking.seconds) <= max(took / 4, 10 * max(idle.seconds), 0.2)
        assert turns < ROUTES / 20
    finally:
        flush(net)


def logged_at(net, text):
    """When the daemon has first written it, as seconds since 1970."""
    [when] = re.findall(rf"^\[([-0-9 :.]+)\].*{re.escape(text)}", net.router.log(), re.M)[:1]
    return datetime.datetime.fromisoformat(when).timestamp()


def happened_at(net, text, after=0):
    events = ask_json(net.router.socket, f"/v1/events?after={after}")["events"]
    return next((event["time"] for event in events if event["text"].startswith(text)), None)


@requirement("a link that goes down is known before the events of many routes that came before it are handled")
def test_link_goes_before_routes(net):
    many = min(ROUTES, 40_000)  # as many as fit into a socket's queue
    ip = net.topology.router_namespace.ip
    before = ask_json(net.router.socket, "/v1/events")["last"]
    try:
        # All of it waits when the daemon goes on: the routes first, the link behind them. The last route is one that it writes about.
        with standing_still(net.router):
            add(net, 0, many)
            ip("route", "add", "192.0.2.0/24", "tos", "4", "via", net.b.ip4)
            ip("link", "set", net.c.port, "down")
        wait_for(lambda: matched(net, many - 1) and progress(net)["waiting"] == 0, "the routes have been followed", deadline=PATIENCE, interval=0.05)
        down, handled = happened_at(net, f"{net.c.port}: down", before), logged_at(net, "kernel route 192.0.2.0/24")
        print(f"\nthe link's event {handled - down:.3f} s before the last route's")
        assert down < handled
    finally:
        ip("link", "set", net.c.port, "up")
        ip("route", "del", "192.0.2.0/24", "tos", "4")
        flush(net)


@requirement("messages that the kernel drops (ENOBUFS) are counted, told once, and followed by a resync; nothing is missed in the end")
def test_lost_messages_are_told_and_made_up_for(net):
    before = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]
    told = net.router.log().count("messages of the kernel were lost")
    with standing_still(net.router):
        add(net)
    began = time.monotonic()
    wait_for(lambda: settled(net, True), "all routes are there", deadline=PATIENCE, interval=0.05)
    print(f"\nresync of {ROUTES} routes: {time.monotonic() - began:.2f} s")
    after = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]
    print(f"\n{after}")
    assert after["overflows"] > before["overflows"] and after["drops"] > before["drops"]
    assert after["resyncs"] > before["resyncs"]
    wait_for(lambda: "kernel routes: complete again" in net.router.log(), "the end of the resync is in the log")
    assert net.router.log().count("messages of the kernel were lost") == told + 1
    assert all(matched(net, number) for number in range(0, ROUTES, ROUTES // 500))
    assert "drops" in net.router.cli("show", "counters").stdout
    flush(net)
    wait_for(lambda: not matched(net, ROUTES - 1), "all are gone", deadline=PATIENCE)


def start_with_a_full_table(build_net):
    net = build_net(**NET, start=False, settle=False)
    ip = net.topology.router_namespace.ip
    ip("link", "set", net.b.port, "up")
    ip("addr", "add", f"{net.b.router_ip4}/24", "dev", net.b.port)
    add(net)
    net.router.start()
    return net


def assert_the_whole_table(net):
    """As it says, by what it looks up, and by where packets go."""
    now = progress(net)
    assert now["state"] == "complete" and now["routes"] >= ROUTES, now
    assert all(matched(net, number) for number in [*range(0, ROUTES, ROUTES // 500), ROUTES - 1])
    assert not matched(net, ROUTES)
    for number in (0, ROUTES // 2, ROUTES - 1):
        arrives(net.a, net.b, address(number))


@requirement("a start forwards before the kernel's table has been read, and ends with all of it")
@pytest.mark.xdp("a tap, and every route over it, is there only while its daemon runs")
def test_start_with_a_full_table(build_net):
    net = start_with_a_full_table(build_net)
    wait_for_crossing(net.a, net.c)
    wait_for(lambda: settled(net, True), "the whole table", deadline=PATIENCE, interval=0.02)
    begun, read = logged_at(net, "forwards; API at"), happened_at(net, "the table has been read")
    print(f"\n{ROUTES} routes: read {read - begun:.2f} s after it had begun to forward")
    assert begun < read
    assert_the_whole_table(net)
    assert f"kernel routes: complete, {progress(net)['routes']}" in net.router.cli("show", "version").stdout


@requirement("a start behind a data path that runs takes over with the whole table: its first answer has it, and no packet is lost")
@pytest.mark.xdp("what outlives its daemon")
@pytest.mark.not_sanitized("taking over has its time")
@inline_only
def test_takeover_with_a_full_table(build_net, stream):
    net = start_with_a_full_table(build_net)
    wait_for(lambda: settled(net, True), "the whole table", deadline=PATIENCE, interval=0.02)
    arrives(net.a, net.b, address(7))
    running = stream(net.a, net.b, destination=address(7))
    net.router.kill()
    arrives(net.a, net.b, address(ROUTES - 1))
    net.router.launch()
    first = wait_for(lambda: progress(net), "the daemon answers again", deadline=PATIENCE, interval=0.002)
    assert first["state"] == "complete" and first["routes"] >= ROUTES, first
    assert "took over the running port stage" in net.router.log()
    assert_nothing_lost(running.finish(after=2000))
    assert_the_whole_table(net)
