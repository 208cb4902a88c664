# SPDX-License-Identifier: BSD-3-Clause
"""HTTP by TCP inside a namespace, byte for byte, as a client of the router's web ports."""

import json
import socket
from dataclasses import dataclass, field


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


def connect(namespace, address, port, timeout=10):
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


def request(namespace, address, port, target, method="GET", body=b"", timeout=10, **headers):
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
    return Reply(int(lines[0].split()[1]), {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])},
                 content)
