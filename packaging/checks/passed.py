# SPDX-License-Identifier: BSD-3-Clause
"""Which steps have passed, and on what: so that `make test-all` can be cut off and taken up again. A step is known by the hash of
all files of the checkout, committed or not, and of the machine's kernel, compilers and routes. Left out are
tests that a step has nothing to do with, pages that no test reads, and packaging/linted, which lint writes."""

import hashlib
import json
import os
import platform
import subprocess
from pathlib import Path

COMPILERS = ("c++", "clang++")
READ_PAGES = ("docs/examples/", "docs/metrics.md", "docs/packets.md")  # by tests


def counts(name, step):
    """Whether a step's verdict can depend on the file."""
    if name == "packaging/linted":
        return False
    if name.startswith("docs/") or name.endswith(".md"):
        return step.ships_pages or name.startswith(READ_PAGES)
    return not name.startswith(tuple(f"tests/{beginning}" for beginning in step.ignores))


def tree(root, step):
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, text=True, check=True)
    names = sorted({name for name in listed.stdout.split("\0") if name and (root / name).is_file() and counts(name, step)})
    hashes = subprocess.run(["git", "hash-object", "--stdin-paths"], cwd=root, input="\n".join(names), capture_output=True, text=True, check=True)
    modes = "".join("x" if os.access(root / name, os.X_OK) else "-" for name in names)
    return hashlib.sha256("\n".join([*names, hashes.stdout, modes]).encode()).hexdigest()


def machine():
    versions = [subprocess.run([name, "--version"], capture_output=True, text=True, check=False).stdout for name in COMPILERS]
    return "\n".join([platform.release(), platform.machine(), str(os.geteuid() == 0), *versions])


class Passed:
    def __init__(self, root, data):
        self.root, self.file = root, root / "build" / "passed.json"
        self.around = machine() + str(data)

    def of(self, step):
        """What a step's verdict depends on."""
        return hashlib.sha256((tree(self.root, step) + self.around + step.target + str(step.settings)).encode()).hexdigest()

    def recall(self, step, now):
        """The result that the step had on this tree; None: none."""
        found = self._read().get(step.name)
        return found["result"] if found and found["of"] == now and not step.builds else None

    def note(self, step, before, result):
        """Nothing is noted where the tree has changed since `before`, while the step ran."""
        if step.builds or self.of(step) != before:
            return
        noted = {**self._read(), step.name: {"of": before, "result": result}}
        new = self.file.with_suffix(".new")
        new.write_text(json.dumps(noted, indent=1))
        new.replace(self.file)

    def _read(self):
        try:
            return json.loads(self.file.read_text())
        except (OSError, ValueError):
            return {}
