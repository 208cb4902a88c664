# SPDX-License-Identifier: BSD-3-Clause
"""Figures of all rounds: a table for people, JSON for programs, bars by gnuplot."""

import json
import os
import platform
import shutil
import statistics
import subprocess
import time
from pathlib import Path

MEASURES = {
    "up_s": "session up to complete, s",
    "up_busy": "all CPUs busy meanwhile, %",
    "up_cpu_s": "CPU time of pktpitd meanwhile, s",
    "withdraw_s": "withdraw of everything, s",
    "link_down_s": "link down, until all lead by the other, s",
    "api_p99_ms": "API meanwhile (/v1/version every 20 ms), p99, ms",
    "api_max_ms": "API meanwhile, longest, ms",
    "lookup_max_ms": "API meanwhile, 500 addresses at once (/v1/lookup), longest, ms",
    "memory_mib": "memory of pktpitd, MiB",
}
STREAMS = {"fpm_stream_routes_s": "a full table by FPM, routes/s", "netlink_routes_s": "the same table by netlink (ip -batch), routes/s",
           "netlink_dump_routes_s": "the same table at the start (netlink dump), routes/s"}


def machine():
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "unknown")
    return {"cpu": model, "cpus": os.cpu_count(), "kernel": platform.release(), "load": os.getloadavg()[0]}


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "rounds": len(values)}


def summarise(rounds):
    """{peer: {measure: summary}} of a list of (peer, {measure: value})."""
    collected = {}
    for peer, values in rounds:
        for measure, value in values.items():
            collected.setdefault(peer, {}).setdefault(measure, []).append(value)
    return {peer: {measure: summary(values) for measure, values in of.items()} for peer, of in collected.items()}


def text(report):
    lines = [f"bench_routes: {report['routes']} routes ({report['table']}), {report['rounds']} rounds, medians (lowest to highest)",
             f"{report['machine']['cpu']}, {report['machine']['cpus']} CPUs, Linux {report['machine']['kernel']}; load at the start {report['machine']['load']:.1f}", ""]
    peers = report["peers"]
    for measure, title in {**MEASURES, **STREAMS}.items():
        having = [peer for peer in peers if measure in peers[peer]]
        if not having:
            continue
        lines.append(title)
        for peer in having:
            value = peers[peer][measure]
            base = peers.get("kernel, " + peer.split(", ")[1], {}).get(measure) if peer.startswith("Pktpit, ") else None
            ratio = f"   {value['median'] / base['median']:.2f} x the kernel alone" if base and base["median"] else ""
            lines.append(f"  {peer:28} {value['median']:12.2f}   ({value['min']:.2f} to {value['max']:.2f}){ratio}")
        lines.append("")
    return "\n".join(lines)


def plot(report, stem):
    if not shutil.which("gnuplot"):
        return
    peers = report["peers"]
    titles = {**MEASURES, **STREAMS}
    charts = [measure for measure in titles if any(measure in of for of in peers.values())]
    script = f"set multiplot layout {len(charts)},1\nset grid\nset border 3\nset style fill solid 0.8\nunset key\nset lmargin 32\n"
    for measure in charts:
        having = [peer for peer in peers if measure in peers[peer]]
        ticks = ", ".join(f'"{peer}" {-i}' for i, peer in enumerate(having))
        data = "\n".join(f"{-i} {peers[peer][measure]['median']} {peers[peer][measure]['min']} {peers[peer][measure]['max']} "
                         f"{'0x2060a0' if peer.startswith('Pktpit') else '0xb0b0b0'}" for i, peer in enumerate(having))
        script += (f'set title "{titles[measure]}"\nset xrange [0:*]\nset yrange [{0.4 - len(having)}:0.6]\nset ytics ({ticks})\n'
                   f"$bars << EOD\n{data}\nEOD\nplot $bars using ($2/2):1:($2/2):(0.35):5 with boxxyerror lc rgb variable, "
                   '$bars using 2:1:3:4 with xerrorbars pt 7 ps 0.3 lc rgb "black", $bars using 4:1:(sprintf(" %.3g", $2)) with labels left\n')
    for kind in ("svg", "pngcairo"):
        name = f"{stem}.{'svg' if kind == 'svg' else 'png'}"
        subprocess.run(["gnuplot"], input=f'set terminal {kind} size 900,{260 * len(charts)}\nset output "{name}"\n{script}unset multiplot\n',
                       text=True, check=True)


def write(report, folder):
    """The files' common path."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    stem = str(Path(folder) / f"routes-{time.strftime('%Y%m%d-%H%M%S')}")
    Path(stem + ".json").write_text(json.dumps(report, indent=1) + "\n")
    Path(stem + ".txt").write_text(text(report))
    plot(report, stem)
    return stem
