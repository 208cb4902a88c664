# SPDX-License-Identifier: BSD-3-Clause
"""Packages that are fetched and unpacked below build/guests/, never installed: kernels of guests, a newer QEMU.

Works without root. Where the machine has no package lists, or other sources are wanted, lists are kept here as well.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "guests"


class NotAvailable(Exception):
    """A package cannot be had; the text says why and what to do."""


@contextmanager
def locked(name):
    """Two runs side by side do not fetch the same thing into the same place."""
    CACHE.mkdir(parents=True, exist_ok=True)
    file = os.open(CACHE / f"{name}.lock", os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def run(*command, cwd=None, timeout=300):
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise NotAvailable(f"`{' '.join(map(str, command[:1]))} … {command[-1]}` ended with {done.returncode}: {said[-600:]}")
    return done.stdout


class Apt:
    """apt with an archive of our own. `own_lists`: with package lists of our own too, and, if given, other sources."""

    def __init__(self, name, own_lists=False, sources=None):
        self.directory = CACHE / name
        self.options = ["-o", "Debug::NoLocking=1", "-o", f"APT::Sandbox::User={pwd.getpwuid(os.geteuid()).pw_name}",
                        "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=2", "-o", "Acquire::http::Timeout=20"]
        (self.directory / "archives").mkdir(parents=True, exist_ok=True)
        if own_lists:
            lists = self.directory / "lists"
            (lists / "partial").mkdir(parents=True, exist_ok=True)
            self.options += ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache::pkgcache={self.directory}/pkgcache.bin",
                             "-o", "Dir::Cache::srcpkgcache="]
        if sources is not None:
            file = self.directory / "sources.list"
            file.write_text(sources)
            self.options += ["-o", f"Dir::Etc::sourcelist={file}", "-o", "Dir::Etc::sourceparts=/dev/null"]

    def update(self):
        run("apt-get", *self.options, "-qq", "update")

    def names(self, beginning):
        return run("apt-cache", *self.options, "pkgnames", beginning).split()

    def show(self, package):
        """What the lists say of all versions of a package."""
        return run("apt-cache", *self.options, "show", package)

    def unpack(self, package, directory):
        """Fetches a package and unpacks it below `directory`."""
        run("apt-get", *self.options, "-qq", "download", package, cwd=self.directory / "archives")
        name = package.split("=")[0].split("/")[0]
        file = max((self.directory / "archives").glob(f"{name}_*.deb"), key=lambda path: path.stat().st_mtime)
        run("dpkg-deb", "-x", file, directory)
        file.unlink()


def replace_directory(old, new):
    """`new` takes the place of `old`; nobody ever sees half of it."""
    shutil.rmtree(old, ignore_errors=True)
    os.rename(new, old)
