# SPDX-License-Identifier: BSD-3-Clause
"""Linux forwarding as the router, driven by the same configuration: a second opinion on the tests themselves.

Where it differs from Pktpit, the tests say so with the marker kernel_differs.
"""

from lib.namespaces import run


class KernelRouter:
    name = "kernel"

    def __init__(self, topology, config, directory=None):
        self.topology, self.config = topology, config
        self.namespace = topology.router_namespace

    def start(self):
        self.namespace.sysctl({
            "net/ipv4/ip_forward": 1,
            "net/ipv6/conf/all/forwarding": 1,
            "net/ipv4/conf/all/rp_filter": 0,
            "net/ipv4/conf/default/rp_filter": 0,
            "net/ipv4/conf/all/send_redirects": 0,
            "net/ipv4/conf/default/send_redirects": 0,
            "net/ipv4/icmp_ratelimit": 0,
            "net/ipv4/icmp_msgs_per_sec": 1000000,
            "net/ipv4/icmp_msgs_burst": 1000000,
            "net/ipv6/icmp/ratelimit": 0,
            "net/ipv4/fib_multipath_hash_policy": 1,
            "net/ipv6/fib_multipath_hash_policy": 0,
        })
        for name, interface in self.config["interfaces"].items():
            if "parent" in interface:
                self.make_vlan_device(name, interface)
            with_dad_off = {f"net/ipv4/conf/{name}/rp_filter": 0, f"net/ipv4/conf/{name}/send_redirects": 0}
            self.namespace.sysctl(with_dad_off)
            if "mtu" in interface:
                self.namespace.ip("link", "set", name, "mtu", interface["mtu"])
            for address in interface.get("addresses", []):
                self.namespace.ip("address", "add", address, "dev", name)
        self.namespace.batch([route_line("add", route) for route in self.config.get("routes", []) if ":" not in route["prefix"]])
        self.namespace.batch([route_line("add", route) for route in self.config.get("routes", []) if ":" in route["prefix"]], ("-6",))
        for neighbour in self.config.get("neighbours", []):
            self.namespace.ip("neigh", "replace", neighbour["address"], "lladdr", neighbour["mac"],
                              "dev", neighbour["interface"], "nud", "permanent")

    def make_vlan_device(self, name, interface):
        below, protocols = interface["parent"], [interface.get("vlan_protocol", "802.1Q"), "802.1Q"]
        names = [f"outer.{name}"[:15], name][-len(interface["vlan"]):]
        for device, vid, protocol in zip(names, interface["vlan"], protocols):
            self.namespace.ip("link", "add", device, "link", below, "type", "vlan", "protocol", protocol, "id", vid)
            self.namespace.ip("link", "set", device, "up")
            below = device

    def route(self, verb, prefix, *words):
        self.namespace.ip("-6" if ":" in prefix else "-4", "route", verb, *route_words(prefix, words))

    def describe(self):
        return "\n".join(
            run("ip", *family, "-n", self.namespace.name, what, check=False).stdout
            for family, what in ((["-s"], "link"), (["-4"], "route"), (["-6"], "route"), ([], "neigh")))

    def stop(self):
        pass


def route_words(prefix, words):
    kinds = [word for word in words if word in ("blackhole", "unreachable", "prohibit")]
    return [*kinds, prefix, *(word for word in words if word not in kinds)]


def route_line(verb, route):
    words = [route["prefix"]]
    if route.get("type", "unicast") != "unicast":
        words.insert(0, route["type"])
    hops = route.get("next_hops", [])
    for hop in hops:
        words += ["nexthop"] if len(hops) > 1 else []
        words += ["via", hop["via"]] if "via" in hop else []
        words += ["dev", hop["interface"]] if "interface" in hop else []
        words += ["weight", str(hop["weight"])] if len(hops) > 1 and "weight" in hop else []
    return f"route {verb} " + " ".join(words)
