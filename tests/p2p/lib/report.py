# SPDX-License-Identifier: BSD-3-Clause
"""The table at the end of a run: what was sent, what came out, where the bytes were found."""

COLUMNS = ("what", "sent", "right", "wrong", "twice", "lost", "tags in RAM", "tags in peer memory", "headers in peer memory",
           "split by hardware", "seconds")


class Report:
    def __init__(self):
        self.rows, self.notes, self.passages = [], [], []

    def row(self, what, outcome, ram=None, peer=None, headers=None, split=None):
        values = (what, outcome.sent, outcome.good, len(outcome.wrong), outcome.twice, len(outcome.missing), ram, peer, headers, split,
                  f"{outcome.seconds:.1f}")
        self.rows.append(["–" if value is None else f"{value:,}" if isinstance(value, int) else value for value in values])

    def note(self, text):
        self.notes.append(text)

    def passage(self, text):
        """Something long, before the table."""
        self.passages.append(text)

    def parts(self):
        return self.rows, self.notes, self.passages

    def add(self, rows, notes, passages):
        """Another worker's. What all of them say is said once."""
        self.rows += rows
        self.notes += [note for note in notes if note not in self.notes]
        self.passages += passages

    def lines(self):
        yield from self.passages
        if self.rows:
            widths = [max(len(row[column]) for row in [_heads(COLUMNS, line) for line in (0, 1, 2)] + self.rows)
                      for column in range(len(COLUMNS))]
            for row in [_heads(COLUMNS, line) for line in (0, 1, 2)] + self.rows:
                yield "  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()
        yield from self.notes
        yield "Counted outside the emulated machine. An emulated machine: no packet rate is quoted from it."


def _heads(columns, line):
    """The columns' heads in three lines, standing on the last."""
    cells = []
    for column in columns:
        words = column.split(" ")
        parts = words if len(words) <= 3 else [words[0], words[1], " ".join(words[2:])]
        cells.append(([""] * (3 - len(parts)) + parts)[line])
    return cells
