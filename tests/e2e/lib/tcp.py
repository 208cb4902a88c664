# SPDX-License-Identifier: BSD-3-Clause
"""TCP between namespaces, with the kernels' own stacks at both ends."""

import socket
import threading

from lib.waiting import DEADLINE


def serve_once(namespace, address, handle, room=None):
    """A TCP server for one connection, which calls handle(connection, data); hands back its port and thread. `room`: bytes of its receive
    buffer, which no more than fill are on their way."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with namespace.entered():
        listener = socket.socket(family, socket.SOCK_STREAM)
    if room:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    listener.bind((address, 0))
    listener.listen()
    listener.settimeout(DEADLINE)

    def serve():
        with listener, listener.accept()[0] as connection:
            connection.settimeout(DEADLINE)
            while data := connection.recv(1 << 16):
                handle(connection, data)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return listener.getsockname()[1], thread


def connect(namespace, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with namespace.entered():
        client = socket.socket(family, socket.SOCK_STREAM)
    client.settimeout(DEADLINE)
    client.connect((address, port))
    return client


def assert_transfer(sender, receiver, address, blocks=64, room=None):
    """`blocks` times 64 KiB arrive at the receiver's address as they were sent. `room`: serve_once()."""
    sent, got = bytearray(), bytearray()
    port, thread = serve_once(receiver, address, lambda _, data: got.extend(data), room)
    with connect(sender, address, port) as client:
        for number in range(blocks):
            block = bytes([number % 251]) * 65536
            sent += block
            client.sendall(block)
    thread.join(DEADLINE)
    assert got == sent, f"{len(got)} of {len(sent)} bytes arrived, or other ones"
