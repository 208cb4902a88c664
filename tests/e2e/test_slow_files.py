# SPDX-License-Identifier: BSD-3-Clause
"""Files that take long to read or to check keep nobody waiting: neither packets that need the daemon, nor the API, nor
SIGTERM. RFC 1812 4.3.3: the ICMP errors are the daemon's."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time

import pytest
from lib.packets import icmp_answer, token, udp4
from lib.pktpit_router import TOOL
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")

WRONG_ENTRIES = 200_000
ANSWER = 1.0  # seconds: of the API, of an ICMP error, of SIGTERM


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


class Answers:
    """Of the daemon, by the API and by ICMP errors, for as long as it lasts: the longest time that one took."""

    def __init__(self, net):
        self.net, self.longest, self.count = net, 0.0, 0

    def ask(self):
        begin = time.monotonic()
        mark = token()
        self.net.a.send(udp4(self.net.a, self.net.b, mark, ttl=1))
        icmp_answer(self.net.a, mark, 15.0)
        self.net.router.cli("show", "version")
        self.longest = max(self.longest, time.monotonic() - begin)
        self.count += 1


@requirement("200,000 wrong entries, over the API or by SIGHUP: pings with TTL 1 and `show version` are answered meanwhile; at "
             "most 20 errors are told, and how many more there are")
@pytest.mark.parametrize("how", ["api", "sighup"])
@pytest.mark.alone("within a second")
def test_200000_wrong_entries_delay_nobody(net, how):
    good = net.router.file.read_text()
    logged = len(net.router.log())
    net.router.file.write_text(wrong_entries(net))
    try:
        answers, told = Answers(net), []
        if how == "api":
            reload = threading.Thread(target=lambda: told.append(net.router.cli("reload", check=False, timeout=60)))
            reload.start()
            is_over = lambda: not reload.is_alive()  # noqa: E731
        else:
            net.router.process.send_signal(signal.SIGHUP)
            is_over = lambda: "more errors" in net.router.log()[logged:]  # noqa: E731
        end = time.monotonic() + 60
        while not is_over() and time.monotonic() < end:
            answers.ask()
        assert is_over()
        assert answers.count > 0 and answers.longest < ANSWER, f"{answers.count} answers, one took {answers.longest:.2f} s"
        lines = [line for line in net.router.log()[logged:].splitlines() if "refused: " in line]
        assert len(lines) == 21 and f"and {WRONG_ENTRIES - 20} more errors" in lines[-1]
        if told:
            assert told[0].returncode == 1
            assert told[0].stderr.count("/routes/") == 20 and f"and {WRONG_ENTRIES - 20} more errors" in told[0].stderr
    finally:
        net.router.file.write_text(good)
    net.router.reload()


@requirement("a routes file that is a FIFO is refused at once, by SIGHUP, by the API and at the start")
def test_a_fifo_is_no_routes_file(net):
    good = net.router.file.read_text()
    net.router.file.write_text(with_fifo(net))
    try:
        begin = time.monotonic()
        refused = net.router.cli("reload", check=False)
        assert refused.returncode == 1 and "is a FIFO" in refused.stderr
        logged = len(net.router.log())
        net.router.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "is a FIFO" in net.router.log()[logged:], ANSWER, "SIGHUP's reload is refused")
        Answers(net).ask()
        assert time.monotonic() - begin < 3 * ANSWER
    finally:
        net.router.file.write_text(good)
    net.router.reload()


@requirement("SIGTERM ends the daemon promptly while a long configuration is being checked, and the data path with it")
@pytest.mark.alone("within a second")
def test_sigterm_during_a_long_validation(build_net):
    net = build_net()
    net.router.file.write_text(wrong_entries(net))
    told = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "reload"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
    # It has begun as soon as its file has been read to the end: nobody else has it open.
    busy = lambda: sum(map(int, cpu_times(net.router.process.pid)))  # noqa: E731
    before = busy()
    wait_for(lambda: busy() > before + 3, 10.0, "the daemon computes")
    begin = time.monotonic()
    net.router.process.send_signal(signal.SIGTERM)
    assert net.router.process.wait(10) == 0
    assert time.monotonic() - begin < 1.5 * ANSWER
    out, err = told.communicate(timeout=10)
    assert told.returncode != 0 and ("stopping" in err or "200" in err), err
    assert not net.router.pins.exists() and not net.router.socket.exists()


def cpu_times(pid):
    """Hundredths of a second in user and kernel mode."""
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rsplit(")", 1)[1].split()[11:13]


@requirement("a second reload waits for the first, and both are made")
def test_two_reloads_at_once(net):
    first = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "reload"])
    second = net.router.reload()
    assert first.wait(20) == 0 and second.returncode == 0
