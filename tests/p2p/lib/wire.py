# SPDX-License-Identifier: BSD-3-Clause
"""The cable of one emulated NIC: a frame is a datagram on a pair of UNIX sockets, without FCS."""

import select
import socket
import time

from guests.waiting import DEADLINE


class NothingReceived(AssertionError):
    pass


class Wire:
    """`ours` is the path that QEMU sends to, `theirs` the one it listens at."""

    def __init__(self, name, ours, theirs):
        self.name, self.theirs = name, str(theirs)
        self.pending = []  # arrived, not yet asked for
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.socket.bind(str(ours))
        self.socket.setblocking(False)

    def connect(self):
        """QEMU is there now. A connected socket is writable exactly when QEMU's queue has room."""
        self.socket.connect(self.theirs)

    def fileno(self):
        return self.socket.fileno()

    def try_send(self, frame):
        """False if the cable is full: QEMU has not taken what was sent before."""
        try:
            self.socket.send(frame)
            return True
        except BlockingIOError:
            return False

    def send(self, *frames):
        end = time.monotonic() + DEADLINE
        for frame in frames:
            while not self.try_send(frame):
                if time.monotonic() > end:
                    raise AssertionError(f"{self.name} takes no frame for {DEADLINE} s")
                select.select([], [self.socket], [], 0.1)

    def take(self):
        """The next frame that has arrived, or None."""
        try:
            return self.socket.recv(1 << 16)
        except BlockingIOError:
            return None

    def pull(self):
        while (frame := self.take()) is not None:
            self.pending.append(frame)

    def drain(self):
        self.pull()
        self.pending.clear()

    def receive(self, match=lambda frame: True, what="a matching frame"):
        """The first frame for which `match` holds, taken out. All others stay for later calls, in order."""
        looked_at = 0
        end = time.monotonic() + DEADLINE
        while True:
            self.pull()
            for index in range(looked_at, len(self.pending)):
                if match(self.pending[index]):
                    return self.pending.pop(index)
            looked_at = len(self.pending)
            left = end - time.monotonic()
            if left <= 0:
                latest = ", ".join(frame[:80].hex() for frame in self.pending[-5:]) or "nothing"
                raise NothingReceived(f"{self.name}: {what} did not come in {DEADLINE} s; came instead: {latest}")
            select.select([self.socket], [], [], left)

    def close(self):
        self.socket.close()
