# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for events with a deadline. Tests never sleep for a fixed time and hope."""

import time

# Ends a hang, and says nothing of how fast something is: an emulated machine beside other work is slow.
DEADLINE = 600


class DeadlineExceeded(AssertionError):
    pass


def wait_for(event, what, interval=0.02):
    """Calls `event` until it returns something true, which is handed back; fails after DEADLINE seconds."""
    end = time.monotonic() + DEADLINE
    while True:
        last = event()
        if last:
            return last
        if time.monotonic() > end:
            raise DeadlineExceeded(f"{what} did not happen within {DEADLINE} s; last seen: {last!r}")
        time.sleep(interval)
