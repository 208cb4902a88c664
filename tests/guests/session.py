# SPDX-License-Identifier: BSD-3-Clause
"""A run of pytest with guests: alone, or a worker of pytest-xdist."""

import signal

import pytest

from guests import machine as machines


def is_worker(config):
    return hasattr(config, "workerinput")


def end_in_order():
    """Guests go also where the run is told to end."""
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    # A shell ignores it on behalf of what it runs in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def begin(config, build):
    """`build`: the build directory that is tested; None: nothing of it is."""
    if build and not (build / "router" / "pktpitd").exists():
        pytest.exit(f"{build}/router/pktpitd is not built; build it, or name the build directory in PKTPIT_BUILD", 2)
    end_in_order()
    if not is_worker(config):
        machines.sweep_dead_runs()
