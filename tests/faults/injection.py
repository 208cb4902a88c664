# SPDX-License-Identifier: BSD-3-Clause
"""Faults at a daemon's calls to the kernel, by strace: which calls there are, and one of them made to fail or to be the last."""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from lib.namespaces import end
from lib.waiting import wait_for

SYSCALLS = ("bpf", "rename", "renameat2", "bind", "openat", "sendmsg", "sendto")
ERRORS = ("EPERM", "ENOMEM", "EBUSY", "ENOSPC")
KILL = "SIGKILL"
TOO_SLOW = "too slow"
# Calls of one kind that follow from one another are many (each element of a map): of more than so many, the first, the last
# and some between them are tried. PKTPIT_FAULTS=all tries every call with every error.
ALIKE = 5
ALL = os.environ.get("PKTPIT_FAULTS") == "all"


@dataclass(frozen=True)
class Call:
    """The `number`-th call of its syscall in the main thread, and what it is about."""
    syscall: str
    number: int
    about: str


@dataclass(frozen=True)
class Point:
    call: Call
    fault: str

    def __str__(self):
        return f"{self.fault} at {self.call.syscall} {self.call.number} ({self.call.about})"

    def injection(self):
        fault = "signal=KILL" if self.fault == KILL else f"error={self.fault}"
        return f"inject={self.call.syscall}:{fault}:when={self.call.number}"


def strace(log, *expressions):
    """A command to run a daemon through, which stays the process that is waited for."""
    return ("strace", "-D", "-f", "-qq", "-s", "256", "-o", log, "-e", "trace=" + ",".join(SYSCALLS),
            *(word for each in expressions for word in ("-e", each)))


def read_calls(log, own_from=None, main=None):
    """Calls of the process's main thread (`main`, else the first that calls), in order. `own_from`: those before the first that has this text are left out, as
    they are the libraries' at the program's start."""
    calls, counts, own = [], {}, own_from is None
    for line in Path(log).read_text(errors="replace").splitlines():
        found = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not found or found[2] not in SYSCALLS:
            continue
        main = main or found[1]
        if found[1] != main:
            continue
        syscall, words = found[2], found[3]
        counts[syscall] = counts.get(syscall, 0) + 1
        own = own or own_from in words
        if own:
            calls.append(Call(syscall, counts[syscall], about(syscall, words)))
    return calls


def about(syscall, words):
    if syscall == "bpf":
        return words.split(",")[0]
    if syscall == "openat":
        return re.sub(r"\d+", "N", re.search(r'"([^"]*)"', words)[1] if '"' in words else words)
    if syscall in ("rename", "renameat2"):
        return re.sub(r"\d+", "N", " ".join(Path(name).name for name in re.findall(r'"([^"]*)"', words)))
    if kind := re.search(r"(RTM_\w+|nlmsg_type=\w+)", words):
        return kind[1]
    return re.search(r"sa_family=(\w+)", words)[1] if "sa_family=" in words else "socket"


def choose(calls, share, shares):
    """A share of the points of these calls: each is killed at, and fails with one of the errors in turn."""
    kinds = {}
    for call in calls:
        kinds.setdefault((call.syscall, call.about), []).append(call)
    chosen = []
    for alike in kinds.values():
        if not ALL and len(alike) > ALIKE:
            alike = [alike[round(index * (len(alike) - 1) / (ALIKE - 1))] for index in range(ALIKE)]
        chosen += alike
    chosen.sort(key=calls.index)
    points = []
    for index, call in list(enumerate(chosen))[share::shares]:
        points += [Point(call, fault) for fault in (KILL, *(ERRORS if ALL else (ERRORS[index // shares % len(ERRORS)],)))]
    return points


class Tracer:
    """strace on a running process, from construction to close()."""

    def __init__(self, namespace, pid, log, *expressions):
        words = [word for each in ("trace=" + ",".join(SYSCALLS), *expressions) for word in ("-e", each)]
        for _ in range(5):  # it gives up where a thread ends that it was about to attach to
            self.process = namespace.start("strace", "-f", "-qq", "-s", "256", "-o", log, "-p", pid, *words)
            wait_for(lambda: all_traced(pid) or self.process.poll() is not None, 10, "strace is attached")
            if self.process.poll() is None:
                return
        raise AssertionError("strace cannot attach")

    def close(self):
        end(self.process)


def all_traced(pid):
    states = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
    return states and all("TracerPid:\t0\n" not in state for state in states)


def outcome(router, patience=8):
    """Of a daemon that was launched: its exit status, or None: it is ready. One that takes longer is killed. libbpf takes a
    refused probe for a feature that the kernel lacks, and without functions verified apart the verifier takes minutes."""
    end_of_patience = time.monotonic() + patience
    while time.monotonic() < end_of_patience:
        if (status := router.process.poll()) is not None:
            return status
        if router.cli("show", "version", check=False).returncode == 0:
            return None
        time.sleep(0.01)
    router.kill()
    return TOO_SLOW
