"""What machines are made from: made once, shared by all of a session's machines."""

import shutil
import time

from lib import configuration, kernel_router
from lib.emulator import find_qemu
from lib.initramfs import Initramfs
from lib.kernel import TUN, VFIO, find_kernel
from lib.machine import Machine
from lib.oracle import Oracle
from lib.pktpit_router import PktpitRouter
from lib.routes import BUILD, Table


class Bench:
    def __init__(self, seed, router, progress):
        self.progress = progress
        self.kernel = find_kernel(progress)
        self.table = Table(seed)
        self.oracle = Oracle(self.table)
        self.initramfs = Initramfs()
        if router == "kernel":
            self.nic, self.router = kernel_router.NIC, kernel_router.KernelRouter
            self.initramfs.modules(self.kernel, kernel_router.MODULES)
            self.initramfs.program(shutil.which("ip", path="/usr/sbin:/sbin:/usr/bin:/bin"), "iproute")
            for number, batch in enumerate(kernel_router.KernelRouter.batches(self.table)):
                self.initramfs.file(f"etc/kernel/{number:03}", batch)
        else:
            self.nic, self.router = "e1000e", PktpitRouter
            self.initramfs.modules(self.kernel, VFIO + TUN)
            for name in ("pktpitd", "pktpit"):
                self.initramfs.program(BUILD / "router" / name)
            for memory in configuration.MEMORIES:
                self.initramfs.file(f"etc/pktpit/{memory}.json", configuration.text(memory))
            for family in (4, 6):
                self.initramfs.file(f"etc/pktpit/table{family}.txt", self.table.text(family))

    def boot(self, nic=None):
        """A machine with these NICs; NotAvailable if no emulator at hand has them."""
        nic = nic or self.nic
        return Machine(self.kernel, self.initramfs, nic, find_qemu(nic, self.progress))


class Routers:
    """The daemons of a session, of which one runs at a time on a machine: tests that want the same one share it."""

    def __init__(self, bench, progress):
        self.bench, self.progress = bench, progress
        self.current = None

    def want(self, machine, memory, environment=""):
        router = self.current
        if router and (router.machine, router.memory, router.environment) == (machine, memory, environment) and router.running():
            return router
        self.stop()
        router = self.current = self.bench.router(machine, memory, environment)
        began = time.monotonic()
        router.start()
        self.progress(f"a router with its payloads in {memory} is up after {time.monotonic() - began:.1f} s")
        return router

    def stop(self):
        router, self.current = self.current, None
        if router:
            router.stop()
