# SPDX-License-Identifier: BSD-3-Clause
"""Two namespaces joined by two links, and processes in them: a feeder that announces a table twice, and the router."""

import contextlib
import ctypes
import lzma
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

LINKS = (("e0", "10.1.0", "2001:db8:1:"), ("e1", "10.2.0", "2001:db8:2:"))
# Sampled prefixes, with an address each: a check of them all takes some milliseconds of the kernel and of the daemon.
SAMPLE = 500
FEEDER_AS, ROUTER_AS = 64501, 64500
CLONE_NEWNET, CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x40000000, 0x00020000, 0x4000, 0x40000


class Failure(Exception):
    pass


def run(*words, check=True, **keywords):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **keywords)
    if check and done.returncode:
        raise Failure(f"{' '.join(map(str, words))}: {done.stdout}{done.stderr}")
    return done


def private_mounts():
    """What daemons pin and mount is gone with this process, however it ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise Failure(f"a mount namespace: {os.strerror(ctypes.get_errno())}")
    Path("/sys/fs/bpf").mkdir(exist_ok=True)
    run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")


def die_with_parent():
    """In a child: it ends with this process, however that ends."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def read_table(path, limit):
    """(prefixes, words about them). Without a file: generated /24s, so that a machine without data measures something."""
    if not path:
        generator = random.Random(1)
        numbers = sorted(generator.sample(range(0x800000, 0xA90000), limit or 100000))  # 128.0.0.0 to 168.255.255.0: nothing special
        return [f"{number >> 16}.{number >> 8 & 255}.{number & 255}.0/24" for number in numbers], "generated, /24 alone"
    opener = lzma.open if str(path).endswith(".xz") else open
    with opener(path, "rt") as file:
        prefixes = [line.split()[0] for line in file if line[:1].isdigit()]
    prefixes = [prefix for prefix in prefixes if not prefix.startswith(("10.", "127.")) and ":" not in prefix]
    if limit and limit < len(prefixes):
        prefixes = random.Random(1).sample(prefixes, limit)
    return prefixes, Path(path).name


def addresses_of_their_own(prefixes, how_many):
    """(prefix, address) of so many of the prefixes, drawn at random: the prefix is the longest one of the address. A prefix that
    longer ones leave no such address among a few tries is passed over."""
    generator = random.Random(2)
    networks, lengths = set(), set()
    for prefix in prefixes:
        address, length = prefix.split("/")
        networks.add((int.from_bytes(socket.inet_aton(address), "big"), int(length)))
        lengths.add(int(length))
    found = []
    for prefix in generator.sample(prefixes, len(prefixes)):
        network, length = int.from_bytes(socket.inet_aton(prefix.split("/")[0]), "big"), int(prefix.split("/")[1])
        longer = [(one, 0xFFFFFFFF << (32 - one) & 0xFFFFFFFF) for one in lengths if one > length]
        for host in [0, *(generator.getrandbits(32 - length) for _ in range(8))]:
            address = network | host
            if not any((address & mask, one) in networks for one, mask in longer):
                found.append((prefix, socket.inet_ntoa(address.to_bytes(4, "big"))))
                break
        if len(found) == how_many:
            break
    return found


def cpu_seconds(pid):
    """Of a process so far, in user space and in the kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy_and_all():
    """Of all CPUs so far: ticks in which they had something to do, and all."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


class Lab:
    def __init__(self, prefixes):
        self.prefixes = prefixes
        self.sample = addresses_of_their_own(prefixes, SAMPLE)
        self.processes = []
        self.directory = Path(tempfile.mkdtemp(prefix="pktpit-bench-routes-"))
        self.directory.chmod(0o755)
        self.names = {which: f"pkbr{os.getpid()}{which}" for which in ("feeder", "router")}
        for name in self.names.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for device, net, _ in LINKS:
            run("ip", "-n", self.names["feeder"], "link", "add", device, "type", "veth", "peer", "name", device,
                "netns", self.names["router"])
            for which, host in (("feeder", 2), ("router", 1)):
                run("ip", "-n", self.names[which], "address", "add", f"{net}.{host}/24", "dev", device)
                self.start(which, "ethtool", "-K", device, "gro", "on").wait()
                run("ip", "-n", self.names[which], "link", "set", device, "up")
        self.command("router", "sysctl", "-qw", "net.ipv4.ip_forward=1")

    def start(self, which, *words, log=None, **keywords):
        out = open(self.directory / log, "ab") if log else subprocess.DEVNULL
        process = subprocess.Popen(["nsenter", f"--net=/run/netns/{self.names[which]}", "--", *map(str, words)],
                                   stdout=out, stderr=out, start_new_session=True, preexec_fn=die_with_parent, **keywords)
        self.processes.append(process)
        return process

    def command(self, which, *words, **keywords):
        return run("nsenter", f"--net=/run/netns/{self.names[which]}", "--", *words, **keywords)

    def end(self, process, how=signal.SIGTERM):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def start_feeder(self):
        """BIRD with the table as static routes, and a disabled session over each link; the second is second best."""
        sessions = "".join(
            f"protocol bgp s{number} {{ disabled; local {net}.2 as {FEEDER_AS}; neighbor {net}.1 as {ROUTER_AS}; "
            f"ipv4 {{ import none; next hop self; export filter {{ {'bgp_path.prepend(64501); ' if number else ''}accept; }}; }}; }}\n"
            for number, (_, net, _) in enumerate(LINKS))
        routes = "\n".join(f"route {prefix} blackhole;" for prefix in self.prefixes)
        file = self.directory / "feeder.conf"
        file.write_text(f"router id 10.1.0.2;\nprotocol device {{ }}\nprotocol static table {{ ipv4;\n{routes}\n}}\n{sessions}"
                        .replace("protocol static table", "protocol static fulltable"))
        self.start("feeder", "/usr/sbin/bird", "-f", "-c", file, "-s", self.directory / "feeder.ctl",
                   "-P", self.directory / "feeder.pid", log="feeder.log")
        self.wait(lambda: self.feeder("show", "status", check=False).returncode == 0, "the feeder is ready", 120)

    def feeder(self, *words, **keywords):
        return run("/usr/sbin/birdc", "-s", self.directory / "feeder.ctl", *words, **keywords)

    def wait(self, event, what, deadline, interval=0.05):
        """Seconds until `event` says yes."""
        begin = time.monotonic()
        while not event():
            if time.monotonic() - begin > deadline:
                raise Failure(f"{what}: not within {deadline} s; logs in {self.directory}")
            time.sleep(interval)
        return time.monotonic() - begin

    def close(self, keep=False):
        for process in reversed(self.processes):
            self.end(process)
        for name in self.names.values():
            run("ip", "netns", "del", name, check=False)
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)
