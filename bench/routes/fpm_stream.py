# SPDX-License-Identifier: BSD-3-Clause
"""A full table as zebra's dplane_fpm_nl sends it (8.4: a frame a route, next-hop objects by number), so that FPM itself is
measured, without zebra, which gives it no faster than it has put its routes into the kernel."""

import socket
import struct

NEWROUTE, NEWNEXTHOP = 24, 104


def _attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value


def _frame(kind, payload):
    return struct.pack("!BBH", 1, 1, 20 + len(payload)) + struct.pack("=IHHII", 16 + len(payload), kind, 0x501, 0, 0) + payload


def frames(prefixes, gateway, ifindex):
    out = [_frame(NEWNEXTHOP, struct.pack("=BBBBI", socket.AF_INET, 0, 11, 0, 0) + _attribute(1, struct.pack("=I", 7)) +
                  _attribute(6, socket.inet_aton(gateway)) + _attribute(5, struct.pack("=I", ifindex)))]
    metric, next_hop = _attribute(6, struct.pack("=I", 20)), _attribute(30, struct.pack("=I", 7))
    for prefix in prefixes:
        address, length = prefix.split("/")
        out.append(_frame(NEWROUTE, struct.pack("=BBBBBBBBI", socket.AF_INET, int(length), 0, 0, 254, 186, 0, 1, 0) +
                          _attribute(1, socket.inet_aton(address)) + metric + next_hop))
    return b"".join(out)
