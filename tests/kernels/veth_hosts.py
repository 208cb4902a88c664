# SPDX-License-Identifier: BSD-3-Clause
"""Two hosts a and b in network namespaces of the guest, at veth ports of the router in it, and what must cross between them."""

from pathlib import Path

STREAM = Path(__file__).with_name("stream.py")
ROUTER = {"a": ("192.0.2.1", "2001:db8:1::1"), "b": ("198.51.100.1", "2001:db8:2::1")}
HOST = {"a": ("192.0.2.2", "2001:db8:1::2"), "b": ("198.51.100.2", "2001:db8:2::2")}
LENGTH = (24, 64)


class VethHosts:
    def __init__(self, guest):
        self.guest = guest

    def make(self):
        for number, host in enumerate(HOST):
            self._link(host, f"p{number}")

    def interfaces(self, forwarding):
        """The router's, for its configuration."""
        return {f"p{number}": {"forwarding": forwarding, "addresses": _with_lengths(ROUTER[host])} for number, host in enumerate(HOST)}

    def _link(self, host, port):
        words = [f"ip netns add {host}", f"ip link add {port} type veth peer name eth0 netns {host}", f"ip link set {port} up",
                 f"ip -n {host} link set lo up",
                 # What a veth pair leaves undone because nobody looks: checksums, which an XDP program passes on as they are.
                 f"ethtool -K {port} tx off >/dev/null", f"ip netns exec {host} ethtool -K eth0 tx off gro on >/dev/null",
                 f"ip -n {host} link set eth0 up"]
        for address, gateway in zip(_with_lengths(HOST[host]), ROUTER[host]):
            words += [f"ip -n {host} address add {address} dev eth0 {'nodad' if ':' in address else ''}",
                      f"ip -n {host} route add default via {gateway}"]
        self.guest.run(" && ".join(words))

    def assert_answers(self):
        for address in HOST["b"]:
            self.guest.wait_for(f"ip netns exec a ping -c 1 -W 2 {address}", f"b answers to ping at {address}")

    def assert_streams(self):
        """Numbered datagrams both ways, none of them lost."""
        status, said = self.guest.run(f"/usr/bin/python3 {STREAM} a b {' '.join(HOST['a'] + HOST['b'])}", check=False)
        assert status == 0, said

    def delete(self):
        self.guest.run("ip netns del a; ip netns del b; ip link del p0; ip link del p1", check=False)


def _with_lengths(addresses):
    return [f"{address}/{length}" for address, length in zip(addresses, LENGTH)]
