# SPDX-License-Identifier: BSD-3-Clause
"""The guest's kernel: the newest linux-image-6.1.*-cloud-amd64 that apt offers, unpacked, not installed.

It is fetched once (27 MB) and kept below build/guests/. The cloud flavour boots in two seconds without KVM and has VFIO;
it has no driver for the NICs of the tests, so that only Pktpit's own can be at work.
"""

import re
import shutil
import tempfile
from pathlib import Path

from guests.apt import CACHE, Apt, NotAvailable, locked, replace_directory

NAME = re.compile(r"linux-image-6\.1\.0-(\d+)-cloud-amd64")
VFIO = ("irqbypass", "vfio", "vfio_iommu_type1", "vfio_virqfd", "vfio-pci-core", "vfio-pci")
TUN = ("tun",)


class Kernel:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.image = next((self.directory / "boot").glob("vmlinuz-*"))
        self.version = self.image.name.removeprefix("vmlinuz-")
        self._files = {path.name.split(".ko")[0]: path for path in (self.directory / "lib" / "modules").rglob("*.ko*")}

    def module(self, name):
        return self._files[name]


def find_kernel(progress=print):
    """The kernel that was fetched before, or a fresh one; NotAvailable says what to do about it."""
    with locked("kernel"):
        directory = CACHE / "kernel" / "unpacked"
        if not directory.exists():
            progress("fetching the guest's kernel (27 MB, once)")
            directory.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(prefix="unpacking-", dir=directory.parent))
            try:
                _fetch(fresh)
                replace_directory(directory, fresh)
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        return Kernel(directory)


def _fetch(directory):
    problems = []
    for apt, refresh in ((Apt("kernel"), False), (Apt("kernel", own_lists=True), True)):
        try:
            if refresh:
                apt.update()
            names = [name for name in apt.names("linux-image-6.1.") if NAME.fullmatch(name)]
            if not names:
                raise NotAvailable("apt knows no linux-image-6.1.0-*-cloud-amd64")
            apt.unpack(max(names, key=lambda name: int(NAME.fullmatch(name)[1])), directory)
            return
        except NotAvailable as error:
            problems.append(str(error))
    raise NotAvailable("the guest's kernel (linux-image-6.1.0-*-cloud-amd64) is not cached below build/guests/ and cannot be "
                       "fetched; with network access and Debian 12's sources the next run keeps it. apt said:\n  "
                       + "\n  ".join(problems))
