# SPDX-License-Identifier: BSD-3-Clause
"""The same frames into Pktpit and into Linux, each between hosts of its own: they arrive at the same hosts, and cause the same ICMP errors.

What a host's own stack would answer says that a packet was the router's own: UDP to a port that nobody has is answered with "port unreachable"."""

import contextlib
import os
import random

import pytest
from conftest import Net
from lib.kernel_router import KernelRouter
from lib.packets import fence, token, udp4, udp6
from lib.pktpit_router import PktpitRouter
from lib.topology import Topology
from lib.waiting import DeadlineExceeded, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux is what it is held against"), pytest.mark.not_model("the modelled topology has no kernel to hold against")]
SEEDS = tuple(map(int, os.environ.get("PKTPIT_SEED", "1 2").split()))
FRAMES = 80

# What somebody gives the router's host beside the configuration.
GIVEN = [
    "address add 10.66.0.1 peer 10.66.0.2/32 dev p2", "address add 2001:db8:66::1 peer 2001:db8:66::2/128 dev p2 nodad",
    "address add 10.2.0.99/24 dev p2", "address add 10.67.0.1/32 dev p3", "address add 2001:db8:67::1/128 dev p3 nodad",
    "address add 203.0.113.1/28 dev lo", "address add 2001:db8:78::1/64 dev lo",
    "route add local 198.51.100.0/25 dev lo", "route add 10.68.0.0/24 dev p3", "route add blackhole 10.69.0.0/24", "route add unreachable 10.70.0.0/24",
    "route add prohibit 10.71.0.0/24", "route add 10.72.0.0/16 via 10.3.0.2", "route add unreachable 10.72.5.0/24",
    "-6 route add local 2001:db8:77::/64 dev lo", "-6 route add blackhole 2001:db8:69::/64", "-6 route add unreachable 2001:db8:70::/64",
    "-6 route add prohibit 2001:db8:71::/64", "-6 route add 2001:db8:72::/48 via 2001:db8:3::2",
]
DESTINATIONS4 = [
    "10.1.0.1", "10.2.0.1", "10.3.0.1", "10.2.0.99", "10.2.0.2", "10.3.0.2", "10.66.0.1", "10.66.0.2", "10.66.0.3", "10.67.0.1", "10.67.0.2",
    "203.0.113.1", "203.0.113.7", "203.0.113.14", "203.0.113.16", "198.51.100.0", "198.51.100.77", "198.51.100.127", "198.51.100.128",
    "10.69.0.1", "10.70.0.1", "10.71.0.1", "10.72.1.1", "10.72.5.1", "192.0.2.1", "198.18.1.7", "198.18.2.7", "198.18.3.7",
    "224.0.0.1", "239.1.2.3", "255.255.255.255", "0.0.0.0", "127.0.0.1",
]  # not 240/4: Linux forwards that
# Linux answers a few of these, and then one a second (ip_error()), which no namespace can change.
WITHOUT_A_WAY = {"10.66.0.3", "10.67.0.2", "203.0.113.16", "198.51.100.128", "10.70.0.1", "10.71.0.1", "10.72.5.1", "192.0.2.1"}
DESTINATIONS6 = [
    "2001:db8:1::1", "2001:db8:2::1", "2001:db8:3::1", "2001:db8:2::2", "2001:db8:66::1", "2001:db8:66::2", "2001:db8:66::3", "2001:db8:67::1",
    "2001:db8:78::1", "2001:db8:78::2", "2001:db8:77::", "2001:db8:77::77", "2001:db8:69::1", "2001:db8:70::1", "2001:db8:71::1", "2001:db8:72::9",
    "2001:db8:9999::1", "2001:db8:1:100::7", "2001:db8:3:100::7", "2001:db8:2::", "ff02::1", "ff0e::1", "::1",
]  # not "::": Linux says that there is no route, Pktpit that it is no destination


class Frame:
    """One to be sent: by whom, and what is different about it."""

    def __init__(self, pick, family):
        self.family, self.mark = family, token()
        self.sender = pick("a", "b", "c")
        self.destination = pick(*(DESTINATIONS4 if family == 4 else DESTINATIONS6))
        self.hops = pick(64, 64, 64, 1, 2)
        self.mac = pick(*["router"] * 6, "other", "broadcast")

    def send(self, net):
        host = getattr(net, self.sender)
        make, hops = (udp4, "ttl") if self.family == 4 else (udp6, "hlim")
        to = {"router": host.router_mac, "other": "02:00:00:00:99:99", "broadcast": "ff:ff:ff:ff:ff:ff"}[self.mac]
        host.send(make(host, host, self.mark, dst=self.destination, dport=33434, **{hops: self.hops}), dst=to)

    def __str__(self):
        return f"from {self.sender} to {self.destination}, TTL {self.hops}, MAC address: {self.mac}"


def what_came(frame, mark):
    """Of a frame with the token: the packet itself and its TTL, or an ICMP error, by type, code and source."""
    v4 = frame[12:14] == b"\x08\x00"
    if v4 and frame[23] == 1:
        at = 14 + (frame[14] & 15) * 4
        return f"ICMP {frame[at]}/{frame[at + 1]} from {'.'.join(map(str, frame[26:30]))}"
    if not v4 and frame[20] == 58:
        return f"ICMPv6 {frame[54]}/{frame[55]} from {frame[22:38].hex()}"
    return f"the packet, TTL {frame[22] if v4 else frame[21]}"


def seen(net, frames, so_far):
    """What has come of each frame, at which host."""
    for host in net.hosts:
        for data in host.wire.waiting(lambda data: any(frame.mark in data for frame in frames)):
            frame = next(frame for frame in frames if frame.mark in data)
            so_far.setdefault(str(frame), set()).add(f"{host.label}: {what_came(data, frame.mark)}")
    return so_far


@pytest.fixture
def pair(tmp_path):
    """Pktpit and Linux, with hosts of the same addresses around each, and the same things given to both."""
    nets = []
    try:
        for kind, name in ((PktpitRouter, "pktpit"), (KernelRouter, "linux")):
            topology = Topology(None, 3)
            (tmp_path / name).mkdir()
            net = Net(topology, kind(topology, topology.config(kernel_routes={"enabled": True}), tmp_path / name))
            nets.append(net)
            net.router.start()
            topology.settle(net.router)
            # The host's own answers are not held back, be it Linux's or Pktpit's.
            topology.router_namespace.sysctl({"net/ipv4/icmp_ratelimit": 0, "net/ipv4/icmp_msgs_per_sec": 1000000, "net/ipv6/icmp/ratelimit": 0})
            for line in GIVEN:
                topology.router_namespace.ip(*line.split())
            net.b.namespace.ip("address", "add", "10.66.0.2", "peer", "10.66.0.1/32", "dev", "eth0")
            net.b.namespace.ip("address", "add", "2001:db8:66::2/128", "dev", "eth0", "nodad")
        yield nets
    finally:
        for net in nets:
            net.router.stop()
            net.topology.delete()


@requirement("who gets a frame is as on Linux: the host's own traffic, peers, local routes, nets on lo, routes to nowhere, TTL, MAC addresses")
@pytest.mark.parametrize("seed", SEEDS)
def test_as_linux(pair, seed):
    ours, linux = pair
    wait_for(lambda: all(result["prefix"] for result in ours.router.json("lookup", "10.72.5.1", "198.51.100.1", "2001:db8:77::1", "2001:db8:72::1")["results"]),
             "the router knows of what was given")
    source = random.Random(seed)
    frames = [Frame(lambda *of: source.choice(of), source.choice((4, 6))) for _ in range(FRAMES)]
    found = {id(net): {} for net in pair}
    for frame in frames:
        for net in pair:
            frame.send(net)

    def differences():
        for net in pair:
            seen(net, frames, found[id(net)])
        told = {}
        for frame in frames:
            name = str(frame)
            theirs, mine = (found[id(net)].get(name, {"nothing"}) for net in (linux, ours))
            withheld = frame.destination in WITHOUT_A_WAY and theirs == {"nothing"} and all(": ICMP 3/" in one for one in mine)
            if theirs != mine and not withheld:
                told[name] = f"{name}: Linux {sorted(theirs)}, Pktpit {sorted(mine)}"
        return sorted(told.values())

    with contextlib.suppress(DeadlineExceeded):
        wait_for(lambda: not differences(), "both do the same", deadline=10)
    for net in pair:
        fence(net)
    assert not differences(), f"of {FRAMES}:\n" + "\n".join(differences())
    assert len(found[id(ours)]) > FRAMES // 4, "hardly anything came anywhere"
