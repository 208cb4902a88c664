# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for events with a deadline. Tests never sleep for a fixed time and hope."""

import time


class DeadlineExceeded(AssertionError):
    pass


def wait_for(event, deadline, what, interval=0.02):
    """Calls `event` until it returns something true, which is handed back; fails after `deadline` seconds."""
    end = time.monotonic() + deadline
    while True:
        last = event()
        if last:
            return last
        if time.monotonic() > end:
            raise DeadlineExceeded(f"{what} did not happen within {deadline:g} s; last seen: {last!r}")
        time.sleep(interval)
