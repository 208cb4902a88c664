# SPDX-License-Identifier: BSD-3-Clause
"""Debian's kernels, as users install them: found by what `linux-image-amd64` depends on, unpacked below build/guests/, not installed.

Each is fetched once (70 to 120 MB). Of its modules those are kept that a router's machine and the guest itself need, decompressed:
busybox loads no others.
"""

import lzma
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from guests.apt import CACHE, Apt, NotAvailable, locked, replace_directory, run

SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/{} main\n"
KEPT = re.compile(r"(net|lib|crypto|arch|drivers/(net|virtio|block|ptp|pps|dca|i2c)|fs/(9p|netfs|fscache|overlayfs|cachefiles))/")
LEFT_OUT = re.compile(r"drivers/net/(wireless|usb|wwan|can|fddi|hamradio|arcnet|ieee802154)/|"
                      r"net/(wireless|mac80211|bluetooth|can|sunrpc|rxrpc|tipc|sctp|ceph)/")
LISTED = ("modules.order", "modules.builtin", "modules.builtin.modinfo")


@dataclass(frozen=True)
class Series:
    """`of`: which of the versions that `linux-image-amd64` may depend on in these archives (as in apt's sources)."""
    name: str
    of: str
    archives: tuple
    where: str  # for people


SERIES = {series.name: series for series in (
    Series("6.1", r"6\.1\.0-\d+-amd64", ("debian bookworm", "debian-security bookworm-security"), "Debian 12"),
    Series("6.12", r"6\.12\.[\d.]+\+deb12[\d.]*-amd64", ("debian bookworm-backports",), "Debian 12's backports"),
    Series("newest", r"\d+\.\d+\.[\d.]+\+deb\d+[\d.]*-amd64", ("debian trixie-backports",), "Debian 13's backports"))}


class Kernel:
    """`directory`: vmlinuz, config, and modules/VERSION."""

    def __init__(self, directory):
        self.directory = Path(directory)
        self.image = self.directory / "vmlinuz"
        self.modules = next((self.directory / "modules").iterdir())
        self.version = self.modules.name
        self._files = {path.name.removesuffix(".ko").replace("-", "_"): path for path in self.modules.rglob("*.ko")}

    def module(self, name):
        return self._files[name]

    def with_dependencies(self, names):
        """Those of the modules that are not built in, each behind those that it needs."""
        order = []
        for name in names:
            if name in self._files and name not in order:
                needed = re.search(rb"\0depends=([^\0]*)\0", self._files[name].read_bytes())
                wanted = self.with_dependencies(needed[1].decode().replace("-", "_").split(",")) if needed else []
                order += [one for one in [*wanted, name] if one not in order]
        return order


def find_kernel(name, progress=print):
    """The series' kernel that was fetched before, or the newest one, fetched now; NotAvailable says what to do about it."""
    series = SERIES[name]
    place = f"kernel-{name}"
    with locked(place):
        directory = CACHE / place / "unpacked"
        if not directory.exists():
            progress(f"fetching the kernel of {series.where} (about 100 MB, once)")
            directory.parent.mkdir(parents=True, exist_ok=True)
            fresh = Path(tempfile.mkdtemp(prefix="unpacking-", dir=directory.parent))
            try:
                (fresh / "kept").mkdir()
                _fetch(series, place, fresh / "all")
                _trim(fresh / "all", fresh / "kept")
                replace_directory(directory, fresh / "kept")
            finally:
                shutil.rmtree(fresh, ignore_errors=True)
        return Kernel(directory)


def _fetch(series, place, directory):
    """From the machine's own sources where they have it, else from Debian's."""
    problems = []
    for own in (False, True):
        try:
            apt = Apt(place, own_lists=own, sources="".join(map(SOURCE.format, series.archives)) if own else None)
            if own:
                apt.update()
            for package in _packages(apt, series):
                apt.unpack(package, directory)
            return
        except NotAvailable as error:
            problems.append(str(error))
    raise NotAvailable(f"the kernel of {series.where} is not cached below {CACHE / place} and cannot be fetched; with network access and "
                       "debian-archive-keyring installed the next run keeps it. apt said:\n  " + "\n  ".join(problems))


def _packages(apt, series):
    """The newest image, and the packages that have its parts: since 7.2 it has its binary, modules and configuration in three."""
    images = re.findall(rf"linux-image-({series.of}) \(=", apt.show("linux-image-amd64"))
    if not images:
        raise NotAvailable(f"no linux-image-amd64 that apt knows depends on a linux-image-{series.of}")
    version = max(images, key=lambda text: [int(number) for number in re.findall(r"\d+", text)])
    parts = re.findall(rf"linux-(?:binary|modules|base)-{re.escape(version)}(?= \(=)", apt.show(f"linux-image-{version}"))
    return [f"linux-image-{version}", *sorted(set(parts))]


def _trim(unpacked, kept):
    modules = next(path for place in ("lib", "usr/lib") for path in (unpacked / place / "modules").glob("*"))
    version = modules.name
    shutil.copy(_first(modules / "vmlinuz", unpacked / "boot" / f"vmlinuz-{version}"), kept / "vmlinuz")
    shutil.copy(_first(modules / "config", unpacked / "boot" / f"config-{version}"), kept / "config")
    for module in (modules / "kernel").rglob("*.ko*"):
        name = str(module.relative_to(modules / "kernel"))
        if KEPT.match(name) and not LEFT_OUT.match(name):
            target = kept / "modules" / version / "kernel" / name.removesuffix(".xz")
            target.parent.mkdir(parents=True, exist_ok=True)
            content = module.read_bytes()
            target.write_bytes(lzma.decompress(content) if name.endswith(".xz") else content)
    for name in LISTED:
        shutil.copy(modules / name, kept / "modules" / version)
    run("busybox", "depmod", "-b", _as_root(kept), version)


def _as_root(kept):
    """A root that has the modules where depmod looks for them."""
    (kept / "lib").mkdir()
    (kept / "lib" / "modules").symlink_to("../modules")
    return kept


def _first(*paths):
    return next(path for path in paths if path.exists())
