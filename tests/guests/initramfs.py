# SPDX-License-Identifier: BSD-3-Clause
"""A guest's first file system: busybox, modules of its kernel, and programs with their libraries.

A newc cpio archive, written here: it needs no root for its device node. Not compressed: QEMU hands it over in memory.
"""

import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

ANSWER = Path(__file__).with_name("answer.sh")


class Initramfs:
    def __init__(self, init):
        """`init`: the script that is the guest's first process. It runs /bin/answer when it is ready for commands."""
        self._members = {}  # path: (mode, bytes, device)
        self.file("init", Path(init).read_bytes(), 0o755)
        self.file("bin/answer", ANSWER.read_bytes(), 0o755)

    def directory(self, path):
        if path and path not in self._members:
            self.directory(os.path.dirname(path))
            self._members[path] = (stat.S_IFDIR | 0o755, b"", (0, 0))

    def file(self, path, content, mode=0o644):
        path = path.lstrip("/")
        self.directory(os.path.dirname(path))
        self._members[path] = (stat.S_IFREG | mode, content.encode() if isinstance(content, str) else content, (0, 0))

    def link(self, path, target):
        path = path.lstrip("/")
        self.directory(os.path.dirname(path))
        self._members[path] = (stat.S_IFLNK | 0o777, target.encode(), (0, 0))

    def console(self):
        self.directory("dev")
        self._members["dev/console"] = (stat.S_IFCHR | 0o600, b"", (5, 1))

    def busybox(self):
        program = shutil.which("busybox", path="/usr/bin:/bin")
        if program is None:
            raise FileNotFoundError("busybox is missing: install busybox-static (make deps)")
        self.file("bin/busybox", Path(program).read_bytes(), 0o755)
        for name in subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if name != "busybox":
                self.link(f"bin/{name}", "busybox")

    def program(self, path, name=None):
        """A program as it was built, less its debug information, with exactly the libraries that ldd names."""
        path = Path(path)
        self.file(f"bin/{name or path.name}", stripped(path), 0o755)
        for library in _libraries(path):
            self.file(library, Path(library).read_bytes(), 0o755)

    def modules(self, kernel, names):
        """Kernel modules, and the order in which /init loads them."""
        for name in names:
            self.file(f"lib/modules/{name}.ko", kernel.module(name).read_bytes())
        self.file("lib/modules/order", "".join(f"{name}\n" for name in names))

    def write(self, path):
        self.busybox()
        self.console()
        with open(path, "wb") as archive:
            for inode, (name, member) in enumerate(self._members.items(), 1):
                archive.write(_entry(inode, name, *member))
            archive.write(_entry(0, "TRAILER!!!", 0, b"", (0, 0)))


def _entry(inode, name, mode, content, device):
    """One member in the "new ASCII" format (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst)."""
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    return header + bytes(-len(header) % 4) + content + bytes(-len(content) % 4)


def _libraries(program):
    said = subprocess.run(["ldd", program], capture_output=True, text=True)
    found = []
    for line in said.stdout.splitlines():
        if "not found" in line:
            raise FileNotFoundError(f"{program} needs a library that is not here: {line.strip()}")
        words = line.replace("=>", " ").split()
        found += [word for word in words if word.startswith("/")][-1:]
    return found


def stripped(program):
    """Its bytes without debug information."""
    strip = shutil.which("strip")
    if strip is None:
        return program.read_bytes()
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run([strip, "-o", out.name, program], capture_output=True)
        return Path(out.name if done.returncode == 0 else program).read_bytes()
