# SPDX-License-Identifier: BSD-3-Clause
"""A stream of numbered datagrams between two network namespaces, of which none may be lost: run in the guest,
`stream.py A B ADDRESS…`, the addresses of A, to which B sends, then as many of B. A few at a time are on their way, so that no queue overflows, however slow the machine is."""

import ctypes
import os
import socket
import struct
import sys

PORT, WINDOW, COUNT = 7000, 16, 96
SIZES = (18, 100, 512, 1400)
PATIENCE = 120  # seconds; ends a hang
CLONE_NEWNET = 0x40000000


def opened(namespace, family):
    """A socket of that network namespace."""
    descriptor = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"setns {namespace}")
    os.close(descriptor)
    made = socket.socket(family, socket.SOCK_DGRAM)
    made.settimeout(PATIENCE)
    return made


def datagram(number):
    return struct.pack("!I", number) + bytes(number + place & 0xFF for place in range(SIZES[number % len(SIZES)] - 4))


def stream(source, sink, address):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sender, receiver = opened(source, family), opened(sink, family)
    receiver.bind((address, PORT))
    sender.connect((address, PORT))
    for first in range(0, COUNT, WINDOW):
        window = range(first, first + WINDOW)
        for number in window:
            sender.send(datagram(number))
        for number in window:
            try:
                got = receiver.recv(2048)
            except TimeoutError:
                sys.exit(f"from {source} to {address}: datagram {number} is lost")
            if got != datagram(number):
                sys.exit(f"from {source} to {address}: {len(got)} bytes {got[:16].hex()}… instead of datagram {number}")


first, second, *addresses = sys.argv[1:]
for place, address in enumerate(addresses):
    stream(*((second, first) if place < len(addresses) // 2 else (first, second)), address)
