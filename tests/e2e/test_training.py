# SPDX-License-Identifier: BSD-3-Clause
"""A small network is trained by four workers through the router, in Python."""

import sys
from pathlib import Path

import numpy as np
import pytest
from lib.namespaces import run
from lib.pktpit_router import BUILD
from lib.summing import KEY, PORT, give_addresses, group
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux adds nothing"), pytest.mark.xdp("port stages do the adding"),
              pytest.mark.says_who_decides("what is for the router is the stage's on every kind of port")]
PROGRAM = Path(__file__).parent / "training.py"


# Of block floating point, of weights up to 1: 13 bits of each chunk's largest gradient are left to a worker of four.
TOLERANCE = 1e-3


def by_itself(kind, *more):
    return run("env", "OMP_NUM_THREADS=1", sys.executable, PROGRAM, "--alone", 4, "--type", kind, *more).stdout.split()


@requirement("four workers train through the router, and have the same weights as one process that adds by itself")
@pytest.mark.parametrize("kind", ["int32", "bfp16"])
@pytest.mark.not_sanitized("a Python without the sanitizer cannot load a library that has it")
def test_same_weights_as_without_a_router(build_net, tmp_path, kind):
    workers = []

    def configure(topology):
        workers.extend(give_addresses(topology, 1))
        return {"aggregation": {"groups": {"job1": group(workers, slots=16, type=kind)}}}

    net = build_net(count=4, configure=configure)
    processes = [host.namespace.start(
        "env", f"PKTPIT_ALLREDUCE_LIBRARY={BUILD}/allreduce/libpktpit_allreduce.so.0", "OMP_NUM_THREADS=1", sys.executable, PROGRAM,
        "--router", host.router_ip4, "--bind", address, "--worker", number, "--port", PORT, "--key", KEY, "--type", kind,
        "--weights", tmp_path / f"{number}.npz", stdout=-1, text=True)
        for number, (host, address) in enumerate(workers)]
    alone = by_itself(kind)
    wait_for(lambda: all(process.poll() is not None for process in processes), "all workers have trained")
    trained = [process.stdout.read().split() for process in processes]
    assert all(process.returncode == 0 for process in processes)
    assert float(alone[2]) < float(alone[1]), "it learns"
    assert {words[0] for words in trained} == {alone[0]}
    state = net.router.json("show", "aggregation")["groups"]["job1"]
    # 20 steps of 1,024 and of 64 gradients. int32: 3 packets and one; bfp16: 2 and one, and as many ahead.
    assert state["chunks"] == 20 * (4 if kind == "int32" else 6)
    by_itself("exact", "--weights", tmp_path / "exact.npz")
    exact, got = np.load(tmp_path / "exact.npz"), np.load(tmp_path / "0.npz")
    worst = max(np.max(np.abs(exact[name] - got[name])) for name in exact.files)
    assert 0 < worst < TOLERANCE, worst
