# SPDX-License-Identifier: BSD-3-Clause
"""Frames byte by byte: UDP over IPv4 and IPv6, quick enough for tens of thousands."""

import ipaddress
import struct


def checksum(data):
    """RFC 1071. A sum of 16-bit words with the carries added again is the number modulo 65535."""
    if len(data) % 2:
        data = bytes(data) + b"\0"
    total = int.from_bytes(data, "big")
    folded = total % 0xFFFF
    return ~(folded or (0xFFFF if total else 0)) & 0xFFFF


def packed(address):
    return ipaddress.ip_address(address).packed


def udp_header(source, destination, ports, payload):
    """`ports`: four bytes, source and destination port. The checksum is right, and never 0 (RFC 768)."""
    length = struct.pack("!H", 8 + len(payload))
    pseudo = source + destination + bytes(2) + length + b"\0\x11"
    return ports + length + struct.pack("!H", checksum(pseudo + ports + length + bytes(2) + payload) or 0xFFFF)


def udp4(macs, source, destination, ports, payload, ttl=64, identification=0):
    """`macs`: destination and source, 12 bytes; addresses packed."""
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), identification, 0, ttl, 17, 0, source, destination)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return macs + b"\x08\x00" + head + udp_header(source, destination, ports, payload) + payload


def udp6(macs, source, destination, ports, payload, ttl=64, flow=0):
    head = struct.pack("!IHBB16s16s", 6 << 28 | flow, 8 + len(payload), 17, ttl, source, destination)
    return macs + b"\x86\xdd" + head + udp_header(source, destination, ports, payload) + payload
