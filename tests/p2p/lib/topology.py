# SPDX-License-Identifier: BSD-3-Clause
"""What is plugged in where: four NICs, an NVMe drive with a controller memory buffer and an ivshmem device, behind one PCIe
switch if nothing else is said, an IOMMU before it. The firmware numbers buses depth first, hence the addresses."""

from dataclasses import dataclass

PORTS = 4
BAR_MIB = 32
RAM_MIB = 768

NIC_ADDRESSES = [f"0000:{3 + port:02x}:00.0" for port in range(PORTS)]
IVSHMEM, IVSHMEM_BAR = f"0000:{3 + PORTS:02x}:00.0", 2
NVME, CMB_BAR = f"0000:{4 + PORTS:02x}:00.0", 2  # where `legacy-cmb` puts the buffer


@dataclass(frozen=True)
class Layout:
    """`bridges`: QEMU's -device for root ports and switches; `buses`: of NICs, ivshmem and NVMe, in this order."""
    bridges: tuple
    buses: tuple
    nics: tuple
    ivshmem: str
    nvme: str


def _root_port(name, slot):
    return f"pcie-root-port,id={name},chassis={slot},slot={slot}"


def _switch(name, root, slots, first):
    """Its upstream port, and downstream ports with chassis numbers from `first` on."""
    return (f"x3130-upstream,id={name},bus={root}",
            *(f"xio3130-downstream,id={slot},bus={name},chassis={first + number},slot={first + number}"
              for number, slot in enumerate(slots)))


_SLOTS = tuple(f"slot{slot}" for slot in range(PORTS + 2))
ONE_SWITCH = Layout((_root_port("root", 1), *_switch("switch", "root", _SLOTS, 10)), _SLOTS, tuple(NIC_ADDRESSES), IVSHMEM, NVME)
# Two NICs and the memories behind one switch, the third NIC behind another at a root port of its own, the fourth at a root port.
SPREAD = Layout(
    (_root_port("root", 1), *_switch("switch", "root", ("slot0", "slot1", "slot4", "slot5"), 10),
     _root_port("other_root", 2), *_switch("other_switch", "other_root", ("slot2",), 20), _root_port("slot3", 3)),
    _SLOTS, ("0000:03:00.0", "0000:04:00.0", "0000:09:00.0", "0000:0a:00.0"), "0000:05:00.0", "0000:06:00.0")


def mac(port):
    """The router's own address at a port."""
    return bytes([0x02, 0x50, 0x4B, 0, 0, port])


def text_mac(address):
    return ":".join(f"{byte:02x}" for byte in address)


def qemu_options(directory, kernel, initramfs, nic="e1000e", layout=ONE_SWITCH):
    """All of QEMU's command line but the program. Files and sockets lie in `directory`."""
    options = [
        "-M", "q35,memory-backend=ram", "-cpu", "max", "-smp", "2", "-m", str(RAM_MIB),
        "-object", f"memory-backend-file,id=ram,mem-path={directory}/ram,size={RAM_MIB}M,share=on",
        "-display", "none", "-nodefaults", "-no-reboot", "-no-user-config", "-name", "pktpit-p2p",
        "-chardev", f"file,id=console,path={directory}/console", "-serial", "chardev:console",
        "-chardev", f"socket,id=commands,path={directory}/commands,server=on,wait=off", "-serial", "chardev:commands",
        "-chardev", f"socket,id=qmp,path={directory}/qmp,server=on,wait=off", "-mon", "chardev=qmp,mode=control",
        "-kernel", str(kernel), "-initrd", str(initramfs),
        # no_timer_check: without it some boots die when the host is busy. iomem=relaxed: a test plays a NIC that goes wrong.
        "-append", "console=ttyS0 panic=-1 quiet no_timer_check intel_iommu=on hugepages=48 iomem=relaxed",
        # aw-bits=48: IOVAs are bus addresses, which may lie above 39 bits.
        "-device", "intel-iommu,intremap=on,caching-mode=on,aw-bits=48",
    ]
    for bridge in layout.bridges:
        options += ["-device", bridge]
    for port in range(PORTS):
        options += [
            "-netdev", f"dgram,id=net{port},local.type=unix,local.path={directory}/nic{port},"
                       f"remote.type=unix,remote.path={directory}/wire{port}",
            "-device", f"{nic},netdev=net{port},mac={text_mac(mac(port))},bus={layout.buses[port]},romfile="]
    return options + [
        "-object", f"memory-backend-file,id=bar,mem-path={directory}/bar,size={BAR_MIB}M,share=on",
        "-device", f"ivshmem-plain,memdev=bar,bus={layout.buses[PORTS]}",
        "-drive", f"file={directory}/disk,if=none,id=disk,format=raw",
        "-device", f"nvme,serial=pktpit,drive=disk,cmb_size_mb={BAR_MIB},legacy-cmb=on,bus={layout.buses[PORTS + 1]}"]
