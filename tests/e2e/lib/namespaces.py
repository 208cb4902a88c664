# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces with names of our own, and everything that runs in them.

Processes enter by `nsenter --net=`: `ip netns exec` would remount /sys and hide bpffs from the daemon.
"""

import atexit
import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time

from lib.session import RUN, WORKER, is_dead
from lib.waiting import DEADLINE

_RUN_PREFIX = f"pk{RUN}-"
PREFIX = f"{_RUN_PREFIX}{WORKER}-" if WORKER else _RUN_PREFIX
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)
_live = {}


class CommandFailed(AssertionError):
    pass


def run(*command, check=True, timeout=2 * DEADLINE, **keywords):
    """A command's result with its output as text; a failure shows what the command said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, **keywords)
    return checked(done, command) if check else done


def checked(done, command):
    if done.returncode:
        raise CommandFailed(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


class Namespace:
    def __init__(self, label):
        self.name = PREFIX + label
        self.path = f"/run/netns/{self.name}"
        self.processes = []
        run("ip", "netns", "add", self.name)
        _live[self.name] = self
        self.ip("link", "set", "lo", "up")

    def command(self, *words):
        return ["nsenter", f"--net={self.path}", "--", *map(str, words)]

    def run(self, *words, **keywords):
        return run(*self.command(*words), **keywords)

    def ip(self, *words, **keywords):
        return run("ip", "-n", self.name, *words, **keywords)

    def batch(self, lines, family=()):
        """Many `ip` commands in one process."""
        if lines:
            run("ip", *family, "-n", self.name, "-batch", "-", input="\n".join(lines) + "\n")

    def sysctl(self, settings):
        """{"net/ipv4/ip_forward": 1, ...}, written from inside: /proc/sys/net shows the reader's namespace."""
        with self.entered():
            for name, value in settings.items():
                # /proc/sys/net follows the thread that opens it only by way of /proc/thread-self.
                with open(f"/proc/sys/{name}", "w") as file:
                    file.write(str(value))

    def start(self, *words, **keywords):
        """A process of this namespace; it is ended with the namespace at the latest."""
        process = subprocess.Popen(self.command(*words), start_new_session=True, **keywords)
        self.processes.append(process)
        return process

    def entered(self):
        return entered(self.path)

    def delete(self):
        for process in self.processes:
            end(process)
        self.processes = []
        if _live.pop(self.name, None):
            run("ip", "netns", "del", self.name, check=False)


@contextlib.contextmanager
def entered(path):
    """This thread is in the namespace that has this path. Sockets opened meanwhile stay in it."""
    home = os.open(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net", os.O_RDONLY)
    there = os.open(path, os.O_RDONLY)
    try:
        _setns(there)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(there)
        os.close(home)


def _setns(descriptor):
    if _libc.setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def end(process, how=signal.SIGTERM, patience=60):
    """Ends a process of ours with its whole group, and reaps it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode


def delete_all():
    for namespace in list(_live.values()):
        namespace.delete()


def _existing():
    return sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else []


def left_over(prefix=PREFIX):
    """Names of our namespaces that still exist."""
    return [name for name in _existing() if name.startswith(prefix)]


def remove_left_over_of_run():
    """What workers have left that could not clean up. The names."""
    names = left_over(_RUN_PREFIX)
    for name in names:
        _remove(name)
    return names


def sweep_dead_runs():
    """Namespaces of earlier runs whose process is gone (killed with -9): nothing else would delete them."""
    for name in _existing():
        if name.startswith("pk") and "-" in name and is_dead(name[2:].split("-")[0]):
            _remove(name)


def _remove(name):
    """A namespace that nobody looks after any more, with what runs in it."""
    end_of_patience = time.monotonic() + 5
    while (pids := run("ip", "netns", "pids", name, check=False).stdout.split()) and time.monotonic() < end_of_patience:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.01)
    run("ip", "netns", "del", name, check=False)


atexit.register(delete_all)
