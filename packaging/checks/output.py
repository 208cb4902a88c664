# SPDX-License-Identifier: BSD-3-Clause
"""What runners print: how many tests passed, and which failed."""

import re


def closing_counts(text):
    """(passed, failed, skipped) of all closing lines of ctest and pytest in a step's output; None: there is none."""
    counts, found = [0, 0, 0], False
    for failed, total in re.findall(r"tests passed, (\d+) tests? failed out of (\d+)", text):
        counts[0] += int(total) - int(failed)
        counts[1] += int(failed)
        found = True
    for line in re.findall(r"^(?:=+ )?((?:\d+ \w+,? ?)+) in [\d.]+s", text, re.M):
        for number, word in re.findall(r"(\d+) (\w+)", line):
            index = {"passed": 0, "xfailed": 0, "failed": 1, "error": 1, "errors": 1, "skipped": 2}.get(word)
            if index is not None:
                counts[index] += int(number)
        found = True
    return tuple(counts) if found else None


def verdict(text, status, counted):
    """(passed, failed, skipped) of a step. One that ended badly has failed, whatever its lines say."""
    counts = closing_counts(text) if counted else (1, 0, 0) if status == 0 else (0, 1, 0)
    passed, failed, skipped = counts or (0, 1, 0)
    return (passed, max(failed, 1 if status else 0), skipped)


def failures(text):
    """The lines that name what failed: pytest's, and ctest's list at its end."""
    return [line.strip() for line in text.splitlines() if re.match(r"(FAILED|ERROR) \S+::|\s+\d+ - \S+ \((?!Skipped|Not Run \(Disabled)", line)]


def without_progress(text):
    """Without ninja's lines."""
    return "\n".join(line for line in text.splitlines() if not re.match(r"\[\d+/\d+\] ", line))
