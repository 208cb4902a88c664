# SPDX-License-Identifier: BSD-3-Clause
"""The tests' own programs in C++, compiled once a version and kept in the build directory, beside those of other versions: runs
of several trees may share it."""

import hashlib
import os
from pathlib import Path

from lib.namespaces import run
from lib.pktpit_router import BUILD
from lib.session import locked

SOURCES = Path(__file__).resolve().parent.parent
ROOT = SOURCES.parent.parent
FLAGS = ("-std=c++20", "-O1", "-pthread")


def compiled(name, library=None):
    """The program made from NAME.cpp, and from the sources of a folder of the repository. Workers and runs side by side
    wait for the one that compiles it."""
    source, place = SOURCES / f"{name}.cpp", BUILD / "tests" / "e2e"
    more = sorted((ROOT / library).glob("*.cpp")) if library else []
    headers = sorted((ROOT / library).glob("*.h")) if library else []
    content = b"".join(file.read_bytes() for file in [source, *more, *headers])
    version = hashlib.sha256(content + " ".join(FLAGS).encode()).hexdigest()[:16]
    tool = place / f"{name}-{version}"
    place.mkdir(parents=True, exist_ok=True)
    with locked(place / "lock"):
        if not tool.exists():
            fresh = place / f"fresh-{os.getpid()}"
            run("c++", *FLAGS, "-I", ROOT, "-o", fresh, source, *more)
            fresh.rename(tool)
    return tool
