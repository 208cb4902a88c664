# SPDX-License-Identifier: BSD-3-Clause
"""Faults at a daemon's calls to the kernel, by strace: which calls there are, and one of them made to fail or to be the last."""

import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from lib.namespaces import end
from lib.waiting import wait_for

SYSCALLS = ("bpf", "rename", "renameat2", "bind", "openat", "sendmsg", "sendto")
ERRORS = ("EPERM", "ENOMEM", "EBUSY", "ENOSPC")
KILL = "SIGKILL"
# How a daemon may end: it was killed, it has refused to go on, or the verifier would take minutes (outcome() below).
GONE, STATUS_REFUSED, TOO_SLOW = -signal.SIGKILL, 1, "too slow"
INJECTED = "(INJECTED)"  # what strace adds to such a call
MOST_KERNEL_SECONDS = 10  # a start takes one or two
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

    def outcomes(self):
        """How the daemon may end. 0: it has gone on, or has not come to the call."""
        if self.fault == KILL:
            return (0, GONE)
        return (0, STATUS_REFUSED, TOO_SLOW) if self.call.syscall == "bpf" else (0, STATUS_REFUSED)

    def injection(self):
        fault = "signal=KILL" if self.fault == KILL else f"error={self.fault}"
        return f"inject={self.call.syscall}:{fault}:when={self.call.number}"


def strace(log, *expressions):
    """A command to run a daemon through, which stays the process that is waited for. Of its threads the main one alone is
    traced: strace counts calls of each thread by itself, and each thread that answers a question has a first call."""
    return ("strace", "-D", "-qq", "-s", "256", "-o", log, *words(expressions))


def words(expressions):
    return [word for each in ("trace=" + ",".join(SYSCALLS), *expressions) for word in ("-e", each)]


def read_calls(log, own_from=None):
    """Calls in order. `own_from`: those before the first that has this text are left out, as they are the libraries' at the
    program's start."""
    calls, counts, own = [], {}, own_from is None
    for line in Path(log).read_text(errors="replace").splitlines():
        found = re.match(r"(\w+)\((.*)", line)
        if not found or found[1] not in SYSCALLS:
            continue
        syscall, said = found[1], found[2]
        counts[syscall] = counts.get(syscall, 0) + 1
        own = own or own_from in said
        if own:
            calls.append(Call(syscall, counts[syscall], about(syscall, said)))
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
        self.process = namespace.start("strace", "-qq", "-s", "256", "-o", log, "-p", pid, *words(expressions))
        wait_for(lambda: "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text(), "strace is attached")

    def close(self):
        end(self.process)


def outcome(router):
    """Of a daemon that was launched: its exit status, or None: it is ready. libbpf takes a refused probe for a feature that the
    kernel lacks, and without functions verified apart the verifier takes minutes: one for which the kernel computes is killed."""
    def event():
        if (status := router.process.poll()) is not None:
            return (status,)
        if router.answers():
            return (None,)
        if kernel_seconds(router.process.pid) > MOST_KERNEL_SECONDS:
            router.kill()
            return (TOO_SLOW,)

    return wait_for(event, "the daemon is ready or has ended", deadline=600)[0]


def kernel_seconds(pid):
    """CPU time that the kernel has spent on a process's behalf (proc(5), /proc/PID/stat: stime)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[12]) / os.sysconf("SC_CLK_TCK")
