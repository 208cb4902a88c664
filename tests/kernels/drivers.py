# SPDX-License-Identifier: BSD-3-Clause
"""The daemon in a guest whose ports are NICs of all kinds, all forwarding in one way."""

import json

from guests.waiting import wait_for
from lib.tcp import assert_transfer
from machine import Machine
from nics import BY_LABEL, Nics, take_names
from packaged import Packaged
from stream import stream

WAYS = ("inline", "split", "auto")
SMALLEST, LARGEST, JUMBO = 1280, 1500, 9000  # MTUs
UDP_OVER = {4: 28, 6: 48}  # bytes of IP's and UDP's headers
DATAGRAMS = 32
BLOCKS = 16  # of 64 KiB
ROOM = 64 << 10  # of TCP: enough that both ends aggregate, and less than queues hold, since the guest is slower than its hosts by far


class DriversMachine(Machine):
    """A guest with two NICs of each kind."""

    def __init__(self, kernel, qemu):
        self.nics, self.router = Nics(), None
        try:
            super().__init__(kernel, qemu, self.nics.options(), self.nics.descriptors())
            self.nics.hand_over()
            self.guest.run("/run/guest/modprobe -a " + " ".join(sorted({nic.kind.driver for nic in self.nics.nics})))
            take_names(self.guest, self.nics.nics)
            for nic in self.nics.nics:
                self.guest.run(f"ip link set {nic.name} up")
        except BaseException:
            self.close()
            raise

    def router_of(self, way):
        """The daemon, all of whose ports forward in this way. It is started again for another one."""
        if self.router and self.router.way != way:
            router, self.router = self.router, None
            router.stop()
        if not self.router:
            self.router = Router(self, way)
        return self.router

    def close(self):
        super().close()
        self.nics.delete()


class Router:
    """`way`: of all its ports."""

    def __init__(self, machine, way):
        self.machine, self.guest, self.way, self.mtu = machine, machine.guest, way, LARGEST
        self.said = ""  # of the test that runs
        self.daemon = Packaged(machine)
        self.daemon.start(self._interfaces())
        self._tell_hosts()

    def passed(self, said="passed"):
        self.said = said

    @staticmethod
    def row(test, kinds):
        """The table's, of a test with a kind or with two."""
        return f"{test}: {' – '.join(dict.fromkeys(BY_LABEL[label].name for label in ([kinds] if isinstance(kinds, str) else kinds)))}"

    def _interfaces(self, without=(), other_way=None):
        return {nic.name: nic.interface((other_way or {}).get(nic.name, self.way), mtu=self.mtu)
                for nic in self.machine.nics.nics if nic not in without}

    def reload(self, without=(), other_way=None):
        """`other_way`: of some ports, by name."""
        self.daemon.configure(self._interfaces(without, other_way))
        self.guest.run("pktpit reload")

    def port(self, nic):
        ports = self.guest.json("pktpit --json show ports")["ports"]
        return next(port for port in ports if port["name"] == nic.name)

    def modes(self, nic):
        """How the port stage is attached, and whether its queues are without copies."""
        port = self.port(nic)
        queues = [queue for worker in self.guest.json("pktpit --json show workers")["workers"] for queue in worker["queues"]
                  if queue["port"] == nic.name]
        kept = f", {'zero-copy' if all(queue['zero_copy'] for queue in queues) else 'copied'}" if queues else ""
        return f"{port['mode']}{kept}"

    def set_mtu(self, mtu):
        """Of all ports, by a reload, and of the hosts."""
        self.mtu = mtu
        self.reload()
        self._tell_hosts()

    def _tell_hosts(self):
        """The MTU: what is longer a NIC may drop unseen."""
        for nic in self.machine.nics.nics:
            nic.host.mtu(self.mtu)

    def assert_crosses(self, first, second, tcp=True):
        """Datagrams of all sizes, and what a stream of TCP becomes with the drivers' own offloads, both ways."""
        for source, sink in ((first, second), (second, first)):
            for address in sink.host.own:
                over = UDP_OVER[6 if ":" in address else 4]
                sizes = [18, 47, 512, SMALLEST - over, self.mtu - over - 1, self.mtu - over]
                wrong = stream(source.host.namespace.name, sink.host.namespace.name, address, sizes, DATAGRAMS)
                assert not wrong, wrong
                if tcp:
                    assert_transfer(source.host.namespace, sink.host.namespace, address, BLOCKS, ROOM)

    def rebind(self, nic):
        """The driver is taken off the device, and probes it again. (In words for the table, what had to be done before.)"""
        hangs = nic.kind.driver == "virtio_net" and nic.kind.queues > 1  # router/xdp/driver_faults.cpp
        if hangs:
            self.reload(without=(nic,))
        device = self.guest.output(f"basename $(readlink -f /sys/class/net/{nic.name}/device)").strip()
        if nic.kind.driver == "virtio_net":  # a device of virtio's bus, which is in a PCI device
            bus = "virtio"
        else:
            bus = "pci"
        driver = f"/sys/bus/{bus}/drivers/{nic.kind.driver}"
        self.guest.run(f"echo {device} >{driver}/unbind")
        if not hangs:
            self.wait_for_up(nic, False)
        self.guest.run(f"echo {device} >{driver}/bind")
        take_names(self.guest, [nic])
        if hangs:
            self.reload()
        return ", the port taken out of the configuration before" if hangs else ""

    def answers(self, source, sink):
        """Whether one packet of two crosses."""
        return source.host.namespace.run("ping", "-c", "1", "-W", "5", sink.host.own[0], check=False).returncode == 0

    def set_link(self, nic, up):
        self.machine.qmp.ask("set_link", name=nic.name, up=up)
        self.wait_for_up(nic, up)

    def wait_for_up(self, nic, up):
        wait_for(lambda: self.port(nic)["up"] == up, f"{nic.name} is {'up' if up else 'down'}", 0.2)

    def stop(self):
        self.daemon.stop()


def words_of(router):
    """For a failed test."""
    status, said = router.guest.run("pktpit show ports; pktpit show counters | head -n 60", check=False)
    return f"{said}\n{router.daemon.log()}"
