# SPDX-License-Identifier: BSD-3-Clause
"""A paced stream of numbered frames from one host to another, and the account of it afterwards."""

import json
import signal
import struct
import subprocess
import time
from pathlib import Path

from lib.losses import LostByTheMachine, Losses
from lib.namespaces import end
from lib.waiting import wait_for

class Stream:
    """Running from construction on. `finish` ends it and waits for what is on its way."""

    def __init__(self, tool, directory, sender, receiver, family=4, rate=20000, flows=16, size=64, source=None,
                 destination=None):
        self.losses = Losses(sender, receiver)
        source = source or (sender.behind4 if family == 4 else sender.behind6)
        destination = destination or (receiver.behind4 if family == 4 else receiver.behind6)
        self.progress = Path(directory) / f"progress-{id(self)}"
        self.progress.write_bytes(bytes(8))
        self.receiver = receiver.namespace.start(tool, "receive", "eth0", self.progress, stdout=subprocess.PIPE, text=True)
        assert self.receiver.stdout.readline() == "ready\n"
        self.sender = sender.namespace.start(tool, "send", "eth0", sender.mac, sender.router_mac, family, source,
                                             destination, rate, flows, size, stdout=subprocess.PIPE, text=True)
        self.flows_again(1000)

    def received(self):
        return struct.unpack("=Q", self.progress.read_bytes())[0]

    def flows_again(self, frames=5000, deadline=15.0):
        """Returns when `frames` more have arrived."""
        goal = self.received() + frames
        wait_for(lambda: self.received() >= goal, deadline, f"{frames} more frames of the stream arrive")

    def finish(self):
        sent = self._end(self.sender)
        self._wait_for_all(sent["sent"])
        got = self._end(self.receiver)
        result = {**sent, **got, "lost": sent["sent"] - got["unique"], "duplicated": got["received"] - got["unique"]}
        return {**result, "where": self.losses.account() if result["lost"] else None}

    def _wait_for_all(self, sent):
        """Until all have arrived, or none has for a second: in queues they wait as long as the router has no CPU."""
        seen, since = self.received(), time.monotonic()
        while seen < sent and time.monotonic() - since < 1.0:
            time.sleep(0.005)
            if (now := self.received()) != seen:
                seen, since = now, time.monotonic()

    def _end(self, process):
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
        return json.loads(output)

    def abort(self):
        end(self.sender)
        end(self.receiver)


def assert_none_lost(result):
    """None lost; what a change of who decides may put in another order is allowed."""
    if result["missed_by_receiver"]:
        raise LostByTheMachine(f"the receiver itself was too slow: {result}")
    if result["lost"] and result["where"].explains(result["lost"]):
        raise LostByTheMachine(f"{result['lost']} of {result['sent']} frames: {result['where']}")
    assert result["lost"] == 0, f"{result}, {result['where']}"


def assert_nothing_lost(result):
    assert_none_lost(result)
    assert (result["reordered"], result["duplicated"]) == (0, 0), f"{result}, {result['where']}"
