# SPDX-License-Identifier: BSD-3-Clause
"""Commands in the guest, over its second serial line; answer.sh is the other end."""

import json
import socket
import time

from guests.waiting import DEADLINE


class CommandFailed(AssertionError):
    pass


class TimedOut(CommandFailed):
    pass


class Guest:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(str(path))
        self.buffer = b""
        self.number = 0

    def wait_ready(self, alive, seconds):
        """The guest has booted. `alive` raises when the machine is gone."""
        end = time.monotonic() + seconds
        while self._line(end, "its boot", alive).strip() != b"@ready":
            pass

    def run(self, command, check=True, deadline=DEADLINE):
        """(status, output) of a shell command; its output comes when it has ended."""
        self.number += 1
        end = time.monotonic() + deadline
        self.socket.sendall(f"{self.number} {command}\n".encode())
        while True:
            words = self._line(end, command).split()
            if len(words) == 3 and words[0] == b"@%d" % self.number:
                break  # what came before is the late answer to a command whose deadline had passed
        status, output = int(words[1]), self._bytes(int(words[2]), end, command).decode(errors="replace")
        if check and status:
            raise CommandFailed(f"guest$ {command}\nexit status {status}\n{output}")
        return status, output

    def begin(self, command):
        """Nobody waits for its end."""
        self.number += 1
        self.socket.sendall(f"{self.number} {command}\n".encode())

    def output(self, command, **options):
        return self.run(command, **options)[1]

    def json(self, command, **options):
        return json.loads(self.output(command, **options))

    def wait_for(self, command, what=None):
        """Repeats a command until it succeeds; its output."""
        end = time.monotonic() + DEADLINE
        while True:
            status, output = self.run(command, check=False)
            if status == 0:
                return output
            if time.monotonic() > end:
                raise AssertionError(f"{what or command} did not happen within {DEADLINE} s; last said: {output}")
            time.sleep(0.05)

    def _line(self, end, what, alive=lambda: None):
        while b"\n" not in self.buffer:
            self._more(end, what, alive)
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def _bytes(self, count, end, what):
        while len(self.buffer) < count:
            self._more(end, what)
        content, self.buffer = self.buffer[:count], self.buffer[count:]
        return content

    def _more(self, end, what, alive=lambda: None):
        alive()
        self.socket.settimeout(max(0.01, min(0.5, end - time.monotonic())))
        try:
            got = self.socket.recv(1 << 16)
            if not got:
                raise CommandFailed(f"the guest is gone, in the middle of: {what}")
            self.buffer += got
        except TimeoutError:
            if time.monotonic() > end:
                raise TimedOut(f"the guest did not answer in time: {what}") from None

    def close(self):
        self.socket.close()
