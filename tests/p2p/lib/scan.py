"""Looks for a burst's payload and headers in memory, from outside the machine."""

import mmap
import os

SENDERS = ((4, 8, 4), (6, 32, 16))  # family, bytes from the start of the source address to the UDP ports, its length


class Memory:
    """A file that is a memory of the machine, mapped as it is at this moment and from then on."""

    def __init__(self, file):
        with open(file, "rb") as opened:
            self.bytes = mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ)
        self.size = os.path.getsize(file)

    def positions(self, pattern):
        at = self.bytes.find(pattern)
        while at >= 0:
            yield at
            at = self.bytes.find(pattern, at + 1)

    def payloads(self, burst):
        """How often the marker of a burst's payload occurs."""
        return sum(1 for _ in self.positions(burst.marker))

    def headers(self, burst):
        """How often a header of the burst occurs: its UDP ports behind addresses, the first of them the sender's."""
        return sum(1 for at in self.positions(burst.ports) if self._behind_a_sender(at, burst))

    def _behind_a_sender(self, at, burst):
        return any(at >= distance and self.bytes[at - distance:at - distance + size] in burst.senders[family]
                   for family, distance, size in SENDERS)

    def close(self):
        self.bytes.close()
