#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Records the PCI trees in this folder again: boots each machine in QEMU (TCG, no KVM, no root) with Debian's cloud
kernel and lets `pktpit doctor --record` write down what it sees there.

    tests/topologies/record.py [--pktpit build/release/router/pktpit] [NAME ...]

Everything in them is emulated: ids, links and capabilities are QEMU's, ACS and IOMMU groups are what Linux makes of them.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests" / "p2p"), str(ROOT / "tests")]

from guests.guest import Guest  # noqa: E402
from guests.initramfs import Initramfs  # noqa: E402
from lib.bench import INIT  # noqa: E402
from lib.kernel import VFIO, find_kernel  # noqa: E402

IOMMU = ["-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48"]


class Parts:
    """QEMU options, put together a device at a time."""

    def __init__(self, iommu):
        self.options, self.count = list(IOMMU) if iommu else [], 0

    def add(self, driver, bus=None, name=None, **properties):
        self.count += 1
        name = name or f"part{self.count}"
        words = [driver, f"id={name}"] + ([f"bus={bus}"] if bus else [])
        words += [f"{key}={value}" for key, value in properties.items()]
        self.options += ["-device", ",".join(words)]
        return name

    def root_port(self, bus="pcie.0", **properties):
        return self.add("pcie-root-port", bus, chassis=self.count + 1, slot=self.count + 1, **properties)

    def switch(self, bus, ports, **properties):
        upstream = self.add("x3130-upstream", bus, **properties)
        return [self.add("xio3130-downstream", upstream, chassis=self.count + 1, slot=self.count + 1) for _ in range(ports)]

    def nic(self, bus, model="e1000e"):
        name = f"net{self.count + 1}"
        self.options += ["-netdev", f"hubport,id={name},hubid=0"]
        return self.add(model, bus, netdev=name, romfile="")

    def ivshmem(self, bus):
        backend = f"memory{self.count + 1}"
        self.options += ["-object", f"memory-backend-ram,id={backend},size=64M"]
        return self.add("ivshmem-plain", bus, memdev=backend)

    def nvme(self, bus):
        drive = f"drive{self.count + 1}"
        self.options += ["-blockdev", f"driver=null-co,node-name={drive},size=1048576"]
        self.options += ["-device", f"nvme,serial=cmb,drive={drive},cmb_size_mb=64,legacy-cmb=on,bus={bus}"]


def one_switch(parts):
    slots = parts.switch(parts.root_port(), 6)
    for slot in slots[:4]:
        parts.nic(slot)
    parts.ivshmem(slots[4])
    parts.nvme(slots[5])


def root_ports(parts):
    for _ in range(2):
        parts.nic(parts.root_port())
    parts.ivshmem(parts.root_port())


def nested_switches(parts):
    outer = parts.switch(parts.root_port(), 2)
    left, right = parts.switch(outer[0], 2), parts.switch(outer[1], 2)
    parts.nic(left[0])
    parts.nic(right[0])
    parts.ivshmem(right[1])


def two_switches(parts):
    root = parts.root_port()
    left = parts.switch(root, 2, multifunction="on", addr="0.0")
    right = parts.switch(root, 2, addr="0.1")
    parts.nic(left[0])
    parts.nic(right[0])
    parts.ivshmem(right[1])


def two_host_bridges(parts):
    other = parts.add("pxb-pcie", "pcie.0", name="pxb", bus_nr=128)
    parts.nic(parts.root_port(other))
    parts.nic(parts.root_port())
    parts.ivshmem(parts.root_port(other))


def conventional_bridge(parts):
    bridge = parts.add("pcie-pci-bridge", parts.root_port())
    parts.nic(bridge, "e1000")
    parts.ivshmem(bridge)
    parts.nic(parts.root_port())


BIND = """for d in /sys/bus/pci/devices/*; do
[ $(cat $d/class) = 0x020000 ] && echo vfio-pci >$d/driver_override && echo ${d##*/} >/sys/bus/pci/drivers_probe; done; true"""

# name: (what, devices, with an IOMMU, what is done before)
MACHINES = {
    "switch-iommu": ("four NICs, ivshmem and an NVMe with CMB behind one switch, IOMMU on", one_switch, True, "true"),
    "switch-vfio": ("the same, NICs bound to vfio-pci", one_switch, True, BIND.replace("\n", " ")),
    "root-ports-acs": ("two NICs and ivshmem at root ports of their own, where Linux switched ACS redirect on for the IOMMU",
                       root_ports, True, "true"),
    "root-ports-no-iommu": ("the same without an IOMMU", root_ports, False, "true"),
    "nested-switches": ("two switches below a switch, a NIC in each and ivshmem in one, IOMMU on", nested_switches, True, "true"),
    "two-switches": ("two switches as functions of one device below one root port, a NIC in each and ivshmem in one, IOMMU on",
                     two_switches, True, "true"),
    "two-host-bridges": ("a NIC and ivshmem below a second host bridge (pxb-pcie), a NIC below the first, IOMMU on",
                         two_host_bridges, True, "true"),
    "conventional-bridge": ("a conventional NIC and ivshmem behind a PCIe-to-PCI bridge, a PCIe NIC beside it, IOMMU on",
                            conventional_bridge, True, "true"),
}


def record(name, kernel, pktpit):
    what, devices, iommu, before = MACHINES[name]
    parts = Parts(iommu)
    devices(parts)
    initramfs = Initramfs(INIT)
    initramfs.program(pktpit)
    initramfs.modules(kernel, VFIO)
    with tempfile.TemporaryDirectory(prefix="pktpit-topology-") as directory:
        initramfs.write(Path(directory) / "initramfs")
        command = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-M", "q35", "-cpu", "max", "-smp", "2", "-m", "512",
                   "-display", "none", "-nodefaults", "-no-reboot", "-no-user-config", "-kernel", str(kernel.image),
                   "-initrd", f"{directory}/initramfs",
                   "-append", "console=ttyS0 panic=-1 quiet no_timer_check" + (" intel_iommu=on" if iommu else ""),
                   "-chardev", f"file,id=console,path={directory}/console", "-serial", "chardev:console",
                   "-chardev", f"socket,id=commands,path={directory}/commands,server=on,wait=off",
                   "-serial", "chardev:commands", *parts.options]
        machine = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        try:
            while not Path(directory, "commands").exists() and machine.poll() is None:
                time.sleep(0.05)
            guest = Guest(f"{directory}/commands")

            def alive():
                if machine.poll() is not None:
                    raise RuntimeError(f"QEMU ended with {machine.returncode}")

            guest.wait_ready(alive)
            guest.run(before)
            guest.run("pktpit doctor --record /tmp/tree >/dev/null", check=False, deadline=60)
            tree = json.loads(guest.output("cat /tmp/tree", deadline=60))
            guest.close()
        finally:
            machine.kill()
            machine.wait()
    version = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
    tree["about"] = (f"emulated machine: {what}. Recorded by tests/topologies/record.py in "
                     f"{version.split('(')[0].strip()}, {tree['about']}")
    (HERE / f"{name}.json").write_text(json.dumps(tree, indent=1) + "\n")
    print(f"{name}: {len(tree['functions'])} functions")


def main():
    arguments = argparse.ArgumentParser(description="Records the PCI trees of emulated machines.")
    arguments.add_argument("--pktpit", default=ROOT / "build/release/router/pktpit", type=Path)
    arguments.add_argument("names", nargs="*", metavar="NAME", default=list(MACHINES))
    options = arguments.parse_args()
    kernel = find_kernel()
    for name in options.names:
        record(name, kernel, options.pktpit.resolve())


if __name__ == "__main__":
    main()
