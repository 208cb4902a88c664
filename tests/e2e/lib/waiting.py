# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for events with a deadline. Tests never sleep for a fixed time and hope."""

import os
import time

# How much longer than usual an event may take: with a daemon that sanitizers slow down.
PATIENCE = float(os.environ.get("PKTPIT_PATIENCE", 1))
# Seconds. A deadline ends a hang, and says nothing of how fast something is.
DEADLINE = 60.0 * PATIENCE


class DeadlineExceeded(AssertionError):
    pass


def wait_for(event, what=None, deadline=60.0, interval=0.01):
    """Calls `event` until it returns something true, which is handed back."""
    end = time.monotonic() + deadline * PATIENCE
    last = None
    while True:
        try:
            last = event()
            if last:
                return last
        except (OSError, KeyError) as error:  # not there yet: a socket, a pin, a counter
            last = error
        if time.monotonic() > end:
            raise DeadlineExceeded(f"{what or event} did not happen within {deadline} s; last seen: {last!r}")
        time.sleep(interval)
