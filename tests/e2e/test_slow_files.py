# SPDX-License-Identifier: BSD-3-Clause
"""Files that take long to read or to check keep nobody waiting: neither packets that need the daemon, nor the API, nor
SIGTERM. RFC 1812 4.3.3: the ICMP errors are the daemon's."""

import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess

import pytest
from lib.asking import ask
from lib.packets import icmp_answer, token, udp4
from lib.pktpit_router import TOOL
from lib.processes import cpu_seconds
from lib.waiting import DEADLINE, PATIENCE, wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")

WRONG_ENTRIES = 200_000 if PATIENCE == 1 else 10_000  # with a sanitizer each takes milliseconds


def wrong_entries(net):
    """A configuration of less than 1 MiB, every route of which is wrong."""
    config = {**net.router.config, "routes": [0] * WRONG_ENTRIES}
    text = json.dumps(config, separators=(",", ":"))
    assert len(text) < 1 << 20
    return text


def with_fifo(net):
    fifo = net.router.directory / "routes.fifo"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(fifo)
    return json.dumps({**net.router.config, "routes_files": [{"path": str(fifo), "next_hops": {"*": [{"via": net.b.ip4}]}}]})


def answers(net):
    """An ICMP error and one of the API."""
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, ttl=1))
    icmp_answer(net.a, mark)
    ask(net.router.socket, "/v1/version")
    return True


@requirement("200,000 wrong entries, over the API or by SIGHUP: pings with TTL 1 and `show version` are answered meanwhile; at "
             "most 20 errors are told, and how many more there are")
@pytest.mark.parametrize("how", ["api", "sighup"])
def test_200000_wrong_entries_delay_nobody(net, how):
    good = net.router.file.read_text()
    logged = len(net.router.log())
    net.router.file.write_text(wrong_entries(net))
    answered = 0
    with contextlib.ExitStack() as afterwards:
        afterwards.callback(net.router.file.write_text, good)
        if how == "api":
            reload = afterwards.enter_context(concurrent.futures.ThreadPoolExecutor(1)).submit(net.router.cli, "reload", check=False)
            is_over = reload.done
        else:
            net.router.process.send_signal(signal.SIGHUP)
            is_over = lambda: "more errors" in net.router.log()[logged:]  # noqa: E731
        while not is_over():
            answered += answers(net)
        # Who had waited for the checking would have been answered once, after it.
        assert answered > 1
        if how == "api":
            refused = reload.result()
            assert refused.returncode == 1
            assert refused.stderr.count("/routes/") == 20 and f"and {WRONG_ENTRIES - 20} more errors" in refused.stderr
        lines = [line for line in net.router.log()[logged:].splitlines() if "refused: " in line]
        assert len(lines) == 21 and f"and {WRONG_ENTRIES - 20} more errors" in lines[-1]
    net.router.reload()


@requirement("a routes file that is a FIFO is refused, by SIGHUP and by the API, and not waited for")
def test_a_fifo_is_no_routes_file(net):
    good = net.router.file.read_text()
    net.router.file.write_text(with_fifo(net))
    try:
        refused = net.router.cli("reload", check=False)
        assert refused.returncode == 1 and "is a FIFO" in refused.stderr
        logged = len(net.router.log())
        net.router.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "is a FIFO" in net.router.log()[logged:], what="SIGHUP's reload is refused")
        assert answers(net)
    finally:
        net.router.file.write_text(good)
    net.router.reload()


@requirement("SIGTERM ends the daemon while a long configuration is being checked, and the data path with it")
def test_sigterm_during_a_long_validation(build_net):
    net = build_net()
    net.router.file.write_text(wrong_entries(net))
    told = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "reload"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    # It has begun as soon as its file has been read to the end: nobody else has it open.
    before = cpu_seconds(net.router.process.pid)
    wait_for(lambda: cpu_seconds(net.router.process.pid) > before + 0.03, what="the daemon computes")
    net.router.process.send_signal(signal.SIGTERM)
    assert net.router.process.wait(DEADLINE) == 0
    out, err = told.communicate(timeout=DEADLINE)
    assert told.returncode != 0 and ("stopping" in err or "200" in err), err
    assert not net.router.pins.exists() and not net.router.socket.exists()


@requirement("a second reload waits for the first, and both are made")
def test_two_reloads_at_once(net):
    first = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "reload"])
    second = net.router.reload()
    assert first.wait(DEADLINE) == 0 and second.returncode == 0
