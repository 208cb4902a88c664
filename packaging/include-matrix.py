#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who includes whom, by folder; fails where an arrow runs up (docs/architecture.md).

A folder may include itself, `base`, and what stands beside it below. What a test or a benchmark includes is free.
"""

import argparse
import collections
import re
import subprocess
import sys
from pathlib import Path

# Folder: what it may include. In the arrows' order; `bpf` is its C headers, shared with the programs at a port.
MAY = {
    "base": [],
    "base/json": [],
    "fib": [],
    "fib/tables": ["base/json"],
    "config": ["base/json"],
    "allreduce": [],
    "bpf": ["allreduce", "fib"],
    "offload": [],
    "offload/pci": ["base/json"],
    "offload/memory": ["offload", "offload/pci"],
    "offload/nic": ["offload"],
    "offload/vfio": ["offload", "offload/memory", "offload/nic", "offload/pci"],
    "offload/peer_ops": [],
    "offload/model": ["base/json", "fib", "fib/tables", "offload/pci", "offload/peer_ops"],
    "router/aggregation": ["allreduce"],
    "router/filter": ["bpf", "config", "fib"],
    "router/guard": ["bpf", "config", "fib"],
    "router/forward": ["bpf", "fib", "router/filter", "router/guard"],
    "router/kernel": ["fib"],
    "router/fpm": ["fib", "router/kernel"],
    "router/check": ["config", "fib", "fib/tables"],
    "router/hot": ["bpf", "fib"],
    "router/routing": ["bpf", "fib", "router/hot", "router/kernel"],
    "router/slow_path": ["config", "fib", "router/forward"],
    "router/observe": ["bpf", "fib", "router/forward"],
    "router/sflow": ["bpf", "config", "router/forward", "router/observe"],
    "router/loop": ["bpf", "config", "fib", "offload", "router/forward", "router/guard"],
    "router/dataplane": ["bpf", "config", "fib", "offload", "router/filter", "router/guard", "router/hot", "router/loop", "router/routing"],
    "router/xdp": ["allreduce", "bpf", "config", "fib", "offload", "offload/memory", "router/aggregation", "router/dataplane",
                   "router/filter", "router/forward", "router/guard", "router/hot", "router/loop", "router/routing"],
    "router/vfio": ["bpf", "config", "fib", "offload", "offload/memory", "offload/nic", "offload/pci", "offload/peer_ops",
                    "offload/vfio", "router/dataplane", "router/loop"],
    "router/dpdk": ["bpf", "config", "fib", "offload", "offload/memory", "offload/pci", "router/dataplane", "router/forward",
                    "router/loop"],
    "router/model": ["bpf", "config", "fib", "offload/model", "router/dataplane", "router/loop"],
    "router/control": ["base/json", "config", "fib", "fib/tables", "router/dataplane", "router/fpm", "router/filter",
                       "router/guard", "router/hot", "router/kernel", "router/routing", "router/slow_path"],
    "router/api": ["base/json", "bpf", "config", "fib", "router/observe"],
    "router/daemon": ["base/json", "bpf", "config", "fib", "router/api", "router/control", "router/dataplane",
                      "router/forward", "router/hot", "router/kernel", "router/loop", "router/model", "router/observe",
                      "router/routing", "router/sflow", "router/slow_path", "router/vfio", "router/xdp"],
    "router/cli": ["base/json", "bpf", "config", "fib", "fib/tables", "offload/model", "offload/nic", "offload/pci", "router/check",
                   "router/dataplane", "router/kernel", "router/observe", "router/xdp"],
    "router/manual": ["config", "router/cli", "router/daemon"],
}
FREE = ("bench", "tests")


def folder_of(path):
    """The folder of MAY that a file lies in; a folder that is not listed is its own."""
    folder = str(Path(path).parent)
    return folder if folder in MAY or folder.split("/")[0] not in FREE else folder.split("/")[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quiet", action="store_true", help="only what is wrong")
    quiet = parser.parse_args().quiet
    root = Path(__file__).parent.parent
    listed = subprocess.run(["git", "ls-files", "*.h", "*.c", "*.cpp"], cwd=root, check=True, capture_output=True, text=True)
    matrix = collections.defaultdict(collections.Counter)
    wrong = []
    for file in listed.stdout.split():
        if not (root / file).exists():
            continue
        for number, line in enumerate((root / file).read_text().splitlines(), 1):
            included = re.match(r'\s*#\s*include "([^"]+/[^"]+)"', line)
            if not included:
                continue
            user, used = folder_of(file), folder_of(included[1])
            if user == used or user in FREE:
                continue
            matrix[user][used] += 1
            if user not in MAY:
                wrong.append(f"{file}:{number}: {user} is no folder of the architecture: name it in {Path(__file__).name}")
            elif used != "base" and used not in MAY[user]:
                wrong.append(f"{file}:{number}: {user} includes {included[1]}, which lies above it or beside it")
    if not quiet:
        columns = [folder for folder in MAY if any(row[folder] for row in matrix.values())]
        for index, folder in enumerate(columns, 1):
            print(f"{index:4} {folder}")
        print("\n" + " " * 18 + "".join(f"{index:4}" for index in range(1, len(columns) + 1)))
        for user in (folder for folder in MAY if folder in matrix):
            print(f"{user:18}" + "".join(f"{matrix[user][used] or '·':>4}" for used in columns))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
