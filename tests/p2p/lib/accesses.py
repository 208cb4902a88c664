# SPDX-License-Identifier: BSD-3-Clause
"""What the emulated CPUs load from and store to a device's memory, counted by a plugin of the emulator (plugin/accesses.c).

The plugin numbers memory as QEMU does. Where a BAR lies in that is found out by reading from it, so that a count of
nothing cannot be one of the wrong place.
"""

import array
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "plugin" / "accesses.c"
MEGABYTE = 1 << 20
PROBES = (37, 23)  # reads of one address, twice: no other megabyte is read just as often both times


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
    """To a BAR of `mebibytes`, whose device answers."""

    def __init__(self, machine, pci, bar, mebibytes):
        self.machine, self.file = machine, machine.directory / "accesses"
        self.address, _ = machine.bar(pci, bar)
        self.first, last = self._find(0), self._find(mebibytes - 1)
        assert last - self.first == mebibytes - 1, "the BAR does not lie in one piece"
        self.end = last + 1

    def _table(self):
        return array.array("Q", self.file.read_bytes())

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
        return sum(self._table()[self.first + behind // MEGABYTE:self.end])
