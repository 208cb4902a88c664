# SPDX-License-Identifier: BSD-3-Clause
"""Which of the kernel's parts are here, as `pktpit doctor` says by its own probes (router/xdp/kernel_support.cpp)."""

import functools
import json

import pytest
from lib.namespaces import run
from lib.pktpit_router import TOOL


@functools.cache
def _parts():
    said = json.loads(run(TOOL, "doctor", "--json", check=False).stdout)
    return {part["name"]: part["here"] for part in said["kernel"]["parts"]}


def has_part(name):
    return _parts()[name] is True


def need_parts(*names):
    """Skips the test unless the kernel has them all."""
    if missing := [name for name in names if not has_part(name)]:
        pytest.skip(f"this kernel has no {', '.join(missing)}")
