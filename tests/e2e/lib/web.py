# SPDX-License-Identifier: BSD-3-Clause
"""HTTP by TCP inside a namespace, byte for byte, as a client of the router's web ports."""

import contextlib
import json
import os
import select
import signal
import socket
from dataclasses import dataclass, field

from lib.waiting import DEADLINE


@dataclass
class Reply:
    status: int
    headers: dict = field(repr=False)
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)


def connect(namespace, address, port, timeout=DEADLINE):
    """A connected socket that stays in the namespace."""
    with namespace.entered():
        client = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        client.settimeout(timeout)
        client.connect((address, port))
    except BaseException:
        client.close()
        raise
    return client


def request(namespace, address, port, target, method="GET", body=b"", timeout=DEADLINE, **headers):
    """One request; a header that is None is left out, Host is the address where it is not given."""
    headers = {"Host": f"{address}:{port}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body:
        headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    with connect(namespace, address, port, timeout) as client:
        client.sendall(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, content = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
    return Reply(int(lines[0].split()[1]), headers, joined(content) if headers.get("transfer-encoding") == "chunked" else content)


def joined(chunks):
    """The body that was sent in chunks (RFC 9112 7.1)."""
    body = b""
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        body, chunks = body + chunks[:int(size, 16)], chunks[int(size, 16) + 2:]
    return body


@contextlib.contextmanager
def standing_still(router):
    """What comes meanwhile the daemon finds all at once, so that the order in which it takes it is its own, however busy the machine."""
    os.kill(router.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(router.process.pid, signal.SIGCONT)


def assert_answered_first(router, connect_others):
    """The API answers before it has sent one of the clients away that came before: one that it waits for, and has not answered."""
    with standing_still(router):
        others = connect_others()
        asking = socket.socket(socket.AF_UNIX)
        asking.connect(str(router.socket))
        asking.sendall(b"GET /v1/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    with asking:
        events = select.poll()
        events.register(asking, select.POLLIN)
        waiting = {other.fileno(): other for other in others}
        for descriptor in waiting:
            events.register(descriptor, select.POLLRDHUP)
        while asking.fileno() not in (first := [descriptor for descriptor, _ in events.poll(60_000)]):
            sent_away = [one for one in first if not waiting[one].recv(12, socket.MSG_PEEK).startswith(b"HTTP/1.1 200")]
            assert first and not sent_away, f"{len(sent_away)} of {len(others)} clients were sent away before there was an answer"
            for descriptor in first:
                events.unregister(descriptor)
        assert asking.recv(1000).startswith(b"HTTP/1.1 200 ")
