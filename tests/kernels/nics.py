# SPDX-License-Identifier: BSD-3-Clause
"""NICs that QEMU emulates, two of each kind in one guest, each with a host at it. No emulated NIC is the hardware; the driver is real."""

from dataclasses import dataclass

from taps import TapHost

PER_KIND = 2


@dataclass(frozen=True)
class Kind:
    """`device`: QEMU's name of it; `label`: what its interfaces' names begin with."""
    name: str
    label: str
    driver: str
    device: str
    native: tuple = ()  # the first kernel whose driver runs XDP programs itself; none: it never does
    queues: int = 1
    jumbo: bool = True  # frames of more than a page reach the driver: QEMU's vmxnet3 has none for Linux's own forwarding either
    express: bool = False  # below a root port of its own, which an igb's virtual functions need

    def options(self, nic, place):
        words = f"{self.device},netdev={nic.name},id={nic.name},mac={nic.mac}"
        if self.queues > 1:
            words += f",mq=on,vectors={2 * self.queues + 2}"
        if self.express:
            return ["-device", f"pcie-root-port,id=above-{nic.name},chassis={place}", "-device", f"{words},bus=above-{nic.name}"]
        return ["-device", words]


KINDS = (Kind("virtio-net", "vio", "virtio_net", "virtio-net-pci", native=(4, 10)),
         Kind("virtio-net, 4 queues", "vmq", "virtio_net", "virtio-net-pci", native=(4, 10), queues=4),
         Kind("igb", "igb", "igb", "igb", native=(5, 10), express=True),
         Kind("e1000e", "ee", "e1000e", "e1000e", express=True),
         Kind("e1000", "em", "e1000", "e1000"),
         Kind("vmxnet3", "vmx", "vmxnet3", "vmxnet3", native=(6, 6), jumbo=False))

BY_LABEL = {kind.label: kind for kind in KINDS}


class Nic:
    """One of the guest's: its interface, and the host at it."""

    def __init__(self, kind, number, place):
        self.kind, self.name, self.place, self.mac = kind, f"{kind.label}{number}", place, f"52:54:00:00:00:{place:02x}"
        self.router = f"100.64.{place}.1", f"2001:db8:{place}::1"
        self.host = TapHost(self.name, kind.queues, (f"100.64.{place}.2", f"2001:db8:{place}::2"), self.router)

    def options(self):
        """QEMU's, with the tap's descriptors."""
        descriptors = ":".join(map(str, self.host.descriptors))
        return ["-netdev", f"tap,id={self.name},{'fds' if self.kind.queues > 1 else 'fd'}={descriptors}",
                *self.kind.options(self, self.place)]

    def expected_mode(self, version):
        """Of `uname -r`."""
        kernel = tuple(map(int, version.split(".")[:2]))
        return "native" if self.kind.native and kernel >= self.kind.native else "generic"

    def interface(self, forwarding, **more):
        """The router's, for its configuration."""
        four, six = self.router
        return {"forwarding": forwarding, "addresses": [f"{four}/24", f"{six}/64"], **more}


class Nics:
    def __init__(self):
        self.nics = []
        for kind in KINDS:
            for number in range(PER_KIND):
                self.nics.append(Nic(kind, number, len(self.nics) + 1))

    def of(self, kind):
        return [nic for nic in self.nics if nic.kind == kind]

    def options(self):
        return [word for nic in self.nics for word in nic.options()]

    def descriptors(self):
        return [descriptor for nic in self.nics for descriptor in nic.host.descriptors]

    def hand_over(self):
        for nic in self.nics:
            nic.host.hand_over()

    def delete(self):
        for nic in self.nics:
            nic.host.delete()


def take_names(guest, nics):
    """The guest's interfaces get our names, by their MAC addresses, as udev does on a machine. Those that are down."""
    for nic in nics:
        guest.wait_for(f"old=$(basename $(dirname $(grep -l {nic.mac} /sys/class/net/*/address))) && "
                       f"{{ [ $old = {nic.name} ] || ip link set $old name {nic.name}; }}", f"{nic.name} has come")
