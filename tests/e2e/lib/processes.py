# SPDX-License-Identifier: BSD-3-Clause
"""What a process and its threads do, by /proc."""

import os
from pathlib import Path


def _stat(path):
    return (path / "stat").read_text().rsplit(")", 1)[1].split()


def cpu_seconds(pid):
    fields = _stat(Path(f"/proc/{pid}"))
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def worker_states(pid):
    """Of each worker of a daemon: R, it runs or would like to; S, it sleeps."""
    return [_stat(task)[0] for task in sorted(Path(f"/proc/{pid}/task").iterdir())
            if (task / "comm").read_text().startswith("pktpit-w")]
