# SPDX-License-Identifier: BSD-3-Clause
"""The daemon in the guest as the package starts it, between two hosts a and b in network namespaces."""

import json
from pathlib import Path

from guests.initramfs import stripped
from inner import BUILD
from unit import Unit

STREAM = Path(__file__).with_name("stream.py")
LOG = "/run/pktpitd.log"
CONFIG = "/etc/pktpit/pktpit.json"
ROUTER = {"a": ("192.0.2.1", "2001:db8:1::1"), "b": ("198.51.100.1", "2001:db8:2::1")}
HOST = {"a": ("192.0.2.2", "2001:db8:1::2"), "b": ("198.51.100.2", "2001:db8:2::2")}
LENGTH = (24, 64)
ID = "989"  # of the daemon's user and group, which no package has made there


class Packaged:
    def __init__(self, machine, forwarding):
        self.guest, self.out, self.forwarding, self.unit, self.pid = machine.guest, machine.out, forwarding, Unit(), None

    def start(self):
        user, group = self.unit.says["User"], self.unit.says["Group"]
        for name in ("pktpitd", "pktpit"):
            if not (self.out / name).exists():
                (self.out / name).write_bytes(stripped(BUILD / "router" / name))
        # As the package does: the guest's files are its own.
        self.guest.run("install /run/out/pktpitd /run/out/pktpit /usr/sbin/; "
                       f"grep -q ^{group}: /etc/group || echo {group}:x:{ID}: >>/etc/group; "
                       f"grep -q ^{user}: /etc/passwd || echo {user}:x:{ID}:{ID}::/nonexistent:/usr/sbin/nologin >>/etc/passwd; "
                       + "; ".join(f"install -d -o {user} -g {group} -m {mode} {path}" for path, mode in self.unit.folders().items()))
        for number, host in enumerate(HOST):
            self._link(host, f"p{number}")
        config = {"heartbeat": {"worker_ms": 10_000},  # the machine is busy
                  "interfaces": {f"p{number}": {"forwarding": self.forwarding, "addresses": self._with_lengths(ROUTER[host])}
                                 for number, host in enumerate(HOST)}}
        self.guest.run(f"echo '{json.dumps(config)}' >{CONFIG}; {self.unit.prepare}")
        self.pid = self.guest.output(f"( {self.unit.start} ) >{LOG} 2>&1 & echo $!").strip()
        # The log costs less than a process of the command line for each look.
        self.guest.wait_for(f"grep -q 'forwards; API at' {LOG} || ! kill -0 {self.pid}", "the daemon forwards or ends")
        if self.guest.run("pktpit show version", check=False)[0]:
            raise AssertionError(f"pktpitd does not start under the unit's rights:\n{self.log()}")

    def _with_lengths(self, addresses):
        return [f"{address}/{length}" for address, length in zip(addresses, LENGTH)]

    def _link(self, host, port):
        words = [f"ip netns add {host}", f"ip link add {port} type veth peer name eth0 netns {host}", f"ip link set {port} up",
                 f"ip -n {host} link set lo up",
                 # What a veth pair leaves undone because nobody looks: checksums, which an XDP program passes on as they are.
                 f"ethtool -K {port} tx off >/dev/null", f"ip netns exec {host} ethtool -K eth0 tx off gro on >/dev/null",
                 f"ip -n {host} link set eth0 up"]
        for address, gateway in zip(self._with_lengths(HOST[host]), ROUTER[host]):
            words += [f"ip -n {host} address add {address} dev eth0 {'nodad' if ':' in address else ''}",
                      f"ip -n {host} route add default via {gateway}"]
        self.guest.run(" && ".join(words))

    def assert_has_the_units_rights(self):
        status = dict(line.split(":\t", 1) for line in self.guest.output(f"cat /proc/{self.pid}/status").splitlines() if ":\t" in line)
        assert status["NoNewPrivs"] == "1", status
        assert status["Uid"].split() == [ID] * 4 and status["Gid"].split() == [ID] * 4, status
        for which in ("CapPrm", "CapEff", "CapBnd"):
            assert int(status[which], 16) & ~self.unit.capabilities() == 0, f"{which} {status[which]}: more than the unit gives"

    def assert_answers(self):
        for address in HOST["b"]:
            self.guest.wait_for(f"ip netns exec a ping -c 1 -W 2 {address}", f"b answers to ping at {address}")

    def assert_streams(self):
        """Numbered datagrams both ways, none of them lost."""
        status, said = self.guest.run(f"python3 {STREAM} a b {' '.join(HOST['a'] + HOST['b'])}", check=False)
        assert status == 0, f"{said}{self.log()}"

    def log(self):
        return self.guest.run(f"cat {LOG}; dmesg | tail -n 20", check=False)[1]

    def stop(self):
        """The daemon ends in order and leaves nothing."""
        try:
            if self.pid:
                self.guest.run(f"kill {self.pid}", check=False)
                self.guest.wait_for(f"! kill -0 {self.pid}", "the daemon ends")
            left = self.guest.output("find /sys/fs/bpf/pktpit -mindepth 2; find /run/pktpit -name '*.sock'")  # below what was prepared
            assert not left.strip(), f"left behind: {left}"
        finally:
            self.guest.run("pktpit detach --yes; ip netns del a; ip netns del b; ip link del p0; ip link del p1", check=False)

