# SPDX-License-Identifier: BSD-3-Clause
"""A router, pktpitd, with workers behind a port each, all in namespaces of their own; every peer's packets take the same way."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
if (HERE.parent / "routes").is_dir():
    sys.path.append(str(HERE.parent / "routes"))

from lab import Failure, die_with_parent, private_mounts, run  # noqa: E402,F401
from peers import UnixConnection  # noqa: E402

KEY = "5f3a1c9e7b2d4680"
PORTS = {"int32": 5005, "bfp16": 5006}
DEVICE = "eth0"
SLOTS = {"int32": 2048, "bfp16": 1024}  # 2.8 MiB of int32 under way, about as much as TCP has in its buffers


def router_address(worker):
    return f"10.77.{worker}.1"


def worker_address(worker):
    return f"10.77.{worker}.2"


class Lab:
    def __init__(self, workers, pktpitd, programs, lossy):
        self.workers, self.pktpitd, self.programs, self.lossy = workers, pktpitd, programs, lossy
        self.directory = Path(tempfile.mkdtemp(prefix="bench_allreduce."))
        self.processes, self.names = [], []
        stem = f"pb{os.getpid()}"
        self.router = f"{stem}r"
        self.hosts = [f"{stem}w{worker}" for worker in range(workers)]
        self.ports = [f"p{worker}" for worker in range(workers)]

    def build(self):
        for name in (self.router, *self.hosts):
            run("ip", "netns", "add", name)
            self.names.append(name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        self.command(self.router, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.disable_ipv6=1")
        for worker, (host, port) in enumerate(zip(self.hosts, self.ports)):
            self.command(host, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
            run("ip", "link", "add", port, "netns", self.router, "type", "veth", "peer", "name", DEVICE, "netns", host)
            for name, device in ((self.router, port), (host, DEVICE)):
                run("ip", "-n", name, "link", "set", device, "up")
                # Without GRO veth has no NAPI, and frames redirected into it are lost. Turned on before the device is up, it
                # is not known to the other end.
                self.command(name, "ethtool", "-K", device, "gro", "on")
            # XDP sees packets before a veth's checksum offload is settled: what is redirected to another one would be wrong.
            self.command(host, "ethtool", "-K", DEVICE, "tx", "off")
            run("ip", "-n", host, "address", "add", f"{worker_address(worker)}/24", "dev", DEVICE)
            run("ip", "-n", host, "route", "add", "default", "via", router_address(worker))
        workers = [worker_address(worker) for worker in range(self.workers)]
        config = {"instance": "bench", "log_level": "info",
                  "interfaces": {port: {"addresses": [f"{router_address(worker)}/24"]} for worker, port in enumerate(self.ports)},
                  "aggregation": {"groups": {kind: {"workers": workers, "key": KEY, "port": port, "type": kind, "slots": SLOTS[kind], "timeout_ms": 20000}
                                             for kind, port in PORTS.items()}}}
        file = self.directory / "pktpit.json"
        file.write_text(json.dumps(config))
        self.socket = self.directory / "pktpit.sock"
        self.start(self.router, self.pktpitd, "--config", file, "--socket", self.socket, log="pktpitd.log",
                   env={"RUNTIME_DIRECTORY": str(self.directory / "run")})
        self.wait(self.answers, "pktpitd is ready", 60)
        for worker in range(self.workers):
            self.wait(lambda worker=worker: run("nsenter", f"--net=/run/netns/{self.hosts[worker]}", "--", "ping", "-c1", "-W1",
                                                worker_address((worker + 1) % self.workers), check=False).returncode == 0,
                      f"worker {worker} reaches the next", 20)

    def answers(self):
        try:
            return bool(self.ask("/v1/version"))
        except OSError:
            return False

    def ask(self, path):
        connection = UnixConnection(self.socket)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def inside(self, name):
        return ["nsenter", f"--net=/run/netns/{name}", "--"]

    def command(self, name, *words, **keywords):
        return run(*self.inside(name), *words, **keywords)

    def start(self, name, *words, log=None, **keywords):
        """A process whose output goes to a log, or else to a pipe."""
        out = open(self.directory / log, "ab") if log else subprocess.PIPE
        process = subprocess.Popen([*self.inside(name), *map(str, words)], stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True, preexec_fn=die_with_parent, text=not log, **keywords)
        self.processes.append(process)
        return process

    def end(self, process):
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes.remove(process)

    def gather(self, processes, what, deadline):
        """What they print, in one; all of them end well within the deadline."""
        end, texts = time.monotonic() + deadline, []
        try:
            for process in processes:
                texts.append(process.communicate(timeout=max(1.0, end - time.monotonic()))[0])
                if process.returncode:
                    raise Failure(f"{what}: exit {process.returncode}\n{texts[-1][-2000:]}")
        except subprocess.TimeoutExpired:
            raise Failure(f"{what}: not within {deadline} s; logs in {self.directory}") from None
        finally:
            for process in processes:
                self.end(process)
        return "".join(texts)

    def wait(self, event, what, deadline):
        begin = time.monotonic()
        while not event():
            if time.monotonic() - begin > deadline:
                raise Failure(f"{what}: not within {deadline} s; logs in {self.directory}")
            time.sleep(0.05)

    @contextlib.contextmanager
    def losing(self, of_thousand):
        """What comes in at each worker is lost, one of so many frames."""
        on = ("xdpdrv", "obj", self.lossy, "program", f"lose_{of_thousand}_of_1000")
        for host in self.hosts if of_thousand else ():
            run("ip", "-n", host, "link", "set", "dev", DEVICE, *on)
        try:
            yield
        finally:
            for host in self.hosts if of_thousand else ():
                run("ip", "-n", host, "link", "set", "dev", DEVICE, "xdpdrv", "off", check=False)

    def close(self, keep=False):
        for process in reversed(list(self.processes)):
            self.end(process)
        while self.names:
            run("ip", "netns", "del", self.names.pop(), check=False)
        if not keep:
            shutil.rmtree(self.directory, ignore_errors=True)
