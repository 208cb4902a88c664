# SPDX-License-Identifier: BSD-3-Clause
"""What machines are made from: made once, shared by all of a session's machines."""

import shutil
import time
from pathlib import Path

from lib import ask, configuration, kernel_router, touch_payloads
from guests.emulator import find_qemu
from guests.initramfs import Initramfs
from lib.kernel import TUN, VFIO, find_kernel
from lib.machine import Machine
from lib.pktpit_router import PktpitRouter
from lib.routes import BUILD, Table
from lib.world import World

FEW = 1_000
INIT = Path(__file__).with_name("init.sh")


class Bench:
    """`full`: the world of the proof, with a large table; `few`: a small one, for tests that start a router anew and
    ask nothing of its table."""

    def __init__(self, seed, router, progress):
        self.progress = progress
        self.kernel = find_kernel(progress)
        table = Table.drawn(seed)
        self.full, self.few = World("full", table), World("few", table.beginning(FEW))
        self.initramfs = Initramfs(INIT)
        if router == "kernel":
            self._add_linux()
        else:
            self._add_pktpit()

    def _add_linux(self):
        self.nic, self.router = kernel_router.NIC, kernel_router.KernelRouter
        self.initramfs.modules(self.kernel, kernel_router.MODULES)
        self.initramfs.program(shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin"), "iproute")
        for number, batch in enumerate(kernel_router.KernelRouter.batches(self.full.table)):
            self.initramfs.file(f"etc/kernel/{number:03}", batch)

    def _add_pktpit(self):
        self.nic, self.router = "e1000e", PktpitRouter
        self.initramfs.modules(self.kernel, VFIO + TUN)
        for name in ("pktpitd", "pktpit"):
            self.initramfs.program(BUILD / "router" / name)
        self.initramfs.file("bin/ask", ask.built(), 0o755)
        self.initramfs.file("lib/touch_payloads.so", touch_payloads.built())
        for world in (self.full, self.few):
            for memory in configuration.MEMORIES:
                self.initramfs.file(f"etc/pktpit/{memory}-{world.name}.json", configuration.text(memory, world.name))
            for family in (4, 6):
                self.initramfs.file(f"etc/pktpit/{world.name}{family}.txt", world.table.text(family))

    def boot(self, nic=None, **options):
        """A machine with these NICs; NotAvailable if no emulator at hand has them. `options`: Machine's."""
        nic = nic or self.nic
        return Machine(self.kernel, self.initramfs, nic, find_qemu(nic, self.progress), **options)


class Routers:
    """The daemons of a session, of which one runs at a time: tests that want the same one share it."""

    def __init__(self, bench, progress):
        self.bench, self.progress = bench, progress
        self.current = None

    def want(self, machine, memory, world, environment=""):
        """A router on this machine with its payloads in this memory and this world's routes."""
        router = self.bench.router(machine, memory, world, environment)
        if self.current and self.current.what == router.what and self.current.running():
            return self.current
        self.stop()
        self.current = router
        began = time.monotonic()
        router.start()
        self.progress(f"a router with its payloads in {memory} is up after {time.monotonic() - began:.1f} s")
        return router

    def stop(self):
        router, self.current = self.current, None
        if router:
            router.stop()
