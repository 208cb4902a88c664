# SPDX-License-Identifier: BSD-3-Clause
"""Questions to the daemon's API in the guest (plugin/ask.c); `pktpit … --json` prints the same answers."""

import http.client
import io
import json
import subprocess
import tempfile
from pathlib import Path

from guests.guest import CommandFailed

SOURCE = Path(__file__).resolve().parent.parent / "plugin" / "ask.c"


def built():
    """The program."""
    with tempfile.TemporaryDirectory(prefix="pktpit-p2p-ask-") as directory:
        program = Path(directory) / "ask"
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-static", "-s", "-o", program, SOURCE], check=True)
        return program.read_bytes()


class _Answer(io.BytesIO):
    """What http.client takes for a socket."""

    def makefile(self, _mode):
        return self


def ask(guest, socket, target):
    """The body of the answer, from JSON. CommandFailed: there is none, or it is an error."""
    said = guest.output(f"ask {socket} '{target}'").encode()
    answer = http.client.HTTPResponse(_Answer(said))
    try:
        answer.begin()
        body = answer.read()
    except http.client.HTTPException as error:
        raise CommandFailed(f"GET {target}: {error!r}; {said[:200]}") from None
    if answer.status != 200:
        raise CommandFailed(f"GET {target}: {answer.status} {body[:500]}")
    return json.loads(body)
