#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where two types of one namespace have one name: across a program that is an error which no compiler tells.

Reads the sources as text, which clang-format has made regular: what stands in a namespace begins in column 0.
"""

import collections
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMESPACE = re.compile(r"^(?:inline )?namespace([ \w:]*)\{$")
TYPE = re.compile(r"^(?:class|struct|union|enum(?: class)?)(?: \[\[\w+\]\]| alignas\([^)]*\))* (\w+)(?![\w:<])(?:[^;(]*|[^;(]*\{.*)$")


def types_of(file):
    """((namespace, name), line) of each type that others could see; what an unnamed namespace holds is the file's own."""
    namespaces = []
    for number, line in enumerate((ROOT / file).read_text().splitlines(), 1):
        if opened := NAMESPACE.match(line):
            namespaces.append(opened[1].strip())
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif (found := TYPE.match(line)) and "" not in namespaces:
            yield ("::".join(namespaces), found[1]), number


def main():
    files = subprocess.run(["git", "ls-files", "*.h", "*.cpp"], cwd=ROOT, check=True, capture_output=True, text=True)
    places = collections.defaultdict(list)
    for file in files.stdout.split():
        if (ROOT / file).exists():
            for name, line in types_of(file):
                places[name].append(f"{file}:{line}")
    twice = {name: where for name, where in places.items() if len(where) > 1}
    for (namespace, name), where in sorted(twice.items()):
        print(f"{namespace or '(global)'}::{name} is defined {len(where)} times: {', '.join(where)}", file=sys.stderr)
    return 1 if twice else 0


if __name__ == "__main__":
    sys.exit(main())
