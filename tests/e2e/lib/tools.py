# SPDX-License-Identifier: BSD-3-Clause
"""The tests' own programs in C++, compiled once a version and kept in the build directory."""

import hashlib
import os
from pathlib import Path

from lib.namespaces import run
from lib.pktpit_router import BUILD
from lib.session import locked

SOURCES = Path(__file__).resolve().parent.parent
FLAGS = ("-std=c++20", "-O1", "-pthread")


def compiled(name):
    """The program made from NAME.cpp. Workers and runs side by side wait for the one that compiles it."""
    source, place = SOURCES / f"{name}.cpp", BUILD / "tests" / "e2e"
    version = hashlib.sha256(source.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    tool = place / f"{name}-{version}"
    place.mkdir(parents=True, exist_ok=True)
    with locked(place / "lock"):
        if not tool.exists():
            for old in place.glob(f"{name}-*"):
                old.unlink()
            fresh = place / f"fresh-{os.getpid()}"
            run("c++", *FLAGS, "-o", fresh, source, timeout=120)
            fresh.rename(tool)
    return tool
