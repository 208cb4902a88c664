# SPDX-License-Identifier: BSD-3-Clause
"""Streams of numbered frames that cross the router: nothing lost, doubled or reordered."""

import pytest
from lib.namespaces import run
from lib.stream import assert_nothing_lost

requirement = pytest.mark.requirement


@requirement("RFC 1812 5.2.1, 2.2.7: what the router can forward, it forwards, once and in order")
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("size", [64, 1514])
def test_stream_crosses_whole_and_in_order(net, stream, family, size):
    running = stream(net.a, net.b, family=family, size=size, rate=30000)
    assert_nothing_lost(running.finish(after=5000))


@requirement("streams in both directions and of both families at once do not hurt one another")
def test_crossing_streams(net, stream):
    running = [stream(net.a, net.b, rate=10000), stream(net.b, net.c, family=6, rate=10000), stream(net.c, net.a, rate=10000)]
    for one in running:
        one.flows_again(3000)
    for one in running:
        assert_nothing_lost(one.finish())


# Drops the 500th frame of a stream, and no other.
LOSS = """
static unsigned long seen;
struct context { unsigned data, data_end; };
__attribute__((section("xdp"), used)) int loses_one(struct context *context) {
    unsigned char *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
    if (data + 38 > end || data[12] != 8 || data[23] != 17 || *(unsigned short *)(data + 36) != 0x8813) return 2;
    return __sync_fetch_and_add(&seen, 1) == 499 ? 1 : 2;
}
char terms[] __attribute__((section("license"), used)) = "GPL";
"""


@requirement("a stream of which one frame is lost says so, and goes on")
def test_one_lost_frame_is_noticed(net, stream, tmp_path):
    (tmp_path / "loss.c").write_text(LOSS)
    run("clang", "-O2", "-g", "-target", "bpf", "-c", "loss.c", "-o", "loss.o", cwd=tmp_path)
    net.b.namespace.ip("link", "set", "eth0", "xdp", "obj", tmp_path / "loss.o", "sec", "xdp")
    try:
        running = stream(net.a, net.b)
        running.flows_again(2000)
        result = running.finish()
    finally:
        net.b.namespace.ip("link", "set", "eth0", "xdp", "off")
    assert (result["lost"], result["reordered"], result["duplicated"]) == (1, 0, 0), result
    with pytest.raises(AssertionError):
        assert_nothing_lost(result)
