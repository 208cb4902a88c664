# SPDX-License-Identifier: BSD-3-Clause
"""Tagged frames, sent into all ports and expected where the oracle says.

A burst has a marker of its own, eight random bytes, repeated every 64 bytes of payload: no piece of payload as large
as a header slice is without it. Its UDP ports, four random bytes, with the sender's address before them, are what
headers are found by. Each frame has a tag of 16 bytes: the marker, its number, and four random bytes.
"""

import itertools
import random
import select
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from lib.packets import packed, udp4, udp6
from lib.routes import host_address, host_mac
from lib.topology import PORTS, mac
from guests.waiting import wait_for

SENDER = 200  # host number of who sends, on every link
SMALLEST, LARGEST = 60, 1514  # without FCS
SIZES = (SMALLEST, 61, 64, 110, 124, 252, 253, 508, 509, 1020, 1021, 1513, LARGEST)
HEADERS = {4: 42, 6: 62}
IPV4 = b"\x08\x00"
TAG = 16


@dataclass
class Frame:
    ingress: int
    sent: bytes
    egress: int
    expected: bytes


@dataclass
class Outcome:
    sent: int = 0
    good: int = 0
    twice: int = 0
    wrong: list = field(default_factory=list)  # what arrived of ours, but not there or not so
    others: int = 0  # frames without a tag of this burst
    seconds: float = 0.0
    missing: list = field(default_factory=list)


def assert_all_right(outcome, count):
    """All came out, each once, where and as they should."""
    found = outcome.good, outcome.twice, len(outcome.wrong), len(outcome.missing)
    where = Counter(f"{'IPv4' if frame.sent[12:14] == IPV4 else 'IPv6'} p{frame.ingress} to p{frame.egress}" for frame in outcome.missing)
    assert found == (count, 0, 0, 0), (f"right, twice, wrong, missing: {found} of {count}; missing: {dict(where)}; the first that is "
                                       f"wrong: {outcome.wrong[:1]}, and missing: {outcome.missing[:1]}")


class Burst:
    """`count` frames of both families into all `ports`, to random addresses inside random routes; `wanted(egress)` and
    the sizes, without FCS, narrow the choice."""

    def __init__(self, table, oracle, count, seed, ports=range(PORTS), wanted=lambda egress: True, smallest=SMALLEST, largest=LARGEST):
        self.chance = random.Random(seed)
        self.marker, self.ports = self.chance.randbytes(8), self.chance.randbytes(4)
        self.senders = {family: {packed(host_address(family, port, SENDER)) for port in range(PORTS)} for family in (4, 6)}
        self.frames = {}  # tag: Frame
        self.decided = 0  # by a longer prefix, against a covering one that leads to another port
        self.sizes = smallest, largest
        prefixes = {family: list(table.routes[family]) for family in (4, 6)}
        while len(self.frames) < count:
            number = len(self.frames)
            family = 4 if number % 2 else 6
            destination = self._address(family, *self.chance.choice(prefixes[family]))
            matches = oracle.matches(family, destination)
            if wanted(matches[0].port):
                self._add(oracle, number, family, destination, ports[number // 2 % len(ports)])
                self.decided += any(hop.port != matches[0].port for hop in matches)

    def _address(self, family, network, length):
        bits = 32 if family == 4 else 128
        return network | self.chance.getrandbits(bits - length) if length < bits else network

    def _size(self, family):
        smallest, largest = max(self.sizes[0], HEADERS[family] + TAG), self.sizes[1]
        size = self.chance.choice((*SIZES, smallest, largest)) if self.chance.random() < 0.3 else self.chance.randint(smallest, largest)
        return min(max(size, smallest), largest)

    def _add(self, oracle, number, family, destination, ingress):
        tag = self.marker + number.to_bytes(4, "big") + self.chance.randbytes(4)
        payload = self._payload(tag, self._size(family) - HEADERS[family])
        macs = mac(ingress) + host_mac(ingress, SENDER)
        source = packed(host_address(family, ingress, SENDER))
        make, bytes_, most = (udp4, 4, 0xFFFF) if family == 4 else (udp6, 16, 0xFFFFF)
        sent = make(macs, source, destination.to_bytes(bytes_, "big"), self.ports, payload, self.chance.randint(2, 255), number & most)
        self.frames[tag] = Frame(ingress, sent, *oracle.forwarded(sent))

    def _payload(self, tag, size):
        filler = self.chance.randbytes(size)
        pieces = [tag + filler[TAG:64]]
        for start in range(64, size, 64):
            pieces.append(self.marker + filler[start + 8:start + 64])
        return b"".join(pieces)[:size]

    def tag_of(self, frame):
        """The tag of an arrived frame, or None if it is none of ours, be it the quote in an ICMP error."""
        start = HEADERS.get({IPV4: 4, b"\x86\xdd": 6}.get(frame[12:14]), 0)
        tag = frame[start:start + TAG]
        return tag if start and tag in self.frames else None


def exchange(wires, burst, window=192, patience=60.0, progress=None, sent=False):
    """Sends a burst, at most `window` frames in flight: what arrives makes room for more. Takes what comes until all is there
    or nothing has come for `patience` seconds. `sent`: it is on its way already."""
    began = latest = time.monotonic()
    outcome, waiting = Outcome(), dict(burst.frames)
    queue = [] if sent else list(burst.frames.values())[::-1]
    outcome.sent = len(burst.frames) if sent else 0
    while waiting and time.monotonic() - latest < patience:
        while queue and outcome.sent - outcome.good < window and wires[queue[-1].ingress].try_send(queue[-1].sent):
            queue.pop()
            outcome.sent += 1
        select.select(wires, [], [], 0.02)
        for port, wire in enumerate(wires):
            while (frame := wire.take()) is not None:
                if _arrived(outcome, burst, waiting, port, frame):
                    latest = time.monotonic()
                    if progress:
                        progress(outcome.good)
    _settle(wires, outcome, burst, waiting)
    outcome.seconds = latest - began
    outcome.missing = list(waiting.values())
    return outcome


def flood(wires, burst):
    """Sends a burst as far as the cables take it without waiting, and takes nothing."""
    queues = [[frame.sent for frame in burst.frames.values() if frame.ingress == port] for port in range(PORTS)]
    for wire, queue in zip(wires, queues):
        while queue and wire.try_send(queue[-1]):
            queue.pop()


class Load:
    """Frames into all ports for as long as this lasts, at most `window` in flight. A router that starts anew loses what it was
    sent, so they count as lost when none comes out for a moment."""

    def __init__(self, wires, burst, window=192):
        self.wires, self.burst, self.window, self.ended = wires, burst, window, threading.Event()
        self.thread = threading.Thread(target=self.send)

    def send(self):
        frames, in_flight = itertools.cycle(self.burst.frames.values()), 0
        while not self.ended.is_set():
            for frame in itertools.islice(frames, self.window - in_flight):
                in_flight += self.wires[frame.ingress].try_send(frame.sent)
            if not select.select(self.wires, [], [], 0.1)[0]:
                in_flight = 0
            for wire in self.wires:
                while (frame := wire.take()) is not None:
                    in_flight = max(0, in_flight - (self.burst.tag_of(frame) is not None))

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()


def wait_until_free(wires, burst):
    """What was sent earlier into the ports has come out, or was dropped: ports take frames in their order, and these have all
    come through. While others are in the way these may be displaced, so they are sent until they are not."""
    wait_for(lambda: not exchange(wires, burst, patience=1).missing, "the way is free")


def _settle(wires, outcome, burst, waiting, quiet=0.3):
    """Whatever comes twice comes soon after: takes frames until none has come for `quiet` seconds."""
    end = time.monotonic() + quiet
    while time.monotonic() < end:
        select.select(wires, [], [], 0.05)
        for port, wire in enumerate(wires):
            while (frame := wire.take()) is not None:
                _arrived(outcome, burst, waiting, port, frame)
                end = time.monotonic() + quiet


def _arrived(outcome, burst, waiting, port, frame):
    tag = burst.tag_of(frame)
    if tag is None:
        outcome.others += 1
        return False
    wanted = burst.frames[tag]
    if port != wanted.egress or frame != wanted.expected:
        outcome.wrong.append((port, frame, wanted))
        return False
    if waiting.pop(tag, None) is None:
        outcome.twice += 1
        return False
    outcome.good += 1
    return True
