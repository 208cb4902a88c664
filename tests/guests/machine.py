# SPDX-License-Identifier: BSD-3-Clause
"""An emulator without KVM: a process whose files and sockets lie in one directory, which goes with it. It dies with the test run,
however that ends; a later run removes directories of runs that were killed."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from guests.guest import Guest, TimedOut
from guests.qmp import Qmp
from guests.waiting import DEADLINE, wait_for

PREFIX = "pktpit-guest-"
PR_SET_PDEATHSIG = 1
WENT_WRONG = re.compile(r"Oops|BUG:|kernel BUG|Kernel panic|general protection")
# An emulated processor can miss the end of an interrupt while the guest boots, and waits for ever then: it is started again.
BOOT_SECONDS = (120, 120, DEADLINE)
_libc = ctypes.CDLL(None, use_errno=True)
_live = []


def accelerator(threads="single"):
    """single: the processors are taken in turn, in one thread. With a thread each (multi), 1 of 37 starts of Linux 6.1 hung, with an interrupt of a
    timer that had not ended, and a guest of 7.3.4 died, as if it had met a breakpoint by which the kernel replaces code after that was gone."""
    return "-accel", f"tcg,thread={threads}"


class BootFailed(AssertionError):
    pass


class Machine:
    """QEMU's options name what `directory` has: sockets `qmp` and `commands` (the second serial line), file `console`."""

    def __init__(self, room):
        """`room`: bytes that will lie in its directory, which is in memory where that has so much."""
        self.directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=memory_directory(room)))
        self.process, self.guest, self.qmp = None, None, None
        self.boot_seconds = 0.0
        _live.append(self)

    def start(self, command, environment=None, descriptors=()):
        """Until its first process answers. `environment`: QEMU's, where it is not ours; `descriptors`: open files that it gets."""
        for number, seconds in enumerate(BOOT_SECONDS, 1):
            began = time.monotonic()
            self._start_once(command, environment, descriptors)
            try:
                self.guest.wait_ready(self.assert_alive, seconds)
                self.boot_seconds = time.monotonic() - began
                return
            except TimedOut as error:
                said = f"start {number} of {len(BOOT_SECONDS)}: {error}, within {seconds} s, {self.processor_seconds():.0f} s of its processors\n{self.words()}"
            if number == len(BOOT_SECONDS):
                raise BootFailed(said)
            print(said)
            self._end()

    def _start_once(self, command, environment, descriptors):
        with open(self.directory / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                            start_new_session=True, preexec_fn=_die_with_parent, pass_fds=descriptors)
        wait_for(lambda: self.assert_alive() and (self.directory / "qmp").exists(), "QEMU's start")
        try:
            self.qmp = Qmp(self.directory / "qmp")
        except OSError:  # an option that it refuses only now
            self.process.wait()
            self.assert_alive()
        self.guest = Guest(self.directory / "commands")
        self.connected()

    def connected(self):
        """Called when QEMU's sockets are there, and its guest is still booting."""

    def assert_alive(self):
        if self.process.poll() is not None:
            raise BootFailed(f"QEMU ended with {self.process.returncode}:\n{self.words()}")
        return True

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def processor_seconds(self):
        """What the emulator has computed so far: on a busy machine that says more than the clock."""
        if not self.is_alive():
            return 0.0
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def words(self, lines=40):
        """What QEMU and the guest's console said last; of a kernel that has died, from its first word of it."""
        said = []
        for name in ("qemu.log", "console"):
            file = self.directory / name
            if file.exists():
                text = file.read_text(errors="replace").splitlines()
                first = next((at for at, line in enumerate(text) if WENT_WRONG.search(line)), len(text))
                said += [f"--- {name}", *(text[max(0, first - 5):] if first < len(text) else text[-lines:])]
        return "\n".join(said)

    def kill(self):
        """What it said stays until it is closed."""
        if self.is_alive():
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _end(self):
        for part in (self.guest, self.qmp):
            if part:
                part.close()
        self.kill()
        for socket in ("qmp", "commands"):
            (self.directory / socket).unlink(missing_ok=True)

    def close(self):
        if self in _live:
            _live.remove(self)
        self._end()
        shutil.rmtree(self.directory, ignore_errors=True)


def memory_directory(room):
    """What a guest writes is best a file in memory; on a disk every byte would be written out. None: there is no room."""
    shared = Path("/dev/shm")
    free = shutil.disk_usage(shared).free if shared.is_dir() and os.access(shared, os.W_OK) else 0
    return shared if free > room else None


def _die_with_parent():
    """Whoever kills the test run with -9 leaves no machine behind."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def close_all():
    for machine in list(_live):
        machine.close()


def _directories(run):
    return [path for parent in {Path("/dev/shm"), Path(tempfile.gettempdir())} for path in parent.glob(f"{PREFIX}{run}-*")]


def sweep_dead_runs():
    """Directories of runs whose process is gone (killed with -9): nothing else would delete them."""
    for path in _directories("*"):
        pid = path.name.removeprefix(PREFIX).split("-")[0]
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
            shutil.rmtree(path, ignore_errors=True)


def left_over():
    return [str(path) for path in _directories(os.getpid())]
