# SPDX-License-Identifier: BSD-3-Clause
"""Which kinds of devices this kernel makes. Tests that need one are skipped where it does not; they run in guests with a
distribution's kernel, which has them all."""

import functools

import pytest
from lib.namespaces import Namespace

_WORDS = {
    "vlan": ("link", "v0", "type", "vlan", "id", "5"),
    "vrf": ("type", "vrf", "table", "5"),
    "bond": ("type", "bond"),
    "bridge": ("type", "bridge"),
    "macvlan": ("link", "v0", "type", "macvlan"),
    "dummy": ("type", "dummy"),
}


@functools.cache
def has(kind):
    """Whether the kernel makes such a device, asked with one in a namespace of its own."""
    namespace = Namespace(f"probe{kind}")
    try:
        namespace.ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
        return namespace.ip("link", "add", "probe", *_WORDS[kind], check=False).returncode == 0
    finally:
        namespace.delete()


def need(*kinds):
    """Skips the test unless the kernel has them all. In a module's first fixture, since a question takes a namespace."""
    if missing := [kind for kind in kinds if not has(kind)]:
        pytest.skip(f"this kernel makes no {', '.join(missing)} devices")
