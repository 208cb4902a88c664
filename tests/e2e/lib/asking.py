# SPDX-License-Identifier: BSD-3-Clause
"""How long the API takes to answer, while something else goes on."""

import json
import socket
import threading
import time

from lib.waiting import DEADLINE


def ask(path, about, timeout=DEADLINE):
    """The body of one answer, as bytes; without a process of its own."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(str(path))
        connection.sendall(f"GET {about} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.split(b" ", 2)[1] == b"200", answer[:300]
    return body


def ask_json(path, about):
    return json.loads(ask(path, about))


class Asking:
    """Asks one question after the other from entry to exit; `seconds` of each answer, and what went wrong, in `failed`."""

    def __init__(self, path, about="/v1/version"):
        self.path, self.about = path, about
        self.seconds, self.failed = [], []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._ask_on)

    def _ask_on(self):
        while not self.stopped.is_set():
            began = time.monotonic()
            try:
                ask(self.path, self.about)
            except (OSError, AssertionError) as error:
                self.failed.append(repr(error))
            self.seconds.append(time.monotonic() - began)
            time.sleep(0.001)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()

    def quantile(self, share):
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def __str__(self):
        return (f"{len(self.seconds)} answers: p50 {self.quantile(0.5) * 1e3:.1f} ms, p99 {self.quantile(0.99) * 1e3:.1f} ms, "
                f"max {max(self.seconds) * 1e3:.1f} ms" + (f", {len(self.failed)} failed" if self.failed else ""))
