# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors are limited, in all and for each destination prefix, and the limits hold one another apart."""

import time

import pytest
from lib.packets import assert_silence, fence, icmp_answer, token, udp4, udp6

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has no limit by destination prefix")

NET = {"config": {"icmp": {"rate": 1000, "rate_per_prefix": 10, "burst_per_prefix": 10}}}


def errors_about(host, mark):
    return host.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 1812 4.3.2.8, RFC 4443 2.4 f: errors to one destination prefix are limited by a token bucket")
@pytest.mark.parametrize("make, hops", [(udp4, "ttl"), (udp6, "hlim")])
def test_rate_limit_per_prefix(net, make, hops):
    mark = token()
    began = time.monotonic()
    net.a.send(*[make(net.a, net.b, mark, **{hops: 1}, sport=1000 + i) for i in range(100)])
    for _ in range(10):
        icmp_answer(net.a, mark)
    # The burst is out. What still comes is at most what the rate earns meanwhile.
    other = token()
    net.b.send(make(net.b, net.a, other, **{hops: 1}))
    icmp_answer(net.b, other)  # another prefix has a bucket of its own, and by now all hundred were looked at
    extra = len(errors_about(net.a, mark))
    assert extra <= (time.monotonic() - began) * 10 + 1


@requirement("RFC 1812 4.3.2.8: suppressed errors leave forwarding alone")
def test_forwarding_goes_on_while_errors_are_suppressed(net):
    expired, crossing = token(), token()
    for i in range(50):
        net.a.send(udp4(net.a, net.b, expired, ttl=1, sport=1000 + i), udp4(net.a, net.b, crossing, sport=1000 + i))
    net.b.wire.receive_many(50, lambda frame: crossing in frame)
