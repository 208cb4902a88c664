# SPDX-License-Identifier: BSD-3-Clause
"""Linux forwarding as the guest's router, over virtio NICs: a second opinion on the machine and on the tests.

The cloud kernel has no driver for the e1000e, and what Linux forwards goes through RAM: only what is asked of any
router can be asked of it.
"""

from lib.configuration import stations
from lib.routes import host_address, prefix_text
from lib.topology import PORTS, mac, text_mac

NIC = "virtio-net-pci"
MODULES = ("virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci", "failover", "net_failover",
           "virtio_net")


class KernelRouter:
    name = "kernel"

    def __init__(self, machine, memory, world, environment=""):
        self.what = (machine, memory, world.name, environment)
        self.machine, self.guest = machine, machine.guest

    def running(self):
        return True

    def hardware_split(self):
        return 0

    def settle(self):
        pass

    def start(self):
        """Once a machine: Linux goes on forwarding."""
        if self.guest.run("ip link show p0", check=False)[0] == 0:
            return
        self.guest.run("""for d in /sys/class/net/eth*; do n=$(cat $d/address); ip link set ${d##*/} name p${n##*:0}; done""")
        self.guest.run("cd /proc/sys/net; echo 1 > ipv4/ip_forward; echo 1 > ipv6/conf/all/forwarding; echo 0 > ipv4/icmp_ratelimit; "
                       "echo 0 > ipv4/route/error_cost; echo 0 > ipv6/icmp/ratelimit; "
                       "for f in /proc/sys/net/ipv4/conf/*/rp_filter /proc/sys/net/ipv4/conf/*/send_redirects; do echo 0 > $f; done")
        self.guest.run("for file in /etc/kernel/*; do iproute -batch $file || exit; done")

    def stop(self):
        pass

    def describe(self):
        return self.guest.output("ip -s link; ip neigh; dmesg | tail -n 15")

    @staticmethod
    def batches(table):
        """Files of commands; iproute2 forgets to free memory with each, hence several."""
        lines = []
        for port in range(PORTS):
            lines += [f"link set p{port} up", f"address add {host_address(4, port, 1)}/24 dev p{port}",
                      f"address add {host_address(6, port, 1)}/64 dev p{port} nodad"]
        lines += [f"neigh replace {address} lladdr {text_mac(mac)} dev p{port} nud permanent" for address, mac, port in stations()]
        lines += [f"route add {prefix_text(family, *prefix)} via {hop.address(family)} dev p{hop.port}"
                  for family in (4, 6) for prefix, hop in table.routes[family].items()]
        return ["\n".join(lines[start:start + 5000]) + "\n" for start in range(0, len(lines), 5000)]
