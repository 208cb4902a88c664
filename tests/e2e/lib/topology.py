# SPDX-License-Identifier: BSD-3-Clause
"""A router in the middle of hosts, each in a namespace of its own and joined to it by a veth pair.

The hosts are real Linux stacks that answer ARP and ND for their own address, and wires on which tests put and read
raw frames. Addresses that a test sends to usually lie behind a host, not on it, so that no stack answers.
"""

import itertools

from scapy.layers.l2 import Ether

from lib.namespaces import Namespace
from lib.pktpit_router import DATAPLANE
from lib.wire import NothingReceived, Wire

_numbers = itertools.count()


class Host:
    """One host: device eth0 towards router port `port`. number N gives 10.N.0.2/24 and 2001:db8:N::2/64, and the
    router has the .1 and ::1 there; 198.18.N.0/24 and 2001:db8:N:100::/56 lie behind the host."""

    def __init__(self, topology, label, number, mtu=1500, queues=1, router_gro=False):
        self.label, self.number, self.mtu, self.queues = label, number, mtu, queues
        self.port = f"p{number}"
        # The router's end of the veth pair. A DPDK or modelled port has a tap of its own, with the port's name.
        self.wire_port = self.port if DATAPLANE == "xdp" else f"w{number}"
        self.router_gro = router_gro
        self.ip4, self.router_ip4 = f"10.{number}.0.2", f"10.{number}.0.1"
        self.ip6, self.router_ip6 = f"2001:db8:{number}::2", f"2001:db8:{number}::1"
        self.behind4 = f"198.18.{number}.7"
        self.behind6 = f"2001:db8:{number}:100::7"
        self.mac = f"02:00:00:00:{number:02x}:02"
        self.router_mac = f"02:00:00:00:{number:02x}:01"
        self.topology = topology
        self.namespace = Namespace(f"{topology.number}{label}")
        self.connect()
        self.namespace.ip("route", "add", "default", "via", self.router_ip4)
        self.namespace.ip("-6", "route", "add", "default", "via", self.router_ip6)
        self.wire = Wire(self.namespace, "eth0")

    def connect(self):
        """The veth pair, with real checksums on the wire and GRO on, without which a redirected frame is lost. The
        router's end is set up under another name and appears in its namespace last: a running daemon takes it at once,
        and a veth is a redirect target only if its peer has had GRO on before it goes up."""
        router, here = self.topology.router_namespace, self.namespace
        count = ["numtxqueues", self.queues, "numrxqueues", self.queues] if self.queues > 1 else []
        here.ip("link", "add", "eth0", "address", self.mac, "mtu", self.mtu, *count, "type", "veth",
                "peer", "name", self.wire_port, "address", self.router_mac, "mtu", self.mtu, *count)
        here.sysctl({
            "net/ipv6/conf/eth0/accept_dad": 0,
            "net/ipv6/conf/eth0/router_solicitations": 0,
        })
        here.run("ethtool", "-K", "eth0", "gro", "on", "tx", "off", "tso", "off", "gso", "off")
        here.run("ethtool", "-K", self.wire_port, "tx", "off", "tso", "off", "gso", "off")
        here.batch([
            "link set eth0 up",
            f"address add {self.ip4}/24 dev eth0",
            f"address add {self.ip6}/64 dev eth0 nodad",
            f"link set {self.wire_port} netns {router.name}",
        ])
        router.sysctl({
            f"net/ipv6/conf/{self.wire_port}/accept_dad": 0,
        })
        self.hurry_neighbours(self.wire_port)
        router.ip("link", "set", self.wire_port, "up")

    def hurry_neighbours(self, device):
        """A neighbour that does not answer is given up after 0.3 s instead of 3."""
        self.topology.router_namespace.sysctl({
            f"net/ipv4/neigh/{device}/retrans_time_ms": 100,
            f"net/ipv6/neigh/{device}/retrans_time_ms": 100,
        })

    def dpdk_device(self):
        """The veth as a device of DPDK's. Its ring's frames are as long as the longest packet's, and enough for what
        comes while a busy machine has no time for the worker."""
        frame = max(2, -(-(self.mtu + 86) // 1024)) * 1024
        return f"net_af_packet,iface={self.wire_port},blocksz={frame * 4},framesz={frame},framecnt={(8 << 20) // frame // 4 * 4}"

    def reconnect(self):
        """After the router's port was deleted: the same port again, as if plugged back in."""
        self.wire.close()
        self.connect()
        self.namespace.ip("route", "replace", "default", "via", self.router_ip4)
        self.namespace.ip("-6", "route", "replace", "default", "via", self.router_ip6)
        self.wire = Wire(self.namespace, "eth0")

    def frame(self, packet, src=None, dst=None):
        """Bytes of an Ethernet frame from this host to the router around an IP packet (scapy or bytes)."""
        import scapy.packet

        packet = packet if isinstance(packet, scapy.packet.Packet) else scapy.packet.Raw(bytes(packet))
        ether = Ether(src=src or self.mac, dst=dst or self.router_mac)
        if isinstance(packet, scapy.packet.Raw):
            ether.type = 0x86DD if bytes(packet)[:1] and bytes(packet)[0] >> 4 == 6 else 0x0800
        return bytes(ether / packet)

    def send(self, *packets, **addresses):
        self.wire.send(*(self.frame(packet, **addresses) for packet in packets))

    def receive(self, token, deadline=60.0):
        """The frame that carries the token, dissected from its bytes."""
        return Ether(self.wire.receive(lambda frame: token in frame, deadline, f"the frame with {token.hex()}"))

    def answer_to(self, send, token, deadline=1.0):
        """The frame with the token that `send()` brings here; None: it does not come. Where a stream runs, its frames that nobody
        has taken lie before it on the host's own wire: a busy machine does not get through them in time. So here is another."""
        wire = Wire(self.namespace, "eth0")
        try:
            send()
            return Ether(wire.receive(lambda frame: token in frame, deadline))
        except NothingReceived:
            return None
        finally:
            wire.close()


class Topology:
    def __init__(self, mtus=None, count=3, **host_options):
        mtus = mtus or {}
        self.number = next(_numbers)
        self.router_namespace = Namespace(f"{self.number}r")
        self.hosts = []
        self.router_namespace.sysctl({
            "net/ipv6/conf/default/accept_dad": 0,
            "net/ipv6/conf/all/accept_dad": 0,
        })
        for number in range(1, count + 1):
            label = "abcdefgh"[number - 1]
            host = Host(self, label, number, mtus.get(label, 1500), **host_options)
            self.hosts.append(host)
            setattr(self, label, host)

    def config(self, **more):
        """Pktpit's configuration of this topology: an address of each family on each port, a route to what lies
        behind each host, ICMP limits out of the tests' way."""
        config = {
            "interfaces": {
                host.port: {"addresses": [f"{host.router_ip4}/24", f"{host.router_ip6}/64"]} for host in self.hosts
            },
            "routes": [
                route
                for host in self.hosts
                for route in (
                    {"prefix": f"198.18.{host.number}.0/24", "next_hops": [{"via": host.ip4}]},
                    {"prefix": f"2001:db8:{host.number}:100::/56", "next_hops": [{"via": host.ip6}]},
                )
            ],
            "icmp": {"rate": 100000, "rate_per_prefix": 100000, "burst_per_prefix": 10000},
        }
        for key, value in more.items():
            if isinstance(value, list):
                config[key] = config.get(key, []) + value
            elif isinstance(value, dict):
                config[key] = {**config.get(key, {}), **value}
            else:
                config[key] = value
        return config

    def settle(self, router):
        """Waits until traffic of both families crosses between all pairs of neighbours, so that tests of the fast
        path start with every neighbour known."""
        from lib import packets

        for first, second in itertools.permutations(self.hosts, 2):
            for make in (packets.udp4, packets.udp6):
                packets.wait_for_crossing(first, second, make)
        for host in self.hosts:
            host.wire.drain()

    def delete(self):
        for host in self.hosts:
            host.wire.close()
            host.namespace.delete()
        self.router_namespace.delete()
