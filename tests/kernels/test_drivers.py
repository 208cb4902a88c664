# SPDX-License-Identifier: BSD-3-Clause
"""Drivers of NICs that QEMU emulates: real drivers, no real NIC. The hosts are network namespaces of this machine (taps.py).

Each driver's offloads of checksums and segmentation are as they are by default."""

import itertools

import pytest
from drivers import JUMBO, LARGEST
from nics import BY_LABEL, KINDS

requirement = pytest.mark.requirement
# Two of a kind, and each kind beside the next.
PAIRS = [(kind.label, kind.label) for kind in KINDS] + [(first.label, second.label) for first, second in
                                                        itertools.pairwise((*KINDS, KINDS[0]))]
pairs = pytest.mark.parametrize("pair", PAIRS, ids="-".join)
kinds = pytest.mark.parametrize("kind", BY_LABEL)


def _nics(drivers, first, second):
    return drivers.machine.nics.of(BY_LABEL[first])[0], drivers.machine.nics.of(BY_LABEL[second])[1]


@requirement("a port is in native mode wherever the kernel's driver has one, else in generic mode")
@kinds
def test_mode(drivers, kind):
    for nic in _nics(drivers, kind, kind):
        assert drivers.port(nic)["mode"] == nic.expected_mode(drivers.machine.kernel.version)
    drivers.passed(drivers.modes(nic))


@requirement("frames of 60 to 1,514 bytes, and TCP with the drivers' default offloads, cross whole between two NICs, both ways")
@pairs
def test_frames(drivers, pair):
    drivers.assert_crosses(*_nics(drivers, *pair))
    drivers.passed()


@requirement("a link that goes down is said to be down, and comes back with all that it forwarded")
@kinds
def test_link(drivers, kind):
    nic, other = _nics(drivers, kind, kind)
    drivers.set_link(nic, False)
    assert not drivers.answers(other, nic)
    drivers.set_link(nic, True)
    drivers.assert_crosses(nic, other, tcp=False)
    drivers.passed()


@requirement("a NIC whose driver is unbound and bound again is a port again, with its addresses, and forwards")
@kinds
def test_driver_reload(drivers, kind):
    nic, other = _nics(drivers, kind, kind)
    before = drivers.rebind(nic)
    drivers.wait_for_up(nic, True)
    drivers.assert_crosses(nic, other, tcp=False)
    drivers.passed(f"passed{before}")


@requirement("a port that changes to another way of forwarding, and back, forwards beside those of the first")
@kinds
def test_change_of_way(drivers, kind):
    nic, other = _nics(drivers, kind, kind)
    for ways in ({nic.name: "split" if drivers.way == "inline" else "inline"}, {}):
        drivers.reload(other_way=ways)
        drivers.assert_crosses(nic, other)
    drivers.passed()


@requirement("with an MTU of 9,000 frames of that size cross, too")
@pairs
def test_jumbo_frames(drivers, pair):
    if not all(BY_LABEL[label].jumbo for label in pair):
        drivers.passed("not run")
        pytest.skip("QEMU's vmxnet3 receives no frame of more than a page, whoever forwards")
    if drivers.mtu == LARGEST:
        drivers.set_mtu(JUMBO)
    drivers.assert_crosses(*_nics(drivers, *pair))
    drivers.passed()
