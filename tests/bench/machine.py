# SPDX-License-Identifier: BSD-3-Clause
"""What the machine gave while something was measured: without it, a rate that a test finds too low says nothing."""

import os
import time
from pathlib import Path

FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


def _ticks():
    """By CPU: its ticks of each kind (proc(5), /proc/stat)."""
    lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
    return {words[0]: dict(zip(FIELDS, map(int, words[1:]))) for words in lines
            if words[0].startswith("cpu") and words[0] != "cpu"}


class Watch:
    """From its making until it is asked."""

    def __init__(self):
        self.begin, self.before = time.monotonic(), _ticks()

    def __str__(self):
        parts = []
        for cpu, after in _ticks().items():
            spent = {field: after[field] - self.before[cpu][field] for field in FIELDS}
            whole = sum(spent.values()) or 1
            parts.append(f"{cpu} " + ", ".join(f"{field} {ticks / whole:.0%}" for field, ticks in spent.items()
                                                if 200 * ticks > whole))
        return (f"{time.monotonic() - self.begin:.1f} s, {'; '.join(parts)}; load "
                f"{' '.join(f'{load:.2f}' for load in os.getloadavg())}")
