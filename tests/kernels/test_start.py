# SPDX-License-Identifier: BSD-3-Clause
"""The daemon starts on the kernel as Debian delivers it, with the rights that the packaged unit gives, and forwards."""

import pytest
from packaged import Packaged
from veth_hosts import VethHosts

requirement = pytest.mark.requirement


@requirement("under the packaged unit's user, capabilities and limits, with the kernel's settings as delivered, the daemon starts and "
             "forwards IPv4 and IPv6; it holds no other right; ended, it leaves nothing")
@pytest.mark.parametrize("forwarding", ["inline", "split", "auto"])
def test_starts_under_the_units_rights(machine, cell, forwarding):
    router, hosts = Packaged(machine), VethHosts(machine.guest)
    try:
        hosts.make()
        router.start(hosts.interfaces(forwarding))
        router.assert_has_the_units_rights()
        hosts.assert_answers()
        hosts.assert_streams()
    except AssertionError as error:
        raise AssertionError(f"{error}\n{router.log()}") from error
    finally:
        try:
            router.stop()
        finally:
            hosts.delete()
    cell("passed")
