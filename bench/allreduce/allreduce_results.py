# SPDX-License-Identifier: BSD-3-Clause
"""Figures of all rounds: tables for people, JSON for programs, curves by gnuplot."""

import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import allreduce_lab  # noqa: F401  finds results.py of the routes' benchmark
from results import machine, summary  # noqa: F401

TARGET = 1.5
TARGET_SIZES = (1 << 20, 16 << 20)
COLOURS = ("0x2060a0", "0x70a0e0", "0xb04020", "0x808080", "0xb0b0b0")


def size_text(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def summarise(samples):
    """[(loss, peer, {bytes: [µs]}, {bytes: [µs of processors]}, more)] of all rounds: {loss: {peer: {bytes: summary}}} of both,
    and what else was counted."""
    times, processors, more = {}, {}, {}
    for loss, peer, found, used, other in samples:
        # A round's median: of the rounds, the median and the extremes are told.
        for to, of in ((times, found), (processors, used)):
            for size, each in of.items():
                to.setdefault(loss, {}).setdefault(peer, {}).setdefault(size, []).append(statistics.median(each))
        for name, value in other.items():
            more.setdefault(loss, {}).setdefault(peer, {}).setdefault(name, []).append(value)
    return tuple({loss: {peer: {name: summary(values) for name, values in of.items()} for peer, of in peers.items()}
                  for loss, peers in of_all.items()} for of_all in (times, processors, more))


def ratio(peers, size):
    """How much longer the better of the others takes than the router."""
    others = [of[size]["median"] for name, of in peers.items() if not name.startswith("Pktpit") and size in of]
    own = peers.get("Pktpit", {}).get(size)
    return min(others) / own["median"] if own and others else None


def text(report):
    lines = [f"bench_allreduce: {report['workers']} workers, {report['rounds']} rounds; ms of a sum at its slowest worker, median of the "
             "rounds (lowest to highest)",
             f"{report['machine']['cpu']}, {report['machine']['cpus']} CPUs, Linux {report['machine']['kernel']}; load at the start "
             f"{report['machine']['load']:.1f}"]
    lines += [f"not measured: {one}" for one in report["left_out"]]
    for loss, peers in report["times_us"].items():
        lines += ["", f"lost: {float(loss) / 10:g} % of packets", f"{'':8}" + "".join(f"{name:>30}" for name in peers) + "   better of the others : Pktpit"]
        for size in sorted({size for of in peers.values() for size in of}):
            row = f"{size_text(size):8}"
            for of in peers.values():
                value = of.get(size)
                row += f"{'-':>30}" if value is None else "{:>30}".format(
                    f"{value['median'] / 1e3:.3f} ({value['min'] / 1e3:.3f} to {value['max'] / 1e3:.3f})")
            better = ratio(peers, size)
            if better is not None:
                row += f"   {better:.2f} x" + ("" if not TARGET_SIZES[0] <= size <= TARGET_SIZES[1] or float(loss) else
                                               ", target met" if better >= TARGET else f", target {TARGET} x missed")
            lines.append(row)
        lines += ["", "ms of processors in a sum, of all workers' processes; what interrupts do for others is not in it, nor the router's thread"]
        for size in sorted({size for of in peers.values() for size in of}):
            lines.append(f"{size_text(size):8}" + "".join(
                f"{report['processor_us'][loss][name][size]['median'] / 1e3:>30.3f}" if size in of else f"{'-':>30}" for name, of in peers.items()))
        for peer, of in report["more"].get(loss, {}).items():
            for name, value in of.items():
                lines.append(f"{peer}: {name.replace('_', ' ')} {value['median']:.3f} ({value['min']:.3f} to {value['max']:.3f})")
    if report.get("forwarding"):
        lines += ["", *forwarding_text(report["forwarding"])]
    return "\n".join(lines) + "\n"


def forwarding_text(forwarding):
    lines = ["plain forwarding on ports of a router with a group, against the same without"]
    for row in forwarding.get("idle", ()):
        lines.append(f"  while the service idles, {row['cores']}: {row['ratio']:.3f} x ({row['lowest']:.3f} to {row['highest']:.3f})")
    for row in forwarding.get("beside", ()):
        lines.append(f"  while it works, {row['cores']}: {row['offered_mpps']:.3f} Mpps, {row['share']:.2f} of the full rate: {row['sent']} frames "
                     f"sent, {row['lost']} lost; {row['chunks_per_second']:.0f} chunks/s beside it")
    return lines


def plot(report, stem):
    if not shutil.which("gnuplot"):
        return
    script = f"set multiplot layout {len(report['times_us'])},1\nset grid\nset logscale xy\nset key left top\nset ylabel 'ms'\n"
    for loss, peers in report["times_us"].items():
        sizes = sorted({size for of in peers.values() for size in of})
        ticks = ", ".join(f'"{size_text(size)}" {size}' for size in sizes)
        script += f'set title "Allreduce of {report["workers"]} workers, {float(loss) / 10:g} % lost"\nset xtics ({ticks})\n'
        curves = []
        for index, (name, of) in enumerate(peers.items()):
            script += f"$d{index} << EOD\n" + "\n".join(
                f"{size} {of[size]['median'] / 1e3} {of[size]['min'] / 1e3} {of[size]['max'] / 1e3}" for size in sorted(of)) + "\nEOD\n"
            colour = COLOURS[index % len(COLOURS)]
            curves += [f'$d{index} using 1:2 with linespoints lw 2 pt 7 ps 0.5 lc rgb {colour} title "{name}"',
                       f"$d{index} using 1:2:3:4 with yerrorbars pt 0 lc rgb {colour} notitle"]
        script += "plot " + ", ".join(curves) + "\n"
    for kind, name in (("svg", f"{stem}.svg"), ("pngcairo", f"{stem}.png")):
        subprocess.run(["gnuplot"], input=f'set terminal {kind} size 900,{420 * len(report["times_us"])}\nset output "{name}"\n'
                       f"{script}unset multiplot\n", text=True, check=True)


def write(report, folder):
    """The files' common path."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    stem = str(Path(folder) / f"allreduce-{time.strftime('%Y%m%d-%H%M%S')}")
    Path(stem + ".json").write_text(json.dumps(report, indent=1) + "\n")
    Path(stem + ".txt").write_text(text(report))
    plot(report, stem)
    return stem
