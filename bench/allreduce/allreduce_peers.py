# SPDX-License-Identifier: BSD-3-Clause
"""What adds: the router, OpenMPI, Gloo. Each takes the same steps and says how long each round of each took."""

import json
import shutil
import stat
import tempfile

from allreduce_lab import DEVICE, KEY, PORTS, Failure, router_address, worker_address

DEADLINE = 240


def times_of(text, ranks, what):
    """{bytes: [µs of a round: of its slowest rank]}, {bytes: [µs of processors in a round: of all ranks]}, and the other lines."""
    found, processors, others = {}, {}, []
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        one = json.loads(line)
        if "us" not in one:
            others.append(one)
            continue
        if one["wrong"]:
            raise Failure(f"{what}: {one['wrong']} wrong sums of {one['bytes']} bytes at rank {one['rank']}")
        found.setdefault(one["bytes"], []).append(one["us"])
        processors.setdefault(one["bytes"], []).append(one["processor_us"])
    if not found or any(len(each) != ranks for each in found.values()):
        raise Failure(f"{what}: figures are missing\n{text[-2000:]}")
    return ({size: [max(rounds) for rounds in zip(*each)] for size, each in found.items()},
            {size: [sum(rounds) for rounds in zip(*each)] for size, each in processors.items()}, others)


class Pktpit:
    """The router adds. Lost datagrams are the workers' own doing: each drops a share of those that it sends, and of those that
    it gets, so that an element may be lost twice on its way, where a peer's is once."""

    def __init__(self, lab, kind):
        self.lab, self.kind, self.program = lab, kind, lab.programs / "bench_allreduce_pktpit"
        self.name = "Pktpit" if kind == "int32" else f"Pktpit {kind}"

    def measure(self, steps, of_thousand):
        lab = self.lab
        running = [lab.start(host, self.program, router_address(worker), PORTS[self.kind], KEY, worker, of_thousand / 1000,
                             self.kind, *steps) for worker, host in enumerate(lab.hosts)]
        times, processors, others = times_of(lab.gather(running, self.name, DEADLINE), lab.workers, self.name)
        sent = sum(one["sent"] for one in others)
        return times, processors, {"packets_per_chunk": (sent + sum(one["again"] for one in others)) / sent}


class OpenMpi:
    """mpirun in the first worker's namespace starts the ranks in the others'. Over TCP alone: they are machines apart, as far
    as it knows. Ranks that wait give their processor away, of which there are fewer than ranks."""

    name = "OpenMPI"

    def __init__(self, lab):
        self.lab, self.program = lab, lab.programs / "bench_allreduce_mpi"
        self.agent = lab.directory / "agent"
        cases = "".join(f"{worker_address(worker)}) namespace={host};;\n" for worker, host in enumerate(lab.hosts))
        self.agent.write_text(f"#!/bin/sh\nhost=$1; shift\ncase $host in\n{cases}*) exit 1;; esac\n"
                              'exec nsenter --net=/run/netns/$namespace -- unshare --uts -- sh -c \'hostname "$0"; exec sh -c "$*"\' '
                              '"$namespace" "$@"\n')
        self.agent.chmod(self.agent.stat().st_mode | stat.S_IXUSR)

    def measure(self, steps, of_thousand):
        lab = self.lab
        settings = {"plm_rsh_agent": self.agent, "plm_rsh_no_tree_spawn": 1, "btl": "tcp,self", "pml": "ob1", "btl_tcp_if_include": DEVICE,
                    "oob_tcp_if_include": DEVICE, "mpi_yield_when_idle": 1, "orte_tmpdir_base": lab.directory}
        words = [word for name, value in settings.items() for word in ("--mca", name, value)]
        hosts = ",".join(f"{worker_address(worker)}:1" for worker in range(lab.workers))
        with lab.losing(of_thousand):
            process = lab.start(lab.hosts[0], "unshare", "--uts", "--", "sh", "-c", 'hostname "$0"; exec "$@"', lab.hosts[0],
                                "mpirun", "--allow-run-as-root", "-np", lab.workers, "--host", hosts, "--bind-to", "none", *words,
                                self.program, *steps)
            return times_of(lab.gather([process], self.name, DEADLINE), lab.workers, self.name)[:2] + ({},)


class Gloo:
    def __init__(self, lab, algorithm):
        self.lab, self.algorithm, self.program = lab, algorithm, lab.programs / "bench_allreduce_gloo"
        self.name = f"Gloo {algorithm}"

    def measure(self, steps, of_thousand):
        lab = self.lab
        folder = tempfile.mkdtemp(dir=lab.directory)  # where ranks meet: a new one each time
        with lab.losing(of_thousand):
            running = [lab.start(host, self.program, DEVICE, folder, rank, lab.workers, self.algorithm, *steps)
                       for rank, host in enumerate(lab.hosts)]
            times, processors, _ = times_of(lab.gather(running, self.name, DEADLINE), lab.workers, self.name)
        shutil.rmtree(folder, ignore_errors=True)
        return times, processors, {}


PEERS = {"pktpit": lambda lab: Pktpit(lab, "int32"), "pktpit-bfp16": lambda lab: Pktpit(lab, "bfp16"), "openmpi": OpenMpi,
         "gloo-ring": lambda lab: Gloo(lab, "ring"), "gloo-bcube": lambda lab: Gloo(lab, "bcube")}
