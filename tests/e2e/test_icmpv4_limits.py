# SPDX-License-Identifier: BSD-3-Clause
"""ICMP errors are limited, in all and for each destination prefix, and the limits hold one another apart."""

import sys
import time

import pytest
from lib.namespaces import end
from lib.packets import assert_silence, fence, icmp_answer, token, udp4, udp6
from lib.waiting import wait_for
from lib.wire import NothingReceived

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


FLOOD = 40_000  # a second


@requirement("RFC 1191, RFC 8201: a flood of packets whose TTL ends here keeps nobody from learning a path's MTU")
@pytest.mark.alone("it asks for 40,000 packets a second, and for the answers in between")
@pytest.mark.parametrize("make", [udp4, udp6], ids=["fragmentation_needed", "packet_too_big"])
def test_path_mtu_errors_arrive_under_a_flood_of_ttl_errors(build_net, stream, make):
    net = build_net(mtus={"c": 1300}, config={**NET["config"], "routes": [{"prefix": "11.0.0.0/8", "via": "10.1.0.2"}]})
    flood = net.a.namespace.start(sys.executable, "-c", SPOOFED, "eth0", net.a.router_mac, net.a.mac, str(FLOOD))
    try:
        wait_for(lambda: net.router.slow_path()["icmp_rate_limited"] > 1000, 10, "TTL errors are being suppressed")
        answered = 0
        before = net.router.slow_path()["icmp_rate_limited"]
        began = time.monotonic()
        for number in range(20):
            mark, sent = token(), time.monotonic()
            fields = {"flags": "DF"} if make is udp4 else {}
            net.b.send(make(net.b, net.c, mark + bytes(1350), sport=3000 + number, **fields))
            try:
                icmp_answer(net.b, mark, 2)
                answered += 1
            except NothingReceived:
                pass
            # 10 a second is the limit of one prefix: after a late answer nothing is caught up with.
            time.sleep(max(0, sent + 0.1 - time.monotonic()))
        rate = (net.router.slow_path()["icmp_rate_limited"] - before) / (time.monotonic() - began)
    finally:
        end(flood)
    print(f"{answered} of 20 arrived, {rate:.0f} other errors a second suppressed meanwhile")
    assert rate > FLOOD / 8, "the machine gave too little time for a flood"
    assert answered == 20


# Packets of TTL 1 from sources all over 11.0.0.0/8, as many a second as asked for.
SPOOFED = r"""
import random, socket, struct, sys, time
device, to, own, rate = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((device, 0))
mac = lambda text: bytes.fromhex(text.replace(":", ""))
def frame():
    source = struct.pack("!I", 0x0B000000 | random.getrandbits(24))
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 1, 17, 0, source, socket.inet_aton("198.18.2.9"))
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xffff) + (total >> 16)
    total = ~(total + (total >> 16)) & 0xffff
    return mac(to) + mac(own) + b"\x08\0" + head[:10] + struct.pack("!H", total) + head[12:] + struct.pack("!HHHH", 1, 2, 8, 0)
frames = [frame() for _ in range(4096)]
began, sent = time.monotonic(), 0
while True:
    due = int((time.monotonic() - began) * rate)
    for _ in range(min(due - sent, 400)):
        out.send(frames[sent % 4096])
        sent += 1
    if sent >= due:
        time.sleep(0.001)
"""
