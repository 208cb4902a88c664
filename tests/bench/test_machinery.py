# SPDX-License-Identifier: BSD-3-Clause
"""The harness's machinery, not its times: every benchmark runs, its report is what the schema says and fits together, plots
are drawn, and nothing is left behind. Times on a machine that runs tests mean nothing and are not looked at.
"""

import json
import os
import subprocess
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PKTPIT_BUILD", ROOT / "build" / "release"))
PKTPIT = BUILD / "router" / "pktpit"
SCHEMA = json.loads((ROOT / "bench" / "report" / "report.schema.json").read_text())
# A guard against what hangs: beside a build on both cores, compiling l3fwd alone has taken more than a minute.
TIMEOUT = 300
HUGEPAGES = Path("/proc/sys/vm/nr_hugepages")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def bench(*words):
    done = subprocess.run([PKTPIT, "bench", *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def report_of(folder):
    (path,) = folder.glob("*.json")
    report = json.loads(path.read_text())
    jsonschema.validate(report, SCHEMA)
    assert path.with_suffix(".txt").stat().st_size > 0
    assert path.with_suffix(".svg").read_text().rstrip().endswith("</svg>")
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    return report, path


@needs_root
def test_wire(tmp_path):
    """Exit status 0: no row saw a wrong frame, or none. Rows are real-time threads, to which the kernel gives all but 50 ms of
    each second whatever else runs; a window is longer than those."""
    pages = HUGEPAGES.read_text()
    rows = {"pktpit": "pktpit", "pktpit-split": "pktpit split", "kernel": "kernel ip_forward", "lpm-trie": "XDP + LPM_TRIE",
            "fixed": "fixed redirect", "pktpit-dpdk-xdp": "pktpit dpdk, net_af_xdp", "l3fwd-fib-xdp": "l3fwd fib, net_af_xdp",
            "testpmd-xdp": "testpmd io, net_af_xdp"}
    out = bench("wire", "--results", str(tmp_path), "--forwarders", ",".join([*rows, "l3fwd-stock-lpm-xdp"]), "--routes", "64",
                "--families", "4", "--tables", "internet", "--frames", "64,1500", "--traffic", "uniform", "--cores",
                "two-core,free-receive", "--rounds", "2", "--window", "250", "--warm-up", "40")
    report, path = report_of(tmp_path)
    assert report["benchmark"] == "wire"
    panels = {(panel["cores"], panel["frame_bytes"]): panel for panel in report["panels"]}
    assert set(panels) == {(cores, size) for cores in ("two-core", "free-receive") for size in (64, 1500)}
    assert {series["forwarder"] for series in panels["two-core", 64]["series"]} == set(rows.values())
    # Rows without a process of their own have no second core to be measured on.
    assert {series["forwarder"] for series in panels["free-receive", 64]["series"]} == {
        "pktpit split", "pktpit dpdk, net_af_xdp", "l3fwd fib, net_af_xdp", "testpmd io, net_af_xdp"}
    assert all(len(series["rounds"]) == 2 for panel in report["panels"] for series in panel["series"])
    for panel, series in ((panel, series) for panel in report["panels"] for series in panel["series"]):
        for sample in series["rounds"]:
            assert sample["faults"] == "" and 0 < sample["arrived"] <= sample["sent"], (panel["cores"], panel["frame_bytes"], series)

    # What is ours of l3fwd's source is shown, and what does not run says so.
    assert "rx_offload_capa" in report["l3fwd_patch"] and "rx_offload_capa" in out
    assert "stock" in " ".join(report["refusals"])
    assert "--lookup fib" in report["commands"]["l3fwd fib, net_af_xdp"]
    assert HUGEPAGES.read_text() == pages
    same = bench("compare", str(path), str(path))
    assert "+0.0%" in same and "only before" not in same


@needs_root
def test_cpu(tmp_path):
    bench("cpu", "--results", str(tmp_path), "--forwarders", "testpmd,l3fwd-fib,l3fwd-em,pktpit", "--routes", "64", "--rounds", "2",
          "--window", "200", "--warm-up", "200")
    report, _ = report_of(tmp_path)
    (panel,) = report["panels"]
    floor, fib, exact, ours = panel["series"]
    assert "ns_above_bound" not in floor and "ns_above_bound" in fib and "ns_above_bound" in exact and "ns_above_bound" in ours
    assert all(sample["arrived"] > 0 for series in panel["series"] for sample in series["rounds"])


@needs_root
def test_rfc2544(tmp_path):
    bench("rfc2544", "--results", str(tmp_path), "--quick", "--forwarders", "pktpit", "--frames", "64,imix", "--trial", "0.05",
          "--routes", "64", "--cores", "one-core")
    report, _ = report_of(tmp_path)
    assert [row["frames"] for row in report["throughput"]] == ["64", "imix"]
    for row in report["throughput"]:
        assert row["faults"] == ""
        assert row["ndr"]["mpps"] <= row["pdr"]["mpps"] <= row["highest_mpps"]
        assert row["trials"] > 2
        for latency in row["latencies"]:
            assert latency["p50_us"] <= latency["p99_us"] <= latency["p999_us"]


def test_fib(tmp_path):
    bench("fib", "--results", str(tmp_path), "--smoke")
    report, path = report_of(tmp_path)
    assert report["lookups"] and report["churn"] and report["load"]
    assert "times better" in bench("compare", str(path), str(path))


@needs_root
def test_routes(tmp_path):
    """Daemons of the distribution, the kernel, FPM: each figure is there, and is of as many rounds."""
    bench("routes", "--results", str(tmp_path), "--quick", "--routes", "2000", "--peers", "kernel-bird,kernel-frr,fpm")
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    assert report["routes"] == 2000 and set(report["peers"]) == {"kernel, BIRD", "kernel, FRR", "Pktpit, FRR, FPM", "Pktpit"}
    for peer, measures in report["peers"].items():
        wanted = {"fpm_stream_routes_s", "netlink_routes_s", "netlink_dump_routes_s"} if peer == "Pktpit" else {"up_s", "withdraw_s", "link_down_s"}
        assert wanted <= set(measures), peer
        assert all(value["rounds"] == 1 and value["median"] > 0 for value in measures.values())
    assert path.with_suffix(".txt").read_text().startswith("bench_routes: 2000 routes")
    assert path.with_suffix(".svg").read_text().rstrip().endswith("</svg>")


@needs_root
def test_allreduce(tmp_path):
    """Every peer that was built, its sums compared with what they should be; and plain forwarding beside it."""
    bench("allreduce", "--results", str(tmp_path), "--quick", "--workers", "3", "--losses", "0,10")
    (path,) = tmp_path.glob("*.json")
    report = json.loads(path.read_text())
    assert report["workers"] == 3 and set(report["times_us"]) == {"0", "10"}
    for loss, sizes in (("0", {"1024", "65536", "1048576"}), ("10", {"1024", "65536"})):
        peers = report["times_us"][loss]
        assert {"Pktpit", "Pktpit bfp16"} <= set(peers)
        assert len(peers) + len(report["left_out"]) == 5
        for name, of in peers.items():
            assert set(of) == sizes and all(value["median"] > 0 for value in of.values()), name
        assert report["more"][loss]["Pktpit"]["packets_per_chunk"]["median"] >= (1 if loss == "0" else 1.01)
    assert {row["cores"] for row in report["forwarding"]["idle"]} == {"two-core", "one-core"}
    for row in report["forwarding"]["beside"]:
        assert row["sent"] > 0 and row["arrived"] <= row["sent"] and row["chunks_per_second"] > 0
    assert path.with_suffix(".txt").read_text().startswith("bench_allreduce: 3 workers")
    assert path.with_suffix(".svg").read_text().rstrip().endswith("</svg>")


def test_unlike_reports_are_not_compared(tmp_path):
    for name in ("wire", "cpu"):
        (tmp_path / name).write_text(json.dumps({"benchmark": name, "format": 2, "machine": {}}))
    done = subprocess.run([PKTPIT, "bench", "compare", tmp_path / "wire", tmp_path / "cpu"], capture_output=True, text=True)
    assert done.returncode == 1 and "wire" in done.stderr and "cpu" in done.stderr


def test_an_unknown_benchmark_names_the_known():
    done = subprocess.run([PKTPIT, "bench", "wrie"], capture_output=True, text=True)
    assert done.returncode == 2
    for word in ("wire", "cpu", "fib", "rfc2544", "compare"):
        assert word in done.stderr
