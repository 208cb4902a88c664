# SPDX-License-Identifier: BSD-3-Clause
"""A stream of numbered datagrams between two network namespaces, of which none may be lost. A few at a time are on their way, so that
no queue overflows, however slow the machine is.

Run in the guest: `stream.py A B ADDRESS…`, the addresses of A, to which B sends, then as many of B."""

import socket
import struct
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[1] / "e2e"))
    sys.dont_write_bytecode = True

from lib.namespaces import entered  # noqa: E402

PORT, WINDOW, COUNT = 7000, 16, 96
SIZES = (18, 100, 512, 1400)  # bytes of UDP's payload
PATIENCE = 120  # seconds; ends a hang


def opened(namespace, family):
    """A socket of that network namespace."""
    with entered(f"/run/netns/{namespace}"):
        made = socket.socket(family, socket.SOCK_DGRAM)
    made.settimeout(PATIENCE)
    return made


def datagram(number, size):
    return struct.pack("!I", number) + bytes(number + place & 0xFF for place in range(size - 4))


def stream(source, sink, address, sizes=SIZES, count=COUNT):
    """What is wrong, or nothing. `source`, `sink`: names of network namespaces; `address`: the sink's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with opened(source, family) as sender, opened(sink, family) as receiver:
        receiver.bind((address, PORT))
        sender.connect((address, PORT))
        for first in range(0, count, WINDOW):
            window = [datagram(number, sizes[number % len(sizes)]) for number in range(first, min(first + WINDOW, count))]
            for sent in window:
                sender.send(sent)
            # While a next hop's MAC address is asked for one frame may overtake another.
            missing = {sent: first + place for place, sent in enumerate(window)}
            while missing:
                try:
                    got = receiver.recv(max(sizes) + 1)
                except TimeoutError:
                    lost = ", ".join(f"{number} of {len(sent)} bytes" for sent, number in missing.items())
                    return f"from {source} to {address}: lost are the datagrams {lost}"
                if missing.pop(got, None) is None:
                    return f"from {source} to {address}: {len(got)} bytes {got[:16].hex()}… are none that was sent, or came twice"
    return ""


def main(first, second, *addresses):
    for place, address in enumerate(addresses):
        if wrong := stream(*((second, first) if place < len(addresses) // 2 else (first, second)), address):
            sys.exit(wrong)


if __name__ == "__main__":
    main(*sys.argv[1:])
