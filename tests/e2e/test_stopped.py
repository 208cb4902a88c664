# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that stands still (SIGSTOP, a debugger, a starved machine): inline flows go on, split ones drop by name,
and forward again at once when it goes on."""

import select
import signal
import socket
import struct
import time

import pytest
from lib.packets import udp4, wait_for_crossing
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("who decides is Pktpit's own affair"), pytest.mark.xdp("split ports beside inline ones"),
              pytest.mark.says_who_decides("each port has its own way")]

SO_TIMESTAMPNS = 35
MARK = b"pktpit-stopped"
FLOODED = 6000
RECOVERY = 0.1  # seconds


class TimedSink:
    """Numbered frames at a host, with the kernel's time of arrival."""

    def __init__(self, host):
        with host.namespace.entered():
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            self.socket.setsockopt(263, 23, 1)  # SOL_PACKET, PACKET_IGNORE_OUTGOING
            self.socket.bind(("eth0", 3))
        self.socket.setblocking(False)

    def arrived(self, quiet=0.3):
        """{number: time in ns} of all that came, once nothing more comes."""
        times = {}
        while select.select([self.socket], [], [], quiet)[0]:
            data, ancillary, _, _ = self.socket.recvmsg(2048, 256)
            at = data.find(MARK)
            if at < 0:
                continue
            number = struct.unpack_from("!I", data, at + len(MARK))[0]
            for _, kind, value in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("=qq", value)
                    times[number] = seconds * 1_000_000_000 + nanoseconds
        return times


@requirement("SIGSTOP: inline flows lose nothing, split flows drop as drop_split_full, each packet counted; "
             "SIGCONT: split forwards again within 100 ms")
@pytest.mark.alone("within 100 ms")
def test_stand_still(build_net, stream):
    net = build_net(start=False)
    net.router.config["interfaces"]["p1"]["forwarding"] = "split"
    for name in ("p2", "p3"):
        net.router.config["interfaces"][name]["forwarding"] = "inline"
    net.router.write()
    net.router.start()
    net.topology.settle(net.router)
    sink = TimedSink(net.b)

    template = net.a.frame(udp4(net.a, net.b, MARK + b"NUMB"))

    def numbered(number):  # the UDP checksum is nobody's business here
        return template.replace(b"NUMB", struct.pack("!I", number))

    def p1():
        return net.router.json("show", "counters")["ports"]["p1"]

    before = p1()
    inline = stream(net.b, net.c, rate=5000)
    frames = [numbered(number) for number in range(FLOODED)]
    later = [numbered(number) for number in range(FLOODED, FLOODED + 600)]
    net.router.process.send_signal(signal.SIGSTOP)
    try:
        wait_for(lambda: stopped(net.router.process.pid), 2.0, "the daemon stands still")
        for first in range(0, FLOODED, 32):
            net.a.wire.send(*frames[first:first + 32])
        inline.flows_again(5000)
    finally:
        went_on = time.time_ns()
        net.router.process.send_signal(signal.SIGCONT)
    sent = {}
    for number, frame in enumerate(later, FLOODED):
        sent[number] = time.time_ns()
        net.a.wire.send(frame)
        time.sleep(0.001)
    assert_nothing_lost(inline.finish())
    arrived = sink.arrived()

    fresh = [arrived[number] for number in sent if number in arrived]
    assert fresh and (min(fresh) - went_on) / 1e9 < RECOVERY, f"{(min(fresh) - went_on) / 1e6 if fresh else None} ms"
    late = [number for number, at in sent.items() if at > went_on + RECOVERY * 1e9 and number not in arrived]
    assert not late, f"{len(late)} frames sent more than 100 ms after SIGCONT are lost"

    total = FLOODED + len(later)

    def accounted():
        after = p1()
        return after["rx_packets"] - before["rx_packets"] >= total and after

    after = wait_for(accounted, 2.0, "the daemon knows of all frames")
    dropped = after["verdicts"].get("drop_split_full", 0) - before["verdicts"].get("drop_split_full", 0)
    forwarded = after["verdicts"]["forwarded"] - before["verdicts"]["forwarded"]
    assert dropped >= FLOODED - 2048, "rings hold 1,024 frames"
    assert forwarded == len(arrived)
    assert dropped + forwarded == total
    wait_for_crossing(net.a, net.b)


def stopped(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "T"
