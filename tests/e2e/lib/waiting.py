# SPDX-License-Identifier: BSD-3-Clause
"""Waiting for events with a deadline. Tests never sleep for a fixed time and hope."""

import time


class DeadlineExceeded(AssertionError):
    pass


def wait_for(event, deadline=5.0, what=None, interval=0.01):
    """Calls `event` until it returns something true, which is handed back; fails after `deadline` seconds."""
    end = time.monotonic() + deadline
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
