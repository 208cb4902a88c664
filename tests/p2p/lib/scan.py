# SPDX-License-Identifier: BSD-3-Clause
"""Looks for a burst's payload and headers in memory, from outside the machine."""

import errno
import os

SENDERS = ((4, 8, 4), (6, 32, 16))  # family, bytes from the start of the source address to the UDP ports, its length


class Memory:
    """What a file that is a memory of the machine holds at this moment. Pages that nobody has written are left out."""

    def __init__(self, file):
        with open(file, "rb") as opened:
            self.pieces = list(_written(opened.fileno()))

    def payloads(self, burst):
        """How often the marker of a burst's payload occurs."""
        return sum(piece.count(burst.marker) for piece in self.pieces)

    def headers(self, burst):
        """How often a header of the burst occurs: its UDP ports behind addresses, the first of them the sender's."""
        return sum(_behind_a_sender(piece, at, burst) for piece in self.pieces for at in _positions(piece, burst.ports))


def _written(descriptor):
    """The pieces of a sparse file that hold data."""
    end = os.fstat(descriptor).st_size
    start = 0
    while start < end:
        try:
            first = os.lseek(descriptor, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:  # none behind `start`
                raise
            return
        start = os.lseek(descriptor, first, os.SEEK_HOLE)
        yield _read(descriptor, first, start)


def _read(descriptor, first, last):
    parts = []
    while first < last:
        parts.append(os.pread(descriptor, last - first, first))
        first += len(parts[-1])
    return b"".join(parts)


def _positions(piece, pattern):
    at = piece.find(pattern)
    while at >= 0:
        yield at
        at = piece.find(pattern, at + 1)


def _behind_a_sender(piece, at, burst):
    return any(at >= distance and piece[at - distance:at - distance + size] in burst.senders[family]
               for family, distance, size in SENDERS)
