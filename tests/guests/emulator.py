# SPDX-License-Identifier: BSD-3-Clause
"""Which QEMU: the machine's own, and one from Debian's backports for the igb, which came with QEMU 8, and for the newest kernels.

The newer one is fetched once (20 MB), kept below build/guests/ and run from there; nothing is installed.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from guests.apt import CACHE, Apt, NotAvailable, locked, replace_directory

PROGRAM = "qemu-system-x86_64"
BACKPORTS = ("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
             "http://deb.debian.org/debian bookworm-backports main\n")
PACKAGES = ("qemu-system-x86", "qemu-system-data", "seabios")


def find_qemu(device="e1000e", progress=print):
    """The command of an emulator that has this NIC. NotAvailable says what was tried."""
    installed = shutil.which(PROGRAM)
    if installed is None:
        raise NotAvailable(f"{PROGRAM} is missing: install qemu-system-x86 (make deps)")
    if has_device([installed], device):
        return [installed]
    try:
        newer = find_newer_qemu(progress)
    except NotAvailable as error:
        raise NotAvailable(f"{version([installed])} has no {device}, and Debian's backports cannot be had: {error}") from None
    if not has_device(newer, device):
        raise NotAvailable(f"neither {installed} ({version([installed])}) nor the backports' QEMU ({version(newer)}) has {device}")
    return newer


def version(command):
    said = subprocess.run([*command, "--version"], capture_output=True, text=True)
    return said.stdout.splitlines()[0] if said.stdout else f"does not start: {said.stderr.strip()[-300:]}"


def has_device(command, device):
    said = subprocess.run([*command, "-device", f"{device},help"], capture_output=True, text=True)
    return said.returncode == 0 and f"{device} options" in said.stdout


def find_newer_qemu(progress=print):
    """The command of the backports' QEMU. NotAvailable says why there is none."""
    with locked("qemu"):
        directory = CACHE / "qemu" / "unpacked"
        if not directory.exists():
            progress("fetching a newer QEMU from Debian's backports (20 MB, once)")
            apt = Apt("qemu", own_lists=True, sources=BACKPORTS)
            apt.update()
            fresh = Path(tempfile.mkdtemp(prefix="unpacking-", dir=directory.parent))
            try:
                for package in PACKAGES:
                    apt.unpack(package, fresh)
                replace_directory(directory, fresh)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
    share = directory / "usr" / "share"
    return [str(directory / "usr" / "bin" / PROGRAM), "-L", str(share / "qemu"), "-L", str(share / "seabios")]
