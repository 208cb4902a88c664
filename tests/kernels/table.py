# SPDX-License-Identifier: BSD-3-Clause
"""The table at the end: kernels beside each other, checks below each other; what was skipped, and why, below it."""

import platform

PROPERTY = "kernel's cell"


class Table:
    def __init__(self):
        self.cells = {}  # (check, series): {"version", "said", "skipped", "seconds", "processors"}

    def add(self, check, series, **cell):
        self.cells[check, series] = cell

    def lines(self):
        if not self.cells:
            return []
        checks, columns = (list(dict.fromkeys(key[index] for key in self.cells)) for index in (0, 1))
        versions = {series: cell["version"] for (_, series), cell in self.cells.items()}
        rows = [["", *(f"{series}: {versions[series]}" for series in columns)]]
        for check in checks:
            rows.append([check, *(self._text(self.cells.get((check, series))) for series in columns)])
        widths = [max(map(len, column)) for column in zip(*rows)]
        made = ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]
        made.append("In brackets: seconds by the clock, and seconds that processors worked.")
        made.append(f"This machine's own kernel, {platform.release()}: the other tests run on it.")
        return made + self._footnotes()

    @staticmethod
    def _text(cell):
        return f"{cell['said']} ({cell['seconds']:.0f} s, {cell['processors']:.0f})" if cell else "-"

    def _footnotes(self):
        reasons = {}
        for (check, series), cell in self.cells.items():
            for name, why in cell["skipped"].items():
                reasons.setdefault(why, {}).setdefault(f"{series}, {check}", []).append(name)
        made = []
        for why, places in reasons.items():
            made.append(f"skipped: {why}")
            made += [f"  {place}: {_few(names)}" for place, names in places.items()]
        return made


def _few(names):
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
