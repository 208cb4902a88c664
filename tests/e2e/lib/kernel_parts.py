# SPDX-License-Identifier: BSD-3-Clause
"""Which of the kernel's parts are here, as `pktpit doctor` says by its own probes (router/xdp/kernel_support.cpp). It is asked where there
is a veth pair: whether drivers tell of something can only be asked of a device."""

import functools
import json

import pytest
from lib.namespaces import Namespace
from lib.pktpit_router import TOOL


@functools.cache
def _parts():
    place = Namespace("parts")
    try:
        place.ip("link", "add", "one", "type", "veth", "peer", "name", "other")
        said = json.loads(place.run(TOOL, "doctor", "--json", check=False).stdout)
    finally:
        place.delete()
    return {part["name"]: part["here"] for part in said["kernel"]["parts"]}


def has_part(name):
    return _parts()[name] is True


def need_parts(*names):
    """Skips the test unless the kernel has them all."""
    if missing := [name for name in names if not has_part(name)]:
        pytest.skip(f"this kernel has no {', '.join(missing)}")
