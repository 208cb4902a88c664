# SPDX-License-Identifier: BSD-3-Clause
"""Random routes, addresses, links, next hops and groups in the kernel, and after each few of them: does the router send where Linux would?
PKTPIT_CHURN=SECONDS for longer than the few rounds of the gate; PKTPIT_SEED=N for another order of things."""

import contextlib
import ipaddress
import json
import os
import random
import time

import pytest
from lib.fib_match import FibMatch, shares
from lib.waiting import DeadlineExceeded, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux is what it is held against"), pytest.mark.xdp("what is followed is no matter of the dataplane")]

SECONDS = float(os.environ.get("PKTPIT_CHURN", 0))
ROUNDS = 12
SEED = int(os.environ.get("PKTPIT_SEED", random.randrange(1 << 32) if SECONDS else 38))
RED = 100
PORTS = ("p2", "p3")
ROUTE_TYPES = ("blackhole", "unreachable", "prohibit")


class Churn:
    """Lines for `ip -batch`. Small pools, so that prefixes lie in each other and things are changed, not only added."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, *choices):
        return self.random.choice(choices)

    def one_in(self, number):
        return self.random.randrange(number) == 0

    def prefix(self, family):
        pick = self.random.randrange
        if family == 4:
            base = self.some(0x0a400000, 0x0a400000, 0xcb007100, 0x0a020000, 0x0a030000)
            address = base | pick(4) << 6 | pick(4) << 2 | (pick(4) << 12 if base == 0x0a400000 else 0)
            length = self.some(0, 10, 20, 25, 26, 28, 30, 32, 32) if not base & 0x30000 else self.some(25, 26, 28, 32)
            return ipaddress.ip_network((address, length), strict=False)
        base = self.some("2001:db8:f::", "2001:db8:f::", "2001:db8:2::", "2001:db8:3::")
        address = int(ipaddress.ip_address(base)) | pick(4) << 8 | pick(4) << 1
        length = self.some(0, 33, 64, 120, 122, 126, 127, 128, 128) if base == "2001:db8:f::" else self.some(120, 122, 126, 128)
        return ipaddress.ip_network((address, length), strict=False)

    def address(self, family):
        """In or near what the rest is about."""
        net = self.prefix(family)
        if net.prefixlen == 0:
            return "198.51.100.7" if family == 4 else "2001:db8:eeee::7"
        return str(net.network_address + min(self.some(0, 1, 2, 3, net.num_addresses - 1), net.num_addresses - 1))

    def hop(self, family):
        port = self.some(*PORTS)
        number, host = port[1], self.some(2, 7, 9)
        if family == 4 and self.one_in(8):
            return f"via inet6 2001:db8:{number}::{host} dev {port}"
        return f"via {f'10.{number}.0.{host}' if family == 4 else f'2001:db8:{number}::{host}'} dev {port}"

    def table(self):
        return f" table {RED}" if self.one_in(4) else ""

    def route(self):
        family = self.some(4, 6)
        prefix, verb, metric = self.prefix(family), self.some("add", "replace", "append", "del", "del"), self.some("", "", " metric 5", " metric 900")
        flag = f"-{family} "
        way = self.random.randrange(10)
        if way < 4:
            to = f"{prefix} {self.hop(family)}"
        elif way < 5:
            to = f"{prefix} dev {self.some(*PORTS)}"
        elif way < 7:
            to = f"{self.some(*ROUTE_TYPES)} {prefix}"
        elif way < 8:
            to = f"{prefix} nhid {self.some(1, 2, 3, 101) + (0 if family == 4 else 10)}"
        else:
            to = f"{prefix} " + " ".join(f"nexthop {self.hop(family)} weight {self.some(1, 2, 5)}" for _ in range(self.some(2, 3)))
        # Of several routes of one metric Linux takes one in turn (IPv6), or of default routes one whose gateway answers (IPv4).
        if verb == "append" and (family == 6 or way >= 5 or prefix.prefixlen == 0):
            verb = "add"
        if verb == "del":
            to = f"{prefix}"
        return f"route {verb} {to}{metric}{self.table()}", flag

    def next_hop(self):
        family = self.some(4, 6)
        first = 0 if family == 4 else 10
        number = self.some(1, 2, 3) + first
        kind = self.random.randrange(5)
        if kind == 0:
            return f"nexthop del id {self.some(number, 101 + first)}", ""
        if kind == 1:
            return f"nexthop replace id {101 + first} group {self.some(1, 2) + first},{self.some(1, 2, 5)}/{3 + first},1", ""
        if kind == 2:
            return f"nexthop replace id {number} {self.some('blackhole', f'dev {self.some(*PORTS)}')}", f"-{family} "
        return f"nexthop replace id {number} {self.hop(family)}", f"-{family} "

    def own_address(self):
        """Of nets that no route is made to: of two routes to one prefix Linux takes the better metric, the router the connected net."""
        port, verb = self.some(*PORTS), self.some("add", "add", "del")
        pick = self.random.randrange(5)
        net = self.some(0, 64, 128)
        if pick < 2:
            return f"address {verb} 10.64.0.{net + self.some(1, 5)}/27 dev {port}", ""
        if pick < 3:
            peer = net + self.some(17, 18)
            return f"address {verb} 10.64.16.1 peer 10.64.16.{peer}/{self.some(32, 30)} dev {port}", ""
        return f"address {verb} 2001:db8:f::{net:x}{port[1]}/123 dev {port}" + (" nodad" if verb == "add" else ""), ""

    def link(self):
        return f"link set {self.some(*PORTS)} {self.some('down', 'up', 'up')}", ""

    def steps(self, count):
        makers = [self.route] * 12 + [self.next_hop] * 3 + [self.own_address] * 3 + [self.link]
        return [self.some(*makers)() for _ in range(count)]


def told(result):
    """One answer of `pktpit lookup`, as FibMatch has them."""
    if result["prefix"] is None:
        return "none", None, None
    if result["type"] != "unicast":
        return result["type"], None, None
    hops = [(hop["via"], hop["interface"], hop["weight"]) for hop in result["next_hops"]]
    return "unicast", int(result["prefix"].split("/")[1]), shares(hops)


def same(address, linux, ours, own):
    """`own()`: IPv6 addresses of interfaces that are up, and anycast ones of their nets."""
    if linux == ours:
        return True
    if linux[0] == "anycast":
        # Of addresses that come or go while their link is down Linux leaves some behind.
        return ours[0] == "local" or address not in own()[1]
    if ours[0] == "local" and ":" in address:
        # Of one that is added and set down and up within an instant Linux can lose the local route. It gets the packet, and has the last word.
        return address in own()[0]
    if linux[0] == "unicast" and ours[0] == "kernel":  # a device that is none of the router's
        return not {device for _, device, _ in linux[2]} & {"p1", "p2", "p3"}
    if ours[0] == "broadcast":  # the first address of a connected net, which to Linux has been as any other since 5.14
        return int(ipaddress.ip_address(address)) % 4 == 0
    # Of a host on a link whose MAC address is known the router has a route of its own. Linux takes the link's, or one by the host as its gateway.
    known = ours[0] == "unicast" and len(ours[2]) == 1 and next(iter(ours[2]))[0] == address
    return known and linux[0] == "unicast" and {hop[:2] for hop in ours[2]} == {(via or address, device) for via, device, _ in linux[2]}


class Comparison:
    def __init__(self, net):
        self.net = net
        self.router = net.topology.router_namespace
        self.match = FibMatch(self.router)

    def own(self):
        links = json.loads(self.router.ip("-6", "-j", "address", "show", "up").stdout)
        nets = [ipaddress.ip_interface(f"{own['local']}/{own['prefixlen']}") for link in links for own in link.get("addr_info", ()) if "local" in own]
        return {str(net.ip) for net in nets}, {str(net.network.network_address) for net in nets}

    def differences(self, addresses):
        found = []
        for vrf, mark in (("default", 0), ("red", RED)):
            linux = self.match.ask(addresses, mark)
            ours = [told(result) for result in self.net.router.json("lookup", *addresses, "--vrf", vrf)["results"]]
            found += [f"{address} in {vrf}: Linux {theirs}, the router {mine}"
                      for address, theirs, mine in zip(addresses, linux, ours, strict=True) if not same(address, theirs, mine, self.own)]
        return found

    def tables(self, address):
        """What both know of it, for whoever looks into a difference."""
        family = "-6" if ":" in address else "-4"
        kernels = [self.router.ip(family, "route", "show", "table", "all", "match", address).stdout, self.router.ip("nexthop").stdout]
        ours = [self.net.router.cli("show", "routes", "--within", "::/0" if ":" in address else "0.0.0.0/0", "--vrf", vrf).stdout for vrf in ("default", "red")]
        return "\n".join(kernels + ours)


@pytest.fixture
def net(build_net):
    return build_net(config={"kernel_routes": {"enabled": True}, "vrfs": {"red": {"table": RED}}})


@requirement("after random changes of routes, addresses, links, next hops and groups in the kernel: every address goes where `ip route get fibmatch` says, "
             "in each VRF")
@pytest.mark.timeout(SECONDS + 600)
def test_as_the_kernels_own_lookup(net):
    router, churn, comparison = net.topology.router_namespace, Churn(SEED), Comparison(net)
    # A host, which a namespace is at first, prefers shorter IPv6 routes by neighbours that answer. A router does not.
    router.sysctl({"net/ipv6/conf/all/forwarding": 1})
    # Packets with the mark are looked up in the VRF's table alone.
    for family in ("-4", "-6"):
        router.batch([f"rule add pref {at} {what}" for at, what in ((10, f"fwmark {RED} lookup {RED}"), (11, f"fwmark {RED} unreachable"), (12, "lookup local"))]
                     + ["rule del pref 0"], (family,))
    end, rounds, steps, asked = time.monotonic() + SECONDS, 0, 0, 0
    while rounds < ROUNDS or time.monotonic() < end:
        made = churn.steps(churn.some(1, 5, 30))
        for family in ("-4 ", "-6 ", ""):
            lines = [line for line, of in made if of == family]
            router.run("ip", *family.split(), "-force", "-batch", "-", input="\n".join(lines) + "\n", check=False)
        addresses = [churn.address(family) for family in (4, 6) for _ in range(60)]

        def settled(addresses=addresses):
            return not comparison.differences(addresses)

        with contextlib.suppress(DeadlineExceeded):
            wait_for(settled, "the router follows", deadline=20)
        found = comparison.differences(addresses)
        assert not found, f"seed {SEED}, round {rounds}, after {made}:\n" + "\n".join(found) + "\n" + comparison.tables(found[0].split()[0])
        rounds, steps, asked = rounds + 1, steps + len(made), asked + 2 * len(addresses)
    print(f"seed {SEED}: {steps} changes in {rounds} rounds, {asked} addresses compared, 0 differences")
