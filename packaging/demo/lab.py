# SPDX-License-Identifier: BSD-3-Clause
"""The demo's little internet: hosts, a server and a router, each a network namespace, joined by veth pairs."""

import os
import signal
import subprocess
import time


class Failed(Exception):
    """What the demo promised and did not see."""


def run(*command, check=True, timeout=30, **keywords):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, **keywords)
    if check and done.returncode:
        raise Failed(f"`{' '.join(map(str, command))}` ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done


def wait_until(happened, seconds, what):
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise Failed(f"{what} did not happen within {seconds} s")
        time.sleep(0.02)


class Host:
    """A namespace. Commands enter it by nsenter: `ip netns exec` would hide bpffs from the daemon."""

    def __init__(self, lab, name):
        self.lab, self.name = lab, name
        self.namespace = f"{lab.prefix}{name}"
        run("ip", "netns", "add", self.namespace)
        lab.hosts.append(self)
        self.processes = []
        self.ip("link", "set", "lo", "up")

    def ip(self, *words):
        return run("ip", "-n", self.namespace, *words)

    def run(self, *words, **keywords):
        return run(*self.inside(words), **keywords)

    def start(self, *words, **keywords):
        process = subprocess.Popen(self.inside(words), text=True, start_new_session=True, **keywords)
        self.processes.append(process)
        return process

    def inside(self, words):
        return ["nsenter", f"--net=/run/netns/{self.namespace}", "--", *map(str, words)]

    def delete(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        run("ip", "netns", "del", self.namespace, check=False)


class Lab:
    def __init__(self):
        self.prefix = f"demo{os.getpid()}-"
        self.hosts = []
        self.router = Host(self, "router")

    def connect(self, name, number, mtu=1500):
        """A host behind the router's port of its name: 10.N.0.2/24 and 2001:db8:N::2/64, the router is .1 and ::1."""
        host = Host(self, name)
        host.ip("link", "add", "eth0", "mtu", mtu, "type", "veth", "peer", "name", name, "netns", self.router.namespace, "mtu", mtu)
        # GRO lets a veth take redirected frames; without TX checksum offload frames carry real checksums, as on a cable.
        host.run("ethtool", "-K", "eth0", "gro", "on", "tx", "off")
        self.router.run("ethtool", "-K", name, "tx", "off")
        host.ip("link", "set", "eth0", "up")
        self.router.ip("link", "set", name, "up")
        host.ip("address", "add", f"10.{number}.0.2/24", "dev", "eth0")
        host.ip("address", "add", f"2001:db8:{number}::2/64", "dev", "eth0", "nodad")
        host.ip("route", "add", "default", "via", f"10.{number}.0.1")
        host.ip("route", "add", "default", "via", f"2001:db8:{number}::1")
        return host

    def delete(self):
        for host in self.hosts:
            host.delete()
