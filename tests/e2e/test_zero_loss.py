# SPDX-License-Identifier: BSD-3-Clause
"""Streams of numbered frames that cross the router: nothing lost, doubled or reordered."""

import pytest
from lib.stream import assert_nothing_lost

requirement = pytest.mark.requirement


@requirement("RFC 1812 5.2.1, 2.2.7: what the router can forward, it forwards, once and in order")
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("size", [64, 1514])
def test_stream_crosses_whole_and_in_order(net, stream, family, size):
    running = stream(net.a, net.b, family=family, size=size, rate=30000)
    running.flows_again(15000)
    assert_nothing_lost(running.finish())


@requirement("streams in both directions and of both families at once do not hurt one another")
def test_crossing_streams(net, stream):
    running = [stream(net.a, net.b, rate=10000), stream(net.b, net.c, family=6, rate=10000), stream(net.c, net.a, rate=10000)]
    for one in running:
        one.flows_again(8000)
    for one in running:
        assert_nothing_lost(one.finish())
