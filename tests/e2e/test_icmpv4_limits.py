# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors are limited, in all and for each destination prefix, and the limits hold one another apart."""

import time

import pytest
from lib.packets import icmp_answer, token, udp4, udp6
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux has no limit by destination prefix")

NET = {"config": {"icmp": {"rate": 1000, "rate_per_prefix": 10, "burst_per_prefix": 10}}}


def errors_about(host, mark):
    return host.wire.waiting(lambda frame: mark in frame)


@requirement("RFC 1812 4.3.2.8, RFC 4443 2.4 f: errors to one destination prefix are limited by a token bucket")
@pytest.mark.parametrize("make, hops", [(udp4, "ttl"), (udp6, "hlim")])
def test_rate_limit_per_prefix(net, make, hops, mark):
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


@requirement("RFC 1191, RFC 8201: packets whose TTL ends here, more than all errors may be, keep nobody from learning a path's MTU")
@pytest.mark.parametrize("make", [udp4, udp6], ids=["fragmentation_needed", "packet_too_big"])
def test_path_mtu_errors_arrive_beside_a_flood_of_ttl_errors(build_net, make):
    net = build_net(mtus={"c": 1300}, config={"icmp": {"rate": 20, "rate_per_prefix": 10, "burst_per_prefix": 10}, "routes": [{"prefix": "11.0.0.0/8", "via": "10.1.0.2"}]})
    suppressed = lambda: net.router.slow_path()["icmp_rate_limited"]  # noqa: E731
    expired = [net.a.frame(udp4(net.a, net.b, src=f"11.{i}.{i % 7}.1", ttl=1)) for i in range(200)]

    def flood_is_suppressed():
        before = suppressed()
        net.a.wire.send(*expired)
        return suppressed() > before

    wait_for(flood_is_suppressed, what="TTL errors are suppressed")
    for number in range(8):
        net.a.wire.send(*expired)  # fewer than any ring holds
        mark = token()
        fields = {"flags": "DF"} if make is udp4 else {}
        net.b.send(make(net.b, net.c, mark + bytes(1350), sport=3000 + number, **fields))
        icmp_answer(net.b, mark)
