# SPDX-License-Identifier: BSD-3-Clause
"""What `ip route get ADDRESS fibmatch` says, of many addresses at once, and of those that it answers with an error, too."""

import ipaddress
import math
import os
import socket
import struct

NLMSG = struct.Struct("=IHHII")
RTMSG = struct.Struct("=8BI")
NEXTHOP = struct.Struct("=HBBi")
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE, NLMSG_ERROR = 24, 25, 26, 2
NLM_F_REQUEST, NLM_F_ACK, NLM_F_CREATE = 1, 4, 0x400
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_MULTIPATH, RTA_MARK, RTA_VIA, RTA_NH_ID = 1, 4, 5, 9, 16, 18, 30
RTM_F_FIB_MATCH = 0x2000
UNUSABLE = 1 | 16  # RTNH_F_DEAD, RTNH_F_LINKDOWN
RTN_BLACKHOLE = 6
UNUSED, UNUSED_TABLE = ipaddress.ip_address("2001:db8:ffff::"), 250
TYPES = {1: "unicast", 2: "local", 3: "broadcast", 4: "anycast"}
ERRORS = {101: "none", 22: "blackhole", 113: "unreachable", 13: "prohibit", 11: "none"}


def _attributes(data):
    found = {}
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        found[kind & 0x3fff] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def _attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value


def _hop(attributes, oif, weight):
    gateway = attributes.get(RTA_GATEWAY) or attributes.get(RTA_VIA, b"")[2:]
    return str(ipaddress.ip_address(gateway)) if gateway else None, socket.if_indextoname(oif), weight


def shares(hops):
    """As a set that says which share of the packets each next hop has: the same one several times counts as one, and weights have no common divisor."""
    total = {}
    for via, device, weight in hops:
        total[via, device] = total.get((via, device), 0) + weight
    divisor = math.gcd(*total.values())
    return frozenset((via, device, weight // divisor) for (via, device), weight in total.items())


class FibMatch:
    """Asks a namespace's kernel. One thread, which the namespace's devices are named in."""

    def __init__(self, namespace):
        self.namespace = namespace
        with namespace.entered():
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)

    def close(self):
        self.socket.close()

    def ask(self, addresses, mark=0):
        """(type, length of the prefix, next hops as (via, device, weight)) of each; the last two are None where it is not `unicast`."""
        with self.namespace.entered():
            return [self._answer(ipaddress.ip_address(address), mark) for address in addresses]

    def _answer(self, address, mark):
        """IPv6 routes by one next-hop object share what the kernel answers with, until its routes change: it may be of another one, or, when
        that has gone, that there is none."""
        answer, shared = self._ask(address, mark)
        if shared:
            for kind, flags in ((RTM_NEWROUTE, NLM_F_CREATE), (RTM_DELROUTE, 0)):
                _, error, _ = self._exchange(kind, NLM_F_ACK | flags, RTMSG.pack(socket.AF_INET6, 128, 0, 0, UNUSED_TABLE, 4, 0, RTN_BLACKHOLE, 0)
                                             + _attribute(RTA_DST, UNUSED.packed))
                assert error == 0, os.strerror(error)
            answer, _ = self._ask(address, mark)
        return answer

    def _exchange(self, kind, flags, body):
        self.socket.send(NLMSG.pack(NLMSG.size + len(body), kind, NLM_F_REQUEST | flags, 1, 0) + body)
        answer = self.socket.recv(65536)
        kind = NLMSG.unpack_from(answer)[1]
        return kind, -struct.unpack_from("=i", answer, NLMSG.size)[0] if kind == NLMSG_ERROR else 0, answer

    def _ask(self, address, mark):
        """And whether it may be another route's."""
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        body = (RTMSG.pack(family, address.max_prefixlen, 0, 0, 0, 0, 0, 0, RTM_F_FIB_MATCH)
                + _attribute(RTA_DST, address.packed) + (_attribute(RTA_MARK, struct.pack("=I", mark)) if mark else b""))
        kind, error, answer = self._exchange(RTM_GETROUTE, 0, body)
        if kind == NLMSG_ERROR:
            return (ERRORS[error], None, None), address.version == 6 and ERRORS[error] == "none"
        assert kind == RTM_NEWROUTE, kind
        _, length, _, _, _, _, _, route_type, _ = RTMSG.unpack_from(answer, NLMSG.size)
        if TYPES[route_type] != "unicast":
            return (TYPES[route_type], None, None), False
        attributes = _attributes(answer[NLMSG.size + RTMSG.size:])
        shared = address.version == 6 and RTA_NH_ID in attributes
        if RTA_MULTIPATH not in attributes:
            return ("unicast", length, shares([_hop(attributes, struct.unpack("=I", attributes[RTA_OIF])[0], 1)])), shared
        hops, rest = [], attributes[RTA_MULTIPATH]
        while rest:
            size, flags, weight, oif = NEXTHOP.unpack_from(rest)
            if not flags & UNUSABLE:
                hops.append(_hop(_attributes(rest[NEXTHOP.size:size]), oif, weight + 1))
            rest = rest[(size + 3) & ~3:]
        return ("unicast", length, shares(hops)), shared
