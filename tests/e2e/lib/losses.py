# SPDX-License-Identifier: BSD-3-Clause
"""Where a stream has lost frames: before the router, in it, or behind it, and whether the machine had time for it.

Veth rings, packet sockets and rings of AF_XDP hold some milliseconds of a stream. When other work keeps the router, or the
kernel's softirqs, from a CPU for longer than that, they overflow, and no router could have done better. Such a loss is
told from one of the router's by two things that it cannot make up: every lost frame is one that a full queue outside of
it has dropped, and threads that should have emptied the queue were runnable and waited for a CPU.
"""

import functools
import json
from pathlib import Path

from lib.namespaces import CommandFailed

# Less than that fits into the smallest queue, the 256 frames of a veth ring, at the fastest stream's 30,000 packets/s.
LONG_WAIT = 0.008


class LostByTheMachine(AssertionError):
    """What was to be measured needs more time than the machine gave. Measured again, a few times (conftest.py)."""


class Losses:
    """From construction to account()."""

    def __init__(self, sender, receiver):
        self.sender, self.receiver, self.router = sender, receiver, getattr(sender.topology, "router", None)
        self.before = self._now()

    def account(self):
        """Account of what has happened since, None if the router does not say: it is another, or stands still."""
        after = self._now()
        if not self.before or not after:
            return Account()
        named = {name: count - self.before["named"].get(name, 0) for name, count in after.pop("named").items()}
        grown = {name: after[name] - self.before[name] for name in after}
        if grown["taken"] < 0 or grown["given"] < 0:
            return Account()
        # Neighbours' and errors' packets go the same way, and not all are counted by both: some more than arrived.
        before, behind = max(0, grown["sent"] - grown["taken"]), max(0, grown["given"] - grown["arrived"])
        return Account(before, behind, grown["full"], grown["waited"] / 1e9,
                       {name: count for name, count in named.items() if count})

    def _now(self):
        if self.router is None or not runs(self.router.process):
            return None
        try:
            counters = self.router.json("show", "counters")
        except (CommandFailed, OSError, ValueError):
            return None
        ports = counters["ports"]
        entry, exit_ = ports.get(self.sender.port), ports.get(self.receiver.port)
        if not entry or not exit_:
            return None
        sent, arrived = statistics(self.sender), statistics(self.receiver)
        named = counters["slow_path"] | {name: count for name, count in counters["totals"]["verdicts"].items() if "drop" in name}
        return {"named": named, "sent": sent["tx"]["packets"] + sent["tx"]["dropped"], "taken": entry["rx_packets"], "given": exit_["tx_packets"],
                "arrived": arrived["rx"]["packets"], "full": sum(end["verdicts"].get(name, 0) for end, name in (
                    (entry, "drop_split_full"), (entry, "drop_stale"), (exit_, "drop_stale"))),
                "waited": waited([self.router.process.pid, *softirq_threads()])}


class Account:
    def __init__(self, before=0, behind=0, full=0, waited=None, named=None):
        self.before, self.behind, self.full, self.waited, self.named = before, behind, full, waited, named

    def explains(self, lost):
        """Can the machine have lost as many, and the router none?"""
        return self.waited is not None and self.waited > LONG_WAIT and self.before + self.behind + self.full >= lost

    def __str__(self):
        if self.waited is None:
            return "where is not known: the router has been another meanwhile, or stood still"
        return (f"{self.before} dropped before the router, {self.full} at its full rings, {self.behind} behind it; its threads and "
                f"the softirqs' were ready and waited for a CPU for {self.waited * 1e3:.0f} ms; the router counted {self.named}")


def runs(process):
    """It is there, and has not been stopped: it would not answer."""
    try:
        state = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (AttributeError, OSError):
        return False
    return state not in "TtZX"


def statistics(host):
    return json.loads(host.namespace.ip("-s", "-j", "link", "show", "eth0").stdout)[0]["stats64"]


@functools.cache
def softirq_threads():
    found = []
    for path in Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text().startswith("ksoftirqd/"):
                found.append(int(path.parent.name))
        except OSError:  # it has ended
            continue
    return found


def waited(pids):
    """Nanoseconds that all threads of the processes have spent runnable, but not running."""
    total = 0
    for pid in pids:
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                total += int(path.read_text().split()[1])
            except OSError:
                continue
    return total
