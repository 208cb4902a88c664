#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Routes at scale: BIRD and FRR with a full table, over the kernel alone, over Pktpit by netlink, over Pktpit by FPM, one
after the other in each round. As root; what it makes is in namespaces of its own and goes with it."""

import argparse
import os
import signal
import socket
import sys
import time
from pathlib import Path

import results
from fpm_stream import frames
from lab import Failure, LINKS, SAMPLE, Lab, busy_and_all, cpu_seconds, private_mounts, read_table, run
from peers import Kernel, Pktpit, Reached

PEERS = ("kernel-bird", "kernel-frr", "netlink-bird", "netlink-frr", "fpm")
DEADLINE = 600


def say(words):
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def make(name, lab, binary):
    return {"kernel-bird": lambda: Kernel(lab, "BIRD"), "kernel-frr": lambda: Kernel(lab, "FRR"),
            "netlink-bird": lambda: Pktpit(lab, "BIRD", binary), "netlink-frr": lambda: Pktpit(lab, "FRR", binary),
            "fpm": lambda: Pktpit(lab, "FRR", binary, fpm=True)}[name]()


def measure_sessions(lab, peer):
    """Up, link down with a second session, withdraw. The end of each is when all sampled prefixes say so."""
    peer.start()
    if not isinstance(peer, Pktpit):
        return measure_steps(lab, peer)
    end = peer.watch_api()
    try:
        values = measure_steps(lab, peer)
    finally:
        end()
    times = sorted(peer.api_times)
    values["api_p99_ms"] = times[min(len(times) - 1, int(len(times) * 0.99))] * 1000
    values["api_max_ms"] = times[-1] * 1000
    values["lookup_max_ms"] = max(peer.lookup_times) * 1000
    return values


def measure_steps(lab, peer):
    first, second = (f"{net}.2" for _, net, _ in LINKS)
    values = {}
    own = peer.pid() if isinstance(peer, Pktpit) else None
    (busy, all_of_it), cpu = busy_and_all(), cpu_seconds(own) if own else 0
    lab.feeder("enable", "s0")
    values["up_s"] = lab.wait(Reached(peer, first), f"{peer.name}: complete", DEADLINE)
    now = busy_and_all()
    values["up_busy"] = (now[0] - busy) / max(1, now[1] - all_of_it) * 100
    if own:
        values["up_cpu_s"] = cpu_seconds(own) - cpu
    lab.wait(lambda: peer.total() >= len(lab.prefixes), f"{peer.name}: {len(lab.prefixes)} routes", 60, 0.5)
    if isinstance(peer, Pktpit):
        values["memory_mib"] = peer.memory_mib()
    lab.feeder("disable", "s0")
    values["withdraw_s"] = lab.wait(Reached(peer, gone=True), f"{peer.name}: withdrawn", DEADLINE)
    lab.feeder("enable", "s1")
    lab.wait(Reached(peer, second), f"{peer.name}: complete by the second session", DEADLINE)
    lab.feeder("enable", "s0")
    lab.wait(Reached(peer, first), f"{peer.name}: complete by the first session", DEADLINE)
    run("ip", "-n", lab.names["feeder"], "link", "set", LINKS[0][0], "down")
    values["link_down_s"] = lab.wait(Reached(peer, second), f"{peer.name}: by the second link", DEADLINE)
    return values


def measure_streams(lab, binary):
    """How many routes a second Pktpit itself takes, each way: what comes is ready before the clock runs."""
    values = {}
    gateway = f"{LINKS[0][1]}.2"
    peer = Pktpit(lab, "none", binary, fpm=True)
    peer.start_pktpit()
    index = int(lab.command("router", "cat", "/proc/net/dev_snmp6/e0").stdout.split()[1])
    stream = frames(lab.prefixes, gateway, index)
    sender = _connect(lab)
    begin = time.monotonic()
    sender.sendall(stream)
    lab.wait(Reached(peer, gateway), "the stream is taken", DEADLINE, 0.02)
    lab.wait(lambda: peer.ask("GET", "/v1/fpm")["routes4"] == len(lab.prefixes), "all of it", DEADLINE, 0.02)
    values["fpm_stream_routes_s"] = len(lab.prefixes) / (time.monotonic() - begin)
    sender.close()
    lab.end(peer.process)
    peer = Pktpit(lab, "none", binary)
    peer.start_pktpit()
    batch = lab.directory / "batch"
    batch.write_text("".join(f"route add {prefix} via {gateway} proto static\n" for prefix in lab.prefixes))
    begin = time.monotonic()
    run("ip", "-n", lab.names["router"], "-batch", batch)
    lab.wait(Reached(peer, gateway), "the kernel's routes are taken", DEADLINE, 0.02)
    lab.wait(lambda: peer.total() >= len(lab.prefixes), "all of them", DEADLINE, 0.1)
    values["netlink_routes_s"] = len(lab.prefixes) / (time.monotonic() - begin)
    lab.end(peer.process)
    begin = time.monotonic()
    peer.start_pktpit()
    lab.wait(Reached(peer, gateway), "the kernel's routes are read", DEADLINE, 0.02)
    values["netlink_dump_routes_s"] = len(lab.prefixes) / (time.monotonic() - begin)
    lab.end(peer.process)
    return values


def _connect(lab):
    """A socket of the router's namespace: made by a thread that is in it."""
    here, there = os.open("/proc/self/ns/net", os.O_RDONLY), os.open(f"/run/netns/{lab.names['router']}", os.O_RDONLY)
    import ctypes
    libc = ctypes.CDLL(None)
    libc.setns(there, 0)
    try:
        return socket.create_connection(("127.0.0.1", 2620))
    finally:
        libc.setns(here, 0)
        os.close(here)
        os.close(there)


def in_lab(prefixes, what, feeder=True):
    lab = Lab(prefixes)
    failed = True
    try:
        if feeder:
            lab.start_feeder()
        values = what(lab)
        failed = False
        return values
    finally:
        lab.close(keep=failed)


def options():
    parser = argparse.ArgumentParser(prog="bench_routes", description=__doc__.splitlines()[0])
    parser.add_argument("--routes", type=int, default=100000, help="how many of the table; 0: all (default: 100000)")
    parser.add_argument("--table", help="'prefix …' a line, perhaps xz; default: internet-ipv4-2026-06.txt.xz in PKTPIT_DATA, else generated")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}; none: streams alone")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one round of 20,000 routes")
    parser.add_argument("--no-streams", action="store_true", help="not how many routes a second Pktpit itself takes")
    parser.add_argument("--results", default="bench-results", help="folder of the reports")
    parser.add_argument("--pktpitd", default=str(Path(__file__).resolve().parents[2] / "build" / "release" / "router" / "pktpitd"))
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.routes, chosen.rounds = min(chosen.routes or 20000, 20000), 1
    chosen.peers = [name for name in chosen.peers.split(",") if name and name != "none"]
    if unknown := [name for name in chosen.peers if name not in PEERS]:
        parser.error(f"{', '.join(unknown)}: no peer; there are {', '.join(PEERS)}")
    if os.geteuid():
        parser.error("it makes network namespaces and loads eBPF: run it as root")
    return chosen


def main():
    chosen = options()
    beside = Path(sys.argv[0]).absolute().parent.parent / "router" / "pktpitd"
    binary = beside if beside.exists() else Path(chosen.pktpitd)
    table = chosen.table
    if not table and os.environ.get("PKTPIT_DATA"):
        recorded = Path(os.environ["PKTPIT_DATA"], "internet-ipv4-2026-06.txt.xz")
        table = recorded if recorded.exists() else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    machine = results.machine()
    try:
        prefixes, words = read_table(table, chosen.routes)
        private_mounts()
        rounds = []
        for number in range(1, chosen.rounds + 1):
            for name in chosen.peers:
                say(f"round {number} of {chosen.rounds}: {name}")

                def measure(lab, name=name):
                    peer = make(name, lab, binary)
                    return peer.name, measure_sessions(lab, peer)

                rounds.append(in_lab(prefixes, measure))
                say(", ".join(f"{key} {value:.2f}" for key, value in rounds[-1][1].items()))
            if not chosen.no_streams:
                say(f"round {number} of {chosen.rounds}: streams")
                rounds.append(("Pktpit", in_lab(prefixes, lambda lab: measure_streams(lab, binary), feeder=False)))
                say(", ".join(f"{key} {value:.0f}" for key, value in rounds[-1][1].items()))
    except Failure as failure:
        print(f"bench_routes: {failure}", file=sys.stderr)
        return 1
    report = {"benchmark": "routes", "command": " ".join(sys.argv), "machine": machine, "table": words, "routes": len(prefixes),
              "sample": SAMPLE, "rounds": chosen.rounds, "peers": results.summarise(rounds)}
    stem = results.write(report, chosen.results)
    print(results.text(report))
    print(f"{stem}.txt, .json, .svg, .png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
