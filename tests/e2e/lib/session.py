# SPDX-License-Identifier: BSD-3-Clause
"""One run of the tests: a process of its own, or several workers of pytest-xdist below one that hands out the tests.

What a run makes carries the run's number, which is the process id of the one that hands out: so a later run finds what a
killed one has left, and the end of a run finds what any of its workers has, also one that died.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_VARIABLE = "PKTPIT_E2E_RUN"  # inherited by the workers
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")
if not WORKER:
    os.environ[_VARIABLE] = str(os.getpid())
RUN = os.environ[_VARIABLE]
_FOLDERS = "pktpit-e2e-"


def is_dead(run):
    """Is this the number of a run that is over?"""
    return run.isdigit() and not os.path.exists(f"/proc/{run}")


def folder():
    """What the workers of this run share."""
    path = Path(tempfile.gettempdir(), _FOLDERS + RUN)
    path.mkdir(exist_ok=True)
    return path


def remove_folder():
    shutil.rmtree(Path(tempfile.gettempdir(), _FOLDERS + RUN), ignore_errors=True)


def sweep_dead_folders():
    for path in Path(tempfile.gettempdir()).glob(_FOLDERS + "*"):
        if is_dead(path.name.removeprefix(_FOLDERS)):
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def locked(path):
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)
