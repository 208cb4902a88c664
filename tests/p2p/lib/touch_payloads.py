# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that touches payloads: pktpitd with plugin/touch_payloads.c loaded into it. The judge has to find it."""

import subprocess
import tempfile
from pathlib import Path

from lib.topology import IVSHMEM, IVSHMEM_BAR

SOURCE = Path(__file__).resolve().parent.parent / "plugin" / "touch_payloads.c"


def built():
    """The library."""
    with tempfile.TemporaryDirectory(prefix="pktpit-p2p-control-") as directory:
        library = Path(directory) / "touch_payloads.so"
        subprocess.run(["cc", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-pthread", "-o", library, SOURCE], check=True)
        return library.read_bytes()


def environment(how):
    """For a daemon that touches them: "copy" or "pieces"."""
    return (f"LD_PRELOAD=/lib/touch_payloads.so PKTPIT_CONTROL={how} "
            f"PKTPIT_CONTROL_BAR=/sys/bus/pci/devices/{IVSHMEM}/resource{IVSHMEM_BAR}")
