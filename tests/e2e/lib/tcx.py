# SPDX-License-Identifier: BSD-3-Clause
"""Programs of somebody else's at a device's tcx hook, by the bpf system call: Debian 12's tools know no tcx yet."""

import contextlib
import ctypes
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path

BPF_OBJ_GET, BPF_LINK_CREATE, BPF_TCX_INGRESS = 7, 28, 46
SYSTEM_CALL = 321  # bpf, x86-64
MOST = 64  # programs that a hook takes (BPF_MPROG_MAX)
# Each is another program: a hook takes none twice.
PROGRAMS = "".join(f'__attribute__((section("tc"), used)) int other{number}(void *skb) {{ return -1; }}\n' for number in range(MOST))
PROGRAMS += 'char terms[] __attribute__((section("license"), used)) = "GPL";\n'


def bpf(command, attributes):
    room = ctypes.create_string_buffer(attributes, 128)
    result = ctypes.CDLL(None, use_errno=True).syscall(SYSTEM_CALL, command, room, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"bpf {command}")
    return result


class Crowd:
    """The hooks of these devices are full, as long as the context is entered."""

    def __init__(self, namespace, devices, folder):
        self.namespace, self.devices, self.folder, self.links = namespace, devices, folder, []
        self.pins = Path(f"/sys/fs/bpf/{namespace.name}-crowd")

    def __enter__(self):
        if not self.devices:
            return self
        (self.folder / "others.c").write_text(PROGRAMS)
        subprocess.run(["clang", "-O2", "-target", "bpf", "-c", "others.c", "-o", "others.o"], cwd=self.folder, check=True)
        subprocess.run(["bpftool", "prog", "loadall", self.folder / "others.o", self.pins, "type", "classifier"], check=True)
        try:
            with self.namespace.entered():
                for pin in sorted(self.pins.iterdir()):
                    self._attach(pin)
        finally:
            shutil.rmtree(self.pins)
        return self

    def _attach(self, pin):
        path = ctypes.create_string_buffer(str(pin).encode())
        program = bpf(BPF_OBJ_GET, struct.pack("=QII", ctypes.addressof(path), 0, 0))
        try:
            for device in self.devices:
                attributes = struct.pack("=IIII", program, socket.if_nametoindex(device), BPF_TCX_INGRESS, 0)
                with contextlib.suppress(OSError):  # it is full
                    self.links.append(bpf(BPF_LINK_CREATE, attributes))
        finally:
            os.close(program)

    def __exit__(self, *_):
        for link in self.links:
            os.close(link)

