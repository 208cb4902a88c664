# SPDX-License-Identifier: BSD-3-Clause
"""The emulated machine: QEMU without KVM and without root, its files and sockets in one directory, which goes with it.

RAM and the ivshmem BAR are files and are scanned in place. The NVMe's controller memory buffer is memory of QEMU's own
that no option turns into a file; QMP's `pmemsave` writes what the bus sees at its BAR's address into one.
"""

import re

from guests import machine as machines
from lib import topology
from lib.wire import Wire


class Machine(machines.Machine):
    def __init__(self, kernel, initramfs, nic="e1000e", qemu=("qemu-system-x86_64",), more=lambda directory: [],
                 layout=topology.ONE_SWITCH, threads="single"):
        """`initramfs` is written (Initramfs.write) into the machine's directory. `more(directory)`: other options of QEMU's."""
        super().__init__((topology.RAM_MIB + 4 * topology.BAR_MIB) << 20)
        self.wires, self.bars = [], {}
        try:
            initramfs.write(self.directory / "initramfs")
            with open(self.directory / "disk", "wb") as disk:
                disk.truncate(1 << 20)
            self.wires = [Wire(f"p{port}", self.directory / f"wire{port}", self.directory / f"nic{port}")
                          for port in range(topology.PORTS)]
            options = topology.qemu_options(self.directory, kernel.image, self.directory / "initramfs", nic, layout)
            self.start([*qemu, *machines.accelerator(threads), *options, *more(self.directory)])
        except BaseException:
            self.close()
            raise

    def connected(self):
        for wire in self.wires:
            wire.connect()

    @property
    def ram(self):
        return self.directory / "ram"

    def peer_memory(self, name):
        """A file with what the memory device holds: "ivshmem" live, "cmb" as of now."""
        return self.directory / "bar" if name == "ivshmem" else self.save_bar(topology.NVME, topology.CMB_BAR)

    def bar(self, pci, number):
        """(bus address, size) of a device's BAR, as the guest's kernel has set it; remembered when the device is removed."""
        status, said = self.guest.run(f"cat /sys/bus/pci/devices/{pci}/resource", check=False)
        if status == 0:
            first, last, _ = (int(word, 16) for word in said.splitlines()[number].split())
            self.bars[pci, number] = first, last - first + 1
        return self.bars[pci, number]

    def save_bar(self, pci, number):
        """A file with what a reader on the bus finds in a BAR now."""
        address, size = self.bar(pci, number)
        file = self.directory / f"saved-{number}"
        self.qmp.ask("pmemsave", val=address, size=size, filename=str(file))
        return file

    def iommu_faults(self):
        """What the IOMMU reported since the last `forget_messages`."""
        return [line for line in self.guest.output("dmesg").splitlines() if re.search(r"DMAR:.*(fault|Request device)", line)]

    def forget_messages(self):
        self.guest.run("dmesg -c >/dev/null")

    def close(self):
        for wire in self.wires:
            wire.close()
        super().close()
