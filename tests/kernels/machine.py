# SPDX-License-Identifier: BSD-3-Clause
"""A guest that has the root of this machine, read-only below what it writes, and one of Debian's kernels. What it writes to
/run/out is the folder `out` here, also after its kernel has died."""

import os
from pathlib import Path

from guests import machine as machines
from guests.initramfs import Initramfs

INIT = Path(__file__).with_name("init.sh")
FIRST = ("virtio_pci", "9pnet_virtio", "9p", "overlay")  # modules that its root needs
MEMORY_MIB = 4000
ROOM = 100 << 20
# -cx16: the emulated CMPXCHG16B of QEMU 7.2 is broken with several processors.
PROCESSOR = "max,-cx16"
# oops: a kernel that has gone wrong ends the guest, and with it the test. Stalls are the machine's, which is busy.
KERNEL_OPTIONS = "console=ttyS0 quiet panic=-1 oops=panic no_timer_check nowatchdog rcupdate.rcu_cpu_stall_suppress=1"


class Machine(machines.Machine):
    def __init__(self, kernel, qemu, more=(), descriptors=()):
        """`qemu`: the emulator's command; `more`: further options of it, and the open files that these name."""
        super().__init__(ROOM)
        self.kernel = kernel
        self.out = self.directory / "out"
        try:
            self.out.mkdir()
            initramfs = Initramfs(INIT)
            initramfs.modules(kernel, kernel.with_dependencies(FIRST))
            initramfs.write(self.directory / "initramfs")
            # Else it tries to load modules of the QEMU that is installed, which is another version.
            self.start([*qemu, *self._options(), *more],
                       {**os.environ, "QEMU_MODULE_DIR": str(Path(qemu[0]).parent)}, descriptors)
            self.guest.run(f"date -s @{int(os.stat(self.directory / 'commands').st_mtime)} >/dev/null")
        except BaseException:
            self.close()
            raise

    def _options(self):
        shares = {"host": ("/", "readonly=on,multidevs=remap"), "kernel": (self.kernel.directory, "readonly=on"), "out": (self.out, "")}
        options = [*machines.accelerator(), "-M", "q35", "-cpu", PROCESSOR, "-smp", "2", "-m", str(MEMORY_MIB),
                   "-display", "none", "-nodefaults", "-no-reboot", "-no-user-config", "-name", "pktpit-kernels",
                   "-chardev", f"file,id=console,path={self.directory}/console", "-serial", "chardev:console",
                   "-chardev", f"socket,id=commands,path={self.directory}/commands,server=on,wait=off", "-serial", "chardev:commands",
                   "-chardev", f"socket,id=qmp,path={self.directory}/qmp,server=on,wait=off", "-mon", "chardev=qmp,mode=control",
                   "-kernel", str(self.kernel.image), "-initrd", str(self.directory / "initramfs"), "-append", KERNEL_OPTIONS]
        for name, (path, how) in shares.items():
            options += ["-fsdev", f"local,id={name},path={path},security_model=none" + (f",{how}" if how else ""),
                        "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]
        return options
