# SPDX-License-Identifier: BSD-3-Clause
"""The table at the end: kernels beside each other, checks below each other; what was skipped, and why, below it."""

import platform

PROPERTY, DRIVERS_PROPERTY = "kernel's cell", "driver's cell"


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
        made = _aligned(rows)
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


class DriversTable:
    """Kernels beside each other, below each other what was tested; in a cell the ways of forwarding."""

    def __init__(self):
        self.cells, self.versions = {}, {}  # {(row, series): {way: said}}

    def add(self, row, series, version, way, said):
        self.cells.setdefault((row, series), {})[way] = said
        self.versions[series] = version

    def lines(self):
        if not self.cells:
            return []
        rows = [["", *(f"{series}: {version}" for series, version in self.versions.items())]]
        for row in dict.fromkeys(row for row, _ in self.cells):
            rows.append([row, *(self._text(self.cells.get((row, series), {})) for series in self.versions)])
        return _aligned(rows)

    @staticmethod
    def _text(cell):
        ways = {}
        for way, said in cell.items():
            ways.setdefault(said, []).append(way)
        return "; ".join(f"{', '.join(which)}: {said}" for said, which in ways.items()) or "-"


def _aligned(rows):
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in rows]


def _few(names):
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
