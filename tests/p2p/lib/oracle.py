# SPDX-License-Identifier: BSD-3-Clause
"""What a router has to do with a frame, worked out naively and with nothing of the product's code.

The longest match is a dictionary per prefix length, asked from the longest to the shortest.
"""

from lib.packets import checksum
from lib.topology import mac

BITS = {4: 32, 6: 128}


class Oracle:
    def __init__(self, table):
        self.lengths = {}
        for family, routes in table.routes.items():
            lengths = self.lengths[family] = {}
            for (network, length), hop in routes.items():
                lengths.setdefault(length, {})[network >> (BITS[family] - length)] = hop

    def matches(self, family, destination):
        """Next hops of all prefixes that cover an address (an integer), the longest prefix's first."""
        found = []
        for length in sorted(self.lengths[family], reverse=True):
            hop = self.lengths[family][length].get(destination >> (BITS[family] - length))
            if hop is not None:
                found.append(hop)
        return found

    def uncovered(self, family, candidates):
        """The first of these addresses (integers) that no route covers."""
        return next(address for address in candidates if not self.matches(family, address))

    def forwarded(self, frame):
        """(port, frame) as it must leave, or None without a route."""
        family = 4 if frame[12:14] == b"\x08\x00" else 6
        destination = int.from_bytes(frame[30:34] if family == 4 else frame[38:54], "big")
        matches = self.matches(family, destination)
        if not matches:
            return None
        hop = matches[0]
        packet = bytearray(frame[14:])
        if family == 4:
            packet[8] -= 1
            packet[10:12] = b"\0\0"
            packet[10:12] = checksum(packet[:(packet[0] & 15) * 4]).to_bytes(2, "big")
        else:
            packet[7] -= 1
        return hop.port, hop.mac + mac(hop.port) + frame[12:14] + bytes(packet)
