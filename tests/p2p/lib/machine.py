# SPDX-License-Identifier: BSD-3-Clause
"""The emulated machine: QEMU without KVM and without root, its files and sockets in one directory, which goes with it.

RAM and the ivshmem BAR are files and are scanned in place. The NVMe's controller memory buffer is memory of QEMU's own
that no option turns into a file; QMP's `pmemsave` writes what the bus sees at its BAR's address into one.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from lib import topology
from lib.guest import Guest
from lib.qmp import Qmp
from lib.waiting import wait_for
from lib.wire import Wire

PREFIX = "pktpit-p2p-"
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_live = []


class BootFailed(AssertionError):
    pass


class Machine:
    def __init__(self, kernel, initramfs, nic="e1000e", qemu=("qemu-system-x86_64",), more=lambda directory: [],
                 layout=topology.ONE_SWITCH):
        """`initramfs` is written (Initramfs.write) into the machine's directory. `more(directory)`: other options of QEMU's."""
        self.directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=memory_directory()))
        self.process, self.guest, self.qmp, self.wires, self.bars = None, None, None, [], {}
        _live.append(self)
        try:
            initramfs.write(self.directory / "initramfs")
            with open(self.directory / "disk", "wb") as disk:
                disk.truncate(1 << 20)
            options = topology.qemu_options(self.directory, kernel.image, self.directory / "initramfs", nic, layout)
            self._start([*qemu, *options, *more(self.directory)])
        except BaseException:
            self.close()
            raise

    def _start(self, command):
        began = time.monotonic()
        self.wires = [Wire(f"p{port}", self.directory / f"wire{port}", self.directory / f"nic{port}")
                      for port in range(topology.PORTS)]
        with open(self.directory / "qemu.log", "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=_die_with_parent)
        wait_for(lambda: self.alive() and (self.directory / "qmp").exists(), "QEMU's start")
        self.qmp = Qmp(self.directory / "qmp")
        self.guest = Guest(self.directory / "commands")
        for wire in self.wires:
            wire.connect()
        self.guest.wait_ready(self.alive)
        self.boot_seconds = time.monotonic() - began

    def alive(self):
        if self.process.poll() is not None:
            raise BootFailed(f"QEMU ended with {self.process.returncode}:\n{self.words()}")
        return True

    def words(self, lines=40):
        """What QEMU and the guest's console said last."""
        said = []
        for name in ("qemu.log", "console"):
            file = self.directory / name
            if file.exists():
                said += [f"--- {name}", *file.read_text(errors="replace").splitlines()[-lines:]]
        return "\n".join(said)

    @property
    def ram(self):
        return self.directory / "ram"

    def peer_memory(self, name):
        """A file with what the memory device holds: "ivshmem" live, "cmb" as of now."""
        return self.directory / "bar" if name == "ivshmem" else self.save_bar(topology.NVME, topology.CMB_BAR)

    def bar(self, pci, number):
        """(bus address, size) of a device's BAR, as the guest's kernel has set it; remembered when the device is removed."""
        status, said = self.guest.run(f"cat /sys/bus/pci/devices/{pci}/resource", check=False)
        if status == 0:
            first, last, _ = (int(word, 16) for word in said.splitlines()[number].split())
            self.bars[pci, number] = first, last - first + 1
        return self.bars[pci, number]

    def save_bar(self, pci, number):
        """A file with what a reader on the bus finds in a BAR now."""
        address, size = self.bar(pci, number)
        file = self.directory / f"saved-{number}"
        self.qmp.ask("pmemsave", val=address, size=size, filename=str(file))
        return file

    def iommu_faults(self):
        """What the IOMMU reported since the last `forget_messages`."""
        return [line for line in self.guest.output("dmesg").splitlines() if re.search(r"DMAR:.*(fault|Request device)", line)]

    def forget_messages(self):
        self.guest.run("dmesg -c >/dev/null")

    def close(self):
        if self in _live:
            _live.remove(self)
        for part in (self.guest, self.qmp, *self.wires):
            if part:
                part.close()
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def memory_directory():
    """RAM of the guest is best a file in memory; on a disk every byte it writes would be written out."""
    shared = Path("/dev/shm")
    room = shutil.disk_usage(shared).free if shared.is_dir() and os.access(shared, os.W_OK) else 0
    return shared if room > (topology.RAM_MIB + 4 * topology.BAR_MIB) << 20 else None


def _die_with_parent():
    """Whoever kills the test run with -9 leaves no machine behind."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def close_all():
    for machine in list(_live):
        machine.close()


def sweep_dead_runs():
    """Directories of runs whose process is gone (killed with -9): nothing else would delete them."""
    for parent in {memory_directory() or Path(tempfile.gettempdir()), Path(tempfile.gettempdir())}:
        for path in parent.glob(f"{PREFIX}*"):
            pid = path.name.removeprefix(PREFIX).split("-")[0]
            if pid.isdigit() and not os.path.exists(f"/proc/{pid}"):
                shutil.rmtree(path, ignore_errors=True)


def left_over():
    return [str(path) for parent in {memory_directory() or Path(tempfile.gettempdir()), Path(tempfile.gettempdir())}
            for path in parent.glob(f"{PREFIX}{os.getpid()}-*")]
