# SPDX-License-Identifier: BSD-3-Clause
"""A stream of numbered frames from one host to another, paced by acknowledgement, and the account of it afterwards.

At most WINDOW frames are on the way, fewer than the smallest queue between the hosts holds (64 packets that wait for one
neighbour; rings have 256 and more). So a machine that is slow makes the stream slow, and a frame that is lost has been lost
by the router. Where nothing arrives for a while one frame more is sent (traffic.cpp), so a stream goes on after a loss.
"""

import json
import signal
import struct
import subprocess
import time
from pathlib import Path

from lib.namespaces import end
from lib.waiting import DEADLINE, wait_for

WINDOW = 32
# A stream of which some are lost for good is over when none has arrived for so many seconds.
QUIET = 3.0


class Stream:
    """Running from construction on. `finish` ends it and waits for what is on its way. `rate` is a ceiling, in frames a second;
    `also`: further hosts that frames may arrive at; `window`: 0 for a stream that meets a limit and is paced by the clock."""

    def __init__(self, tool, directory, sender, receiver, family=4, rate=20000, flows=16, size=64, source=None,
                 destination=None, also=(), window=WINDOW):
        source = source or (sender.behind4 if family == 4 else sender.behind6)
        destination = destination or (receiver.behind4 if family == 4 else receiver.behind6)
        self.window, self.progress, self.receivers = window, [], []
        for host in (receiver, *also):
            progress = Path(directory) / f"progress-{id(self)}-{host.label}"
            progress.write_bytes(bytes(8))
            process = host.namespace.start(tool, "receive", "eth0", progress, stdout=subprocess.PIPE, text=True)
            self.progress.append(progress)
            self.receivers.append(process)
            assert process.stdout.readline() == "ready\n"
        self.sender = sender.namespace.start(tool, "send", "eth0", sender.mac, sender.router_mac, family, source, destination,
                                             rate, flows, size, window, *self.progress, stdout=subprocess.PIPE, text=True)
        self.flows_again(1000)

    def received(self, at=None):
        """Frames so far, of all receivers or of one by its place."""
        return sum(struct.unpack("=Q", progress.read_bytes()[:8])[0] for progress in self.progress[slice(at, None if at is None else at + 1)])

    def flows_again(self, frames=2000, at=None):
        """Returns when `frames` more have arrived."""
        goal = self.received(at) + frames
        wait_for(lambda: self.received(at) >= goal, f"{frames} more frames of the stream arrive", deadline=120)

    def finish(self, after=0):
        """The account. `after`: so many more frames arrive before it ends."""
        if after:
            self.flows_again(after)
        sent = _end(self.sender)
        self._wait_for_all(sent["sent"])
        got = [_end(receiver) for receiver in self.receivers]
        assert not any(one.pop("missed_by_receiver") for one in got), "the receiver of the test itself has lost frames"
        total = {name: sum(one[name] for one in got) for name in got[0]}
        return {**sent, **total, "lost": sent["sent"] - total["unique"], "duplicated": total["received"] - total["unique"]}

    def _wait_for_all(self, sent):
        """The last frame of each flow has arrived. What others have overtaken may still be on its way."""
        seen, since = self.received(), time.monotonic()
        while seen < sent and time.monotonic() - since < QUIET:
            time.sleep(0.005)
            if (now := self.received()) != seen:
                seen, since = now, time.monotonic()

    def on_the_way(self, result):
        """How many frames an event can have met: those that were under way, and those sent while none arrived."""
        return self.window + result["probes"]

    def abort(self):
        for process in (self.sender, *self.receivers):
            end(process, signal.SIGKILL)


def _end(process):
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=2 * DEADLINE)
    return json.loads(output)


def assert_none_lost(result):
    """None lost; what a change of who decides may put in another order is allowed."""
    assert result["lost"] == 0, result


def assert_nothing_lost(result):
    assert (result["lost"], result["reordered"], result["duplicated"]) == (0, 0, 0), result
