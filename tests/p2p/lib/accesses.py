# SPDX-License-Identifier: BSD-3-Clause
"""What the emulated CPUs load from and store to a device's memory, counted by a plugin of the emulator (plugin/accesses.c).

The plugin numbers memory as QEMU does. Where a BAR lies in that is found out by reading from it, so that a count of
nothing cannot be one of the wrong place. It begins to count when it is asked to: a machine whose accesses are counted is slow.
"""

import mmap
import struct
import subprocess
from pathlib import Path

from guests.waiting import wait_for

SOURCE = Path(__file__).resolve().parent.parent / "plugin" / "accesses.c"
THREADS = "multi"  # of the emulator: in one thread QEMU 7.2 hangs when the plugin begins to count
MEGABYTE = 1 << 20
PROBES = (37, 23)  # reads of one address, twice: no other megabyte is read just as often both times
MEGABYTES = 1 << 16
WORD = 8
WANTED, COUNTING = (MEGABYTES + 1) * WORD, (MEGABYTES + 2) * WORD


def build(directory):
    """The plugin, compiled into `directory`."""
    plugin = directory / "accesses.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-fPIC", "-shared", "-o", plugin, SOURCE],
                   check=True)
    return plugin


def options(directory):
    """For QEMU's command line."""
    return ["-plugin", f"{build(directory)},counts={directory / 'accesses'}"]


class Accesses:
    """To a BAR of `mebibytes`, whose device answers; none of what lies in its second half is touched by anybody else."""

    def __init__(self, machine, pci, bar, mebibytes):
        self.machine, self.mebibytes = machine, mebibytes
        with open(machine.directory / "accesses", "r+b") as file:
            self.counts = mmap.mmap(file.fileno(), 0)
        self.address, _ = machine.bar(pci, bar)

    def begin(self):
        """From here on they are counted, for as long as the machine runs: QEMU 7.2 does not survive that a plugin ends it."""
        struct.pack_into("<Q", self.counts, WANTED, 1)
        wait_for(self.is_counting, "the plugin begins to count")
        middle, last = self._find(self.mebibytes // 2), self._find(self.mebibytes - 1)
        assert last - middle == self.mebibytes - 1 - self.mebibytes // 2, "the BAR does not lie in one piece"
        self.end = last + 1
        self.first = self.end - self.mebibytes

    def is_counting(self):
        return struct.unpack_from("<Q", self.counts, COUNTING)[0] == 1

    def _table(self):
        return struct.unpack_from(f"<{MEGABYTES}Q", self.counts)

    def _find(self, mebibyte):
        """The megabyte, as QEMU numbers them, that is read when the guest reads this one of the BAR."""
        place = self.address + mebibyte * MEGABYTE
        found = None
        for reads in PROBES:
            before = self._table()
            self.machine.guest.run(f"for i in $(seq {reads}); do devmem {place:#x} 32; done >/dev/null")
            read = {at for at, (was, now) in enumerate(zip(before, self._table())) if now - was == reads}
            found = read if found is None else found & read
        assert len(found) == 1, f"megabyte {mebibyte} of the BAR is counted at {sorted(found)}"
        return found.pop()

    def total(self, behind=0):
        """Loads and stores so far, behind the BAR's first `behind` bytes (whole megabytes)."""
        assert self.is_counting(), "nothing is counted"
        return sum(self._table()[self.first + behind // MEGABYTE:self.end])
