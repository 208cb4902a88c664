# SPDX-License-Identifier: BSD-3-Clause
"""What is plugged in where: four NICs, an NVMe drive with a controller memory buffer and an ivshmem device behind one
PCIe switch, an IOMMU before it. The firmware numbers buses depth first, hence the addresses."""

PORTS = 4
BAR_MIB = 32
RAM_MIB = 768

NIC_ADDRESSES = [f"0000:{3 + port:02x}:00.0" for port in range(PORTS)]
IVSHMEM, IVSHMEM_BAR = f"0000:{3 + PORTS:02x}:00.0", 2
NVME, CMB_BAR = f"0000:{4 + PORTS:02x}:00.0", 2  # where `legacy-cmb` puts the buffer


def mac(port):
    """The router's own address at a port."""
    return bytes([0x02, 0x50, 0x4B, 0, 0, port])


def text_mac(address):
    return ":".join(f"{byte:02x}" for byte in address)


def qemu_options(directory, kernel, initramfs, nic="e1000e"):
    """All of QEMU's command line but the program. Files and sockets lie in `directory`."""
    options = [
        "-accel", "tcg,thread=multi", "-M", "q35,memory-backend=ram", "-cpu", "max", "-smp", "2", "-m", str(RAM_MIB),
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
        "-device", "pcie-root-port,id=root,chassis=1,slot=1", "-device", "x3130-upstream,id=switch,bus=root",
    ]
    for slot in range(PORTS + 2):
        options += ["-device", f"xio3130-downstream,id=slot{slot},bus=switch,chassis={10 + slot},slot={10 + slot}"]
    for port in range(PORTS):
        options += [
            "-netdev", f"dgram,id=net{port},local.type=unix,local.path={directory}/nic{port},"
                       f"remote.type=unix,remote.path={directory}/wire{port}",
            "-device", f"{nic},netdev=net{port},mac={text_mac(mac(port))},bus=slot{port},romfile="]
    return options + [
        "-object", f"memory-backend-file,id=bar,mem-path={directory}/bar,size={BAR_MIB}M,share=on",
        "-device", f"ivshmem-plain,memdev=bar,bus=slot{PORTS}",
        "-drive", f"file={directory}/disk,if=none,id=disk,format=raw",
        "-device", f"nvme,serial=pktpit,drive=disk,cmb_size_mb={BAR_MIB},legacy-cmb=on,bus=slot{PORTS + 1}"]
