#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Allreduce: sums of vectors by the router, by OpenMPI and by Gloo, of workers in namespaces over the same veths, through the
same router and on the same processors, one after the other in each round. As root; what it makes goes with it."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import allreduce_results as results
from allreduce_lab import Failure, Lab, private_mounts
from allreduce_peers import PEERS

SIZES = [1 << power for power in range(10, 29, 2)]
LOSSES = (0, 1, 10)  # of a thousand
BYTES_A_ROUND = 64 << 20  # of a size at most: more rounds of small ones


def say(words):
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def steps_of(sizes, most_rounds):
    return [f"{size}:{max(1, min(most_rounds, BYTES_A_ROUND // size))}" for size in sizes]


def size_of(word):
    units = {"KiB": 1 << 10, "MiB": 1 << 20}
    for unit, factor in units.items():
        if word.endswith(unit):
            return int(word[:-len(unit)]) * factor
    return int(word)


def options():
    parser = argparse.ArgumentParser(prog="bench_allreduce", description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="bytes of a vector, or 64KiB, 16MiB (default: 1 KiB to 256 MiB, each four times the one before)")
    parser.add_argument("--losses", default=",".join(map(str, LOSSES)), help="packets of a thousand that are lost: of 0, 1, 10")
    parser.add_argument("--lossy-most", type=size_of, default=4 << 20, help="largest vector where packets are lost (default: 4MiB)")
    parser.add_argument("--peers", default=",".join(PEERS), help=f"of {', '.join(PEERS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sums", type=int, default=100, help="of a size in a round, fewer of large ones (default: 100)")
    parser.add_argument("--no-forwarding", action="store_true", help="not what plain forwarding on the same ports has of it")
    parser.add_argument("--quick", action="store_true", help="one round of 1 KiB, 64 KiB and 1 MiB, a few sums each")
    parser.add_argument("--results", default="bench-results", help="folder of the reports")
    parser.add_argument("--pktpitd", default=str(Path(__file__).resolve().parents[2] / "build" / "release" / "router" / "pktpitd"))
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.sizes, chosen.rounds, chosen.sums, chosen.lossy_most = "1KiB,64KiB,1MiB", 1, 10, 64 << 10
    try:
        chosen.sizes = [size_of(word) for word in chosen.sizes.split(",")]
        chosen.losses = [int(word) for word in chosen.losses.split(",")]
    except ValueError as error:
        parser.error(str(error))
    chosen.peers = chosen.peers.split(",")
    if unknown := [name for name in chosen.peers if name not in PEERS]:
        parser.error(f"{', '.join(unknown)}: no peer; there are {', '.join(PEERS)}")
    if wrong := [loss for loss in chosen.losses if loss not in LOSSES]:
        parser.error(f"--losses {wrong[0]}: of {', '.join(map(str, LOSSES))}")
    if wrong := [size for size in chosen.sizes if size <= 0 or size % 8]:
        parser.error(f"--sizes {wrong[0]}: a multiple of 8 bytes")
    if not 2 <= chosen.workers <= 16:
        parser.error("--workers: 2 to 16")
    if os.geteuid():
        parser.error("it makes network namespaces and loads eBPF: run it as root")
    return chosen


def measure(lab, chosen):
    peers, left_out = [], []
    for name in chosen.peers:
        peer = PEERS[name](lab)
        if peer.program.exists():
            peers.append(peer)
        else:
            left_out.append(f"{peer.name}: {peer.program.name} was not built, for want of its library (docs/benchmarks.md)")
    samples = []
    for number in range(1, chosen.rounds + 1):
        for loss in chosen.losses:
            sizes = [size for size in chosen.sizes if not loss or size <= chosen.lossy_most]
            # Nobody always comes first, or after the same peer.
            for peer in peers if number % 2 else reversed(peers):
                say(f"round {number} of {chosen.rounds}, {loss / 10:g} % lost: {peer.name}")
                times, processors, more = peer.measure(steps_of(sizes, chosen.sums if not loss else max(5, chosen.sums // 5)), loss)
                samples.append((loss, peer.name, times, processors, more))
                say(", ".join(f"{results.size_text(size)} {sorted(each)[len(each) // 2] / 1e3:.3f} ms" for size, each in times.items())
                    + "".join(f", {name.replace('_', ' ')} {value:.3f}" for name, value in more.items()))
    return samples, left_out


def measure_forwarding(programs, pktpitd, quick):
    say("plain forwarding beside it")
    program = programs / "bench_allreduce_forwarding"
    done = subprocess.run([program, "--pktpitd", pktpitd, "--rounds", "3" if quick else "9", "--seconds", "2" if quick else "10"],
                          capture_output=True, text=True, timeout=500)
    if done.returncode:
        raise Failure(f"{program.name}: {done.stdout}{done.stderr}")
    idle, beside = [], []
    for one in map(json.loads, done.stdout.splitlines()):
        if one["kind"] == "idle":
            ratios = [with_ / without for with_, without in zip(one["with_mpps"], one["without_mpps"])]
            idle.append({"cores": one["cores"], "ratio": statistics.median(one["with_mpps"]) / statistics.median(one["without_mpps"]),
                         "lowest": min(ratios), "highest": max(ratios), "with_mpps": one["with_mpps"], "without_mpps": one["without_mpps"]})
        else:
            beside.append({**one, "lost": one["sent"] - one["arrived"]})
    return {"idle": idle, "beside": beside}


def main():
    chosen = options()
    beside = Path(sys.argv[0]).absolute().parent.parent / "router" / "pktpitd"
    binary = beside if beside.exists() else Path(chosen.pktpitd)
    programs = Path(sys.argv[0]).absolute().parent
    if not (programs / "bench_allreduce_pktpit").exists():
        programs = binary.parent.parent / "bench"
    if not (programs / "lossy.bpf.o").exists() and (programs / "bpf" / "lossy.bpf.o").exists():
        lossy = programs / "bpf" / "lossy.bpf.o"
    else:
        lossy = programs / "lossy.bpf.o"
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    machine = results.machine()
    lab, failed = None, True
    try:
        private_mounts()
        lab = Lab(chosen.workers, binary, programs, lossy)
        lab.build()
        samples, left_out = measure(lab, chosen)
        lab.close()
        forwarding = None if chosen.no_forwarding else measure_forwarding(programs, binary, chosen.quick)
        failed = False
    except Failure as failure:
        print(f"bench_allreduce: {failure}", file=sys.stderr)
        return 1
    finally:
        if lab:
            lab.close(keep=failed)
    times, processors, more = results.summarise(samples)
    report = {"benchmark": "allreduce", "command": " ".join(sys.argv), "machine": machine, "workers": chosen.workers, "rounds": chosen.rounds,
              "left_out": left_out, "times_us": times, "processor_us": processors, "more": more,
              "forwarding": forwarding}
    stem = results.write(report, chosen.results)
    print(results.text(report))
    print(f"{stem}.txt, .json, .svg, .png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
