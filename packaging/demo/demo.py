#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pktpit routes real packets on this machine: two hosts, a server and the router, each in a network namespace, IPv4 and
IPv6, with a table the size of the Internet's. Every step says what it does, shows the command and what came out.

Ends with `demo: PASS`, or `demo: FAIL` and what failed, and the exit status to match. Leaves nothing behind."""

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import textwrap
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from lab import Failed, Lab, run, wait_until  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PKTPIT_BUILD", ROOT / "build" / "release")) / "router"
REAL_TABLES = os.environ.get("PKTPIT_DATA")  # a folder with tables of the Internet, where somebody has them
INSTANCE = f"demo{os.getpid()}"
PINS = Path("/sys/fs/bpf/pktpit") / INSTANCE
SOCKET = Path("/run/pktpit") / f"{INSTANCE}.sock"
INTERNET4, INTERNET6 = "8.8.8.8", "2001:4860:4860::8888"
TRANSFER = 64 << 20

BOLD, DIM, GREEN, RED, PLAIN = ("\033[1m", "\033[2m", "\033[32m", "\033[31m", "\033[0m") if sys.stdout.isatty() else [""] * 5


def say(text):
    print(textwrap.fill(text, 100, initial_indent="   ", subsequent_indent="   "), flush=True)


def show(text, most=16):
    lines = [line for line in text.rstrip().splitlines() if line.strip()]
    for line in lines[:most]:
        print(f"     {DIM}{line}{PLAIN}")
    if len(lines) > most:
        print(f"     {DIM}… {len(lines) - most} more lines{PLAIN}")
    sys.stdout.flush()


def good(text):
    print(f"   {GREEN}✓{PLAIN} {text}", flush=True)


class Demo:
    def __init__(self, directory):
        self.directory = Path(directory)
        self.number = 0
        self.lab = None
        self.daemon = None

    def step(self, title):
        self.number += 1
        print(f"\n{BOLD}{self.number}. {title}{PLAIN}", flush=True)

    def typed(self, host, *words, most=16, check=True, **keywords):
        """Runs a command on a host as a person would type it there, and shows both."""
        print(f"   {BOLD}{host.name}${PLAIN} {' '.join(str(word).replace(str(BUILD) + '/', '') for word in words)}", flush=True)
        done = host.run(*words, check=False, **keywords)
        show(done.stdout + done.stderr, most)
        if check and done.returncode:
            raise Failed(f"`{' '.join(map(str, words))}` on {host.name} ended with {done.returncode}")
        return done.stdout + done.stderr

    def pktpit(self, *words, **keywords):
        return self.typed(self.lab.router, BUILD / "pktpit", "--instance", INSTANCE, *words, **keywords)

    def ask(self, *words):
        return json.loads(run(BUILD / "pktpit", "--instance", INSTANCE, *words, "--json").stdout)

    # The steps, in their order.

    def build_network(self):
        self.step("A small internet")
        say("alice and bob are hosts, server plays the Internet behind a link with a smaller MTU, router joins them.")
        self.lab = Lab()
        self.alice = self.lab.connect("alice", 1)
        self.bob = self.lab.connect("bob", 2)
        self.server = self.lab.connect("server", 3, mtu=1400)
        self.server.ip("address", "add", f"{INTERNET4}/32", "dev", "lo")
        self.server.ip("address", "add", f"{INTERNET6}/128", "dev", "lo", "nodad")
        show(f"""
alice  10.1.0.2  2001:db8:1::2 ──┐
                                 ├── router ── server  10.3.0.2  2001:db8:3::2   (MTU 1400)
bob    10.2.0.2  2001:db8:2::2 ──┘             also {INTERNET4} and {INTERNET6}""")

    def tables(self):
        files = [Path(REAL_TABLES, f"internet-ipv{family}-2026-06.txt.xz") for family in (4, 6)] if REAL_TABLES else []
        if files and all(file.exists() for file in files):
            say("The tables are the Internet's of June 2026.")
            return files
        say("The tables are generated, with the sizes and the prefix lengths of the Internet's (real ones are read from the "
            "folder PKTPIT_DATA).")
        files = []
        for family in (4, 6):
            file = self.directory / f"table{family}.txt"
            with open(file, "w") as output:
                subprocess.run([BUILD / "pktpit", "table", "generate", *(["-6"] if family == 6 else [])], stdout=output, check=True)
            files.append(file)
        return files

    def start_router(self):
        self.step("The router, with a full-size table")
        table4, table6 = self.tables()
        config = {
            "instance": INSTANCE,
            "interfaces": {name: {"addresses": [f"10.{number}.0.1/24", f"2001:db8:{number}::1/64"]}
                           for number, name in enumerate(("alice", "bob", "server"), 1)},
            "routes": [{"prefix": f"{INTERNET4}/32", "via": "10.3.0.2"}, {"prefix": f"{INTERNET6}/128", "via": "2001:db8:3::2"}],
            "routes_files": [{"path": str(table4), "next_hops": {"1": "10.2.0.2", "*": "10.3.0.2"}},
                             {"path": str(table6), "next_hops": {"1": "2001:db8:2::2", "*": "2001:db8:3::2"}}],
        }
        self.config = self.directory / "demo.json"
        self.config.write_text(json.dumps(config, indent=2))
        began = time.monotonic()
        self.start_daemon()
        total = self.ask("show", "routes", "--limit", "1")["total"]
        if total < 1_000_000:
            raise Failed(f"the router has {total} routes, not a full table")
        self.pktpit("show", "ports")
        good(f"{total:,} routes in place, {time.monotonic() - began:.1f} s after the start")
        self.pktpit("lookup", INTERNET4, INTERNET6, "1.1.1.1", "2606:4700::1111")

    def start_daemon(self):
        print(f"   {BOLD}router${PLAIN} pktpitd --config {self.config.name} &", flush=True)
        with open(self.directory / "pktpitd.log", "ab") as log:
            self.daemon = self.lab.router.start(BUILD / "pktpitd", "--config", self.config, stdout=log, stderr=log)

        def ready():
            if self.daemon.poll() is not None:
                raise Failed(f"pktpitd ended with {self.daemon.returncode}")
            return run(BUILD / "pktpit", "--instance", INSTANCE, "show", "version", check=False).returncode == 0

        wait_until(ready, 60, "the daemon's start")

    def ping(self):
        self.step("ping")
        say("Across the router and back; the first packet waits for ARP or neighbour discovery and is not lost.")
        for address in ("10.2.0.2", "2001:db8:2::2", INTERNET4, INTERNET6):
            said = self.typed(self.alice, "ping", "-c", "2", "-i", "0.2", "-W", "2", address)
            expect(said, r" 0% packet loss", f"ping {address}")
        good("every packet came back, one hop away")

    def traceroute(self):
        self.step("traceroute")
        for address, hop in ((INTERNET4, "10.1.0.1"), (INTERNET6, "2001:db8:1::1")):
            said = self.typed(self.alice, "traceroute", "-n", "-q", "1", "-w", "2", address)
            hops = [line.split()[1] for line in said.splitlines()[1:] if line.split()]
            if hops != [hop, address]:
                raise Failed(f"traceroute to {address} shows {hops}, expected {[hop, address]}")
        good("the router is a hop: it answers with time exceeded, from its address on alice's link")

    def transfer(self):
        self.step("A TCP transfer")
        for address in (INTERNET4, INTERNET6):
            sink = self.server.start(sys.executable, "-c", SINK, address, stdout=subprocess.PIPE)
            if sink.stdout.readline() != "listening\n":
                raise Failed("the server did not listen")
            print(f"   {BOLD}alice${PLAIN} # sends {TRANSFER >> 20} MiB to port 5001 of {address}")
            began = time.monotonic()
            self.alice.run(sys.executable, "-c", SOURCE, address, TRANSFER)
            received, digest = sink.communicate(timeout=30)[0].split()
            seconds = time.monotonic() - began
            if int(received) != TRANSFER or digest != digest_of_transfer():
                raise Failed(f"{received} bytes arrived, or not those that were sent")
            good(f"{TRANSFER >> 20} MiB arrived byte for byte, {TRANSFER * 8 / seconds / 1e9:.2f} Gbit/s")

    def path_mtu(self):
        self.step("Path-MTU discovery")
        say("The link to the server carries 1400 bytes. A packet of 1500 that must not be fragmented gets an answer, "
            "and alice remembers it.")
        for address, family in ((INTERNET4, "-4"), (INTERNET6, "-6")):
            self.alice.ip(family, "route", "flush", "cache")
            said = self.typed(self.alice, "ping", "-M", "do", "-c", "2", "-i", "0.2", "-W", "1", "-s", "1452" if ":" in address else "1472",
                              address, check=False, most=3)
            expect(said, r"(?i)mtu.?=? ?1400", f"the answer to a packet too big for {address}")
            known = self.typed(self.alice, "ip", family, "route", "get", address, most=2)
            expect(known, r"mtu 1400", f"alice's route to {address}")
        good("alice knows the path MTU of 1400")

    def counters(self):
        self.step("Live counters")
        traffic = self.alice.start("ping", "-q", "-i", "0.002", "-c", "1000", INTERNET4, stdout=subprocess.DEVNULL)
        before = self.ask("show", "counters")["totals"]["verdicts"]["forwarded"]
        time.sleep(1)  # a second of traffic to be looked at
        self.pktpit("show", "counters", most=40)
        after = self.ask("show", "counters")["totals"]["verdicts"]["forwarded"]
        os.killpg(traffic.pid, signal.SIGINT)
        if after - before < 100:
            raise Failed(f"the counter of forwarded packets went from {before} to {after} under a stream of pings")
        good(f"{after - before} packets forwarded in the second that we looked; `pktpit counters --watch` shows it live")

    def kill(self):
        self.step("kill -9 while packets flow")
        say("The data path is pinned in the kernel: it forwards on without the daemon. A new one adopts it.")
        streams = [Pings(self.alice, address) for address in (INTERNET4, INTERNET6)]
        print(f"   {BOLD}alice${PLAIN} while :; do {' '.join(streams[0].words)}; done &    # and the same to {INTERNET6}", flush=True)
        for stream in streams:
            wait_until(lambda stream=stream: stream.batches or stream.problem, 30, "a first batch of pings")
        print(f"   {BOLD}router${PLAIN} kill -9 $(pidof pktpitd)", flush=True)
        os.killpg(self.daemon.pid, signal.SIGKILL)
        self.daemon.wait()
        time.sleep(1.5)  # without a daemon
        self.start_daemon()
        for stream in streams:
            if not stream.is_alive():
                raise Failed(f"the pings to {stream.address} ended before the restart was done: {stream.problem}")
            stream.finish()
            show(f"{stream.address}: {stream.sent} packets transmitted, {stream.received} received")
            if stream.problem or stream.is_alive() or stream.sent != stream.received:
                raise Failed(f"pings to {stream.address} over kill -9 and restart: {stream.sent - stream.received} of {stream.sent} "
                             f"lost {stream.problem or ''}")
        total = self.ask("show", "routes", "--limit", "1")["total"]
        if total < 1_000_000:
            raise Failed(f"after the restart the router has {total} routes, not a full table")
        good(f"{sum(stream.sent for stream in streams)} packets, none lost over kill -9 and restart; {total:,} routes are there again")

    def stop(self):
        self.step("A clean stop")
        print(f"   {BOLD}router${PLAIN} kill $(pidof pktpitd)", flush=True)
        os.killpg(self.daemon.pid, signal.SIGTERM)
        try:
            status = self.daemon.wait(10)
        except subprocess.TimeoutExpired:
            raise Failed("the daemon did not stop within 10 s of SIGTERM") from None
        left = [str(path) for path in (PINS, SOCKET) if path.exists()]
        left += ["an XDP program"] if "xdp" in self.lab.router.ip("link").stdout else []
        if status or left:
            raise Failed(f"after SIGTERM: exit status {status}, left behind: {', '.join(left) or 'nothing'}")
        good("no program, no map and no socket is left")

    def run(self):
        for step in (self.build_network, self.start_router, self.ping, self.traceroute, self.transfer, self.path_mtu,
                     self.counters, self.kill, self.stop):
            step()

    def clean(self):
        if self.lab:
            self.lab.delete()
        if PINS.is_dir():
            for path in sorted(PINS.rglob("*"), key=lambda path: -len(path.parts)):
                path.rmdir() if path.is_dir() else path.unlink()
            PINS.rmdir()
        for file in SOCKET.parent.glob(f"{INSTANCE}.*") if SOCKET.parent.is_dir() else []:
            file.unlink()


class Pings(threading.Thread):
    """One ping after another to an address, 500 packets a second each where the machine is fast enough. Each ends by
    its count, not by a signal, so that the last packet is not mistaken for a lost one."""

    def __init__(self, host, address):
        super().__init__(daemon=True)
        self.host, self.address = host, address
        self.words = ["ping", "-q", "-i", "0.002", "-c", "500", "-W", "2", address]
        self.sent = self.received = self.batches = 0
        self.problem = None
        self.last_one = threading.Event()
        self.start()

    def run(self):
        while True:
            last = self.last_one.is_set()
            try:
                said = self.host.run(*self.words, check=False, timeout=60)
            except (OSError, subprocess.SubprocessError) as error:
                self.problem = str(error)
                return
            counts = re.search(r"(\d+) packets transmitted, (\d+) received", said.stdout)
            if not counts:
                self.problem = (said.stdout + said.stderr).strip()
                return
            self.sent += int(counts[1])
            self.received += int(counts[2])
            self.batches += 1
            if last:
                return

    def finish(self):
        """One more whole batch from now on, then the end."""
        self.last_one.set()
        self.join(120)


def expect(text, pattern, what):
    if not re.search(pattern, text):
        raise Failed(f"{what}: expected {pattern!r} in the output above")


def digest_of_transfer():
    digest = hashlib.sha256()
    for number in range(TRANSFER >> 16):
        digest.update(bytes([number % 251]) * 65536)
    return digest.hexdigest()


SINK = """
import hashlib, socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.create_server((sys.argv[1], 5001), family=family)
print("listening", flush=True)
connection, digest, total = listener.accept()[0], hashlib.sha256(), 0
while data := connection.recv(1 << 18):
    digest.update(data)
    total += len(data)
print(total, digest.hexdigest())
"""

SOURCE = """
import socket, sys
with socket.create_connection((sys.argv[1], 5001), timeout=20) as connection:
    for number in range(int(sys.argv[2]) >> 16):
        connection.sendall(bytes([number % 251]) * 65536)
"""


def main():
    if os.geteuid():
        print("demo: FAIL: it makes network namespaces and loads eBPF: run it as root")
        return 1
    if not (BUILD / "pktpitd").exists():
        print(f"demo: FAIL: {BUILD}/pktpitd is not built: run `make`")
        return 1
    if not os.path.ismount("/sys/fs/bpf"):
        run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
    for wanted in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(wanted, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    began, problem = time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="pktpit-demo-") as directory:
        demo = Demo(directory)
        try:
            demo.run()
        except KeyboardInterrupt:
            problem = "interrupted"
        except (Failed, subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
            problem = str(error) or repr(error)
            log = demo.directory / "pktpitd.log"
            if log.exists():
                print("\n   the daemon's last words:")
                show("\n".join(log.read_text(errors="replace").splitlines()[-15:]))
        finally:
            demo.clean()
    print()
    if problem:
        print(f"{RED}demo: FAIL{PLAIN}: {problem}" if RED else f"demo: FAIL: {problem}")
        return 1
    say(f"All of it in {time.monotonic() - began:.0f} s.")
    print("demo: PASS")
    return 0


if __name__ == "__main__":
    sys.exit(main())
