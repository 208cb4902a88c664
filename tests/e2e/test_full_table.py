# SPDX-License-Identifier: BSD-3-Clause
"""Hundreds of thousands of routes of the kernel come and go, and the daemon has time for everything else all the while.
PKTPIT_ROUTES=N for another number; figures are printed with `pytest -s`."""

import os
import signal
import time

import pytest
from lib.asking import Asking, ask_json
from lib.losses import LostByTheMachine
from lib.packets import wait_for_crossing
from lib.pktpit_router import FORWARDING
from lib.waiting import PATIENCE as SLOWER
from lib.waiting import wait_for

requirement = pytest.mark.requirement
NET = {"config": {"kernel_routes": {"enabled": True}}}
ROUTES = int(os.environ.get("PKTPIT_ROUTES", 200_000))
PATIENCE = 120 + ROUTES / 2000  # seconds; a machine that starves is slow
pytestmark = [pytest.mark.pktpit("about the daemon's API"), pytest.mark.timeout(3 * PATIENCE)]


def prefix(number):
    return f"{20 + (number >> 16)}.{number >> 8 & 255}.{number & 255}.0/24"


def address(number):
    return prefix(number).removesuffix("0/24") + "9"


def batch(net, verb, first=0, last=ROUTES):
    lines = (f"route {verb} {prefix(number)} via {net.b.ip4} proto static\n" for number in range(first, last))
    file = net.router.directory / f"{net.router.instance}.batch"
    file.write_text("".join(lines))
    net.topology.router_namespace.ip("-batch", file, timeout=PATIENCE)


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


def timed(net, what, change, there, idle):
    """The answers during a change and until it has been followed; None of the time may be one answer's."""
    with Asking(net.router.socket) as asking:
        began = time.monotonic()
        change()
        kernel = time.monotonic() - began
        wait_for(lambda: settled(net, there), PATIENCE, f"{what} has been followed", 0.05)
        took = time.monotonic() - began
    print(f"{what}: kernel {kernel:.2f} s, followed after {took:.2f} s; {asking}")
    assert not asking.failed, asking.failed[:3]
    # Were it followed in one go, that would be one answer's time. The machine's own pauses come on top.
    if max(asking.seconds) > max(took / 4, 10 * max(idle.seconds), 0.2):
        raise LostByTheMachine(f"an answer waited for {max(asking.seconds):.2f} s of the {took:.2f} s that {what} took")


@requirement("while a full table comes, is withdrawn, and loses its link, the API goes on answering: no answer waits for the table")
def test_api_answers_while_the_table_changes(net):
    with Asking(net.router.socket) as idle:
        time.sleep(2)
    print(f"\n{ROUTES} routes; idle: {idle}")
    ip = net.topology.router_namespace.ip
    try:
        turns = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]["turns"]
        timed(net, "add", lambda: batch(net, "add"), True, idle)
        turns = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]["turns"] - turns
        print(f"{turns} turns")
        assert turns < ROUTES / 20, "who adds routes one by one does not wake the daemon for each"
        timed(net, "withdraw", lambda: batch(net, "del"), False, idle)
        batch(net, "add")
        wait_for(lambda: settled(net, True), PATIENCE, "the table is there again", 0.05)
        timed(net, "link down", lambda: ip("link", "set", net.b.port, "down"), False, idle)
        counters = ask_json(net.router.socket, "/v1/counters").get("kernel_routes")
        print(f"counters: {counters}")
        if counters:
            assert counters["turns"] > 20 and counters["overflows"] == 0
            assert counters["routes"] < 100 and counters["waiting"] == 0
    finally:
        ip("link", "set", net.b.port, "down")
        ip("link", "set", net.b.port, "up")


@requirement("a link that goes down is known at once, though the events of many routes before it are still to be handled")
def test_link_goes_before_routes(net):
    many = min(ROUTES, 40_000)  # as many as fit into a socket's queue
    ip = net.topology.router_namespace.ip
    down = lambda: not next(port for port in ask_json(net.router.socket, "/v1/ports")["ports"] if port["name"] == net.c.port)["up"]  # noqa: E731
    try:
        # All of it waits when the daemon goes on: the routes first, the link behind them.
        os.kill(net.router.process.pid, signal.SIGSTOP)
        try:
            batch(net, "add", 0, many)
            ip("link", "set", net.c.port, "down")
        finally:
            os.kill(net.router.process.pid, signal.SIGCONT)
        wait_for(down, PATIENCE, "the link is down", 0.001)
        waiting = progress(net)["waiting"]
        wait_for(lambda: matched(net, many - 1) and progress(net)["waiting"] == 0, PATIENCE, "the routes have been followed", 0.05)
        print(f"\nthe link is down while {waiting} messages wait")
        if waiting == 0:
            raise LostByTheMachine("the routes were handled before anybody could ask about the link")
    finally:
        ip("link", "set", net.c.port, "up")
        batch(net, "del", 0, many)


@requirement("messages that the kernel drops (ENOBUFS) are counted, told once, and followed by a resync; nothing is missed in the end")
def test_lost_messages_are_told_and_made_up_for(net):
    before = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]
    told = net.router.log().count("messages of the kernel were lost")
    os.kill(net.router.process.pid, signal.SIGSTOP)
    try:
        batch(net, "add")
    finally:
        os.kill(net.router.process.pid, signal.SIGCONT)
    began = time.monotonic()
    wait_for(lambda: settled(net, True), PATIENCE, "all routes are there", 0.05)
    print(f"\nresync of {ROUTES} routes: {time.monotonic() - began:.2f} s")
    after = ask_json(net.router.socket, "/v1/counters")["kernel_routes"]
    print(f"\n{after}")
    assert after["overflows"] > before["overflows"] and after["drops"] > before["drops"]
    assert after["resyncs"] > before["resyncs"]
    wait_for(lambda: "kernel routes: complete again" in net.router.log(), 5, "the end of the resync is in the log")
    assert net.router.log().count("messages of the kernel were lost") == told + 1
    assert all(matched(net, number) for number in range(0, ROUTES, ROUTES // 500))
    assert "drops" in net.router.cli("show", "counters").stdout
    batch(net, "del")
    wait_for(lambda: not matched(net, ROUTES - 1), PATIENCE, "all are gone")


@requirement("a start forwards before the kernel's table has been read, says how far it has come, and ends with all of it; a start "
             "behind a data path that runs takes over with the whole table")
@pytest.mark.xdp("a tap, and every route over it, is there only while its daemon runs")
def test_start_with_a_full_table(build_net):
    net = build_net(**NET, start=False, settle=False)
    ip = net.topology.router_namespace.ip
    ip("link", "set", net.b.port, "up")
    ip("addr", "add", f"{net.b.router_ip4}/24", "dev", net.b.port)
    batch(net, "add")
    began = time.monotonic()
    net.router.launch()
    states = []

    def answers():
        if not net.router.socket.exists():
            return False
        try:
            states.append(progress(net))
        except OSError:
            return False
        return True

    wait_for(answers, 30, "the first answer", 0.002)
    first = time.monotonic() - began

    wait_for_crossing(net.a, net.c)
    crossed, states_then = time.monotonic() - began, progress(net)
    wait_for(lambda: settled(net, True), PATIENCE, "the whole table", 0.02)
    print(f"\n{ROUTES} routes: first answer after {first:.2f} s ({states[0]}), first packet after {crossed:.2f} s ({states_then}), "
          f"complete after {time.monotonic() - began:.2f} s")
    assert states[0]["state"] == "reading", states
    assert progress(net)["routes"] >= ROUTES
    assert f"kernel routes: complete, {progress(net)['routes']}" in net.router.cli("show", "version").stdout
    if FORWARDING != "inline" or SLOWER != 1:
        return  # what is split or auto does not outlive its daemon; taking over has its time, too short for a sanitizer's build
    net.router.kill()
    net.router.launch()
    wait_for(lambda: net.router.process.poll() is None and matched_at_once(net), PATIENCE, "the daemon answers again", 0.002)


def matched_at_once(net):
    """The first answer of a daemon: it has the whole table. False: there is none yet."""
    try:
        now = progress(net)
    except OSError:
        return False
    assert now["state"] == "complete" and now["routes"] >= ROUTES, now
    return True
