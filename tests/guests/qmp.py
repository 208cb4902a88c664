# SPDX-License-Identifier: BSD-3-Clause
"""QEMU's own control socket (QMP): to look at memory that has no file, and to end the machine."""

import json
import socket

from guests.waiting import DEADLINE


class Qmp:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(str(path))
        self.lines = self.socket.makefile("r")
        self._answer("QMP")
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        return self._answer("return")

    def _answer(self, key):
        for line in self.lines:
            message = json.loads(line)
            if "error" in message:
                raise AssertionError(f"QMP: {message['error'].get('desc', message)}")
            if key in message:
                return message[key]
        raise AssertionError("QMP: the machine is gone")

    def close(self):
        self.lines.close()
        self.socket.close()
