# SPDX-License-Identifier: BSD-3-Clause
"""The real daemon and the real command-line tool."""

import json
import os
import re
import signal
import subprocess
import warnings
from pathlib import Path

import pytest
from lib.namespaces import checked, end, run
from lib.session import RUN, WORKER, folder, is_dead
from lib.waiting import DEADLINE, wait_for

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("PKTPIT_BUILD", ROOT / "build" / "release"))
DAEMON = BUILD / "router" / "pktpitd"
TOOL = BUILD / "router" / "pktpit"
DATA = os.environ.get("PKTPIT_DATA")


def sanitized():
    """Whether the daemon has a sanitizer, by what it was built with."""
    return "PKTPIT_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()


PINS = Path("/sys/fs/bpf/pktpit")
SOCKETS = Path("/run/pktpit")

# Who decides about packets where a test does not say so itself: every test holds for both.
FORWARDING = os.environ.get("PKTPIT_FORWARDING", "inline")
# What moves the packets, likewise. With `dpdk` each port is a DPDK device on the same veth, with `model` that of a
# modelled NIC, whose payloads go by PKTPIT_TRANSFER.
DATAPLANE = os.environ.get("PKTPIT_DATAPLANE", "xdp")
TRANSFER = os.environ.get("PKTPIT_TRANSFER", "write")
if DATAPLANE != "xdp":
    FORWARDING = "split"
# A busy machine keeps workers from a CPU, and a port stage that stands in for a worker costs what waited for it
# (docs/configuration.md, heartbeat). Tests that ask about that say "heartbeat" themselves.
PATIENT = {"worker_ms": 10_000}
inline_only = pytest.mark.skipif(FORWARDING != "inline", reason="only what is forwarded inline outlives the daemon")

_RUN_PREFIX = f"e2e{RUN}x"
INSTANCE_PREFIX = f"{_RUN_PREFIX}{WORKER}n"
_count = 0


def real_data(name):
    """A file of the folder that PKTPIT_DATA names, with real routing tables and updates; none where it is not."""
    path = Path(DATA, name) if DATA else None
    return path if path and path.exists() else None


def new_instance():
    global _count
    _count += 1
    return f"{INSTANCE_PREFIX}{_count}"


def on_dpdk(config, topology):
    """The configuration for the dpdk dataplane: each port's device takes its packets from the host's veth. Ordinary pages:
    of hugepages there is one pool, and of two instances that start at the same time both may count the same as free."""
    wires = {host.port: host.dpdk_device() for host in topology.hosts}
    interfaces = {name: settings if "parent" in settings or name not in wires else {"device": wires[name], **settings}
                  for name, settings in config.get("interfaces", {}).items()}
    largest = max([1500, *(host.mtu for host in topology.hosts)])
    return {"dataplane": "dpdk", "dpdk": {"memory": "pages", "mbufs": 8191, "slot_bytes": -(-largest // 1024) * 1024},
            **config, "interfaces": interfaces}


def on_model(config, topology):
    """The configuration for the model dataplane: each port is that of a modelled NIC of its own, with the host's veth
    for its wire."""
    wires = {host.port: {"device": host.wire_port} for host in topology.hosts}
    interfaces = {name: settings if "parent" in settings or name not in wires else {"wire": wires[name], **settings}
                  for name, settings in config.get("interfaces", {}).items()}
    return {"dataplane": "model", "model": {"topology": "four-nics", "transfer": TRANSFER}, **config, "interfaces": interfaces}


def for_this_run(config, topology):
    """The configuration, with the run's dataplane, FORWARDING at each port that does not say, and a PATIENT heartbeat."""
    config = {"heartbeat": PATIENT, **config}
    if "dataplane" in config or FORWARDING == "inline":
        return config
    if DATAPLANE in ("dpdk", "model"):
        return (on_dpdk if DATAPLANE == "dpdk" else on_model)(config, topology)
    interfaces = {name: settings if "parent" in settings else {"forwarding": FORWARDING, **settings}
                  for name, settings in config.get("interfaces", {}).items()}
    return {**config, "interfaces": interfaces}


class PktpitRouter:
    name = "pktpit"

    def __init__(self, topology, config, directory, instance=None):
        self.topology = topology
        self.namespace = topology.router_namespace
        self.config = {"instance": instance or new_instance(), "log_level": "debug", **for_this_run(config, topology)}
        self.instance = self.config["instance"]
        self.directory = Path(directory)
        self.file = self.directory / f"{self.instance}.json"
        self.log_file = self.directory / f"{self.instance}.log"
        self.process = None
        self.run_folder = SOCKETS
        self.user = None  # that the daemon becomes
        self.write()

    @property
    def pins(self):
        return PINS / self.instance

    @property
    def socket(self):
        return self.run_folder / f"{self.instance}.sock"

    def move_into_the_open(self, user=None):
        """Before the start: its files and its run directory lie where every user can get to them, and are its own alone."""
        self.user = user
        self.directory = folder() / self.instance
        self.run_folder = self.directory / "run"
        self.run_folder.mkdir(parents=True)
        self.file = self.directory / self.file.name
        self.write()

    def write(self, config=None):
        self.file.write_text(json.dumps(self.config if config is None else for_this_run(config, self.topology), indent=2))

    def launch(self, *options, before=()):
        """The daemon, started but perhaps not ready; `before` is a command that it is run through."""
        if self.user:
            options = ("--user", self.user, *options)
        environment = os.environ if self.run_folder == SOCKETS else {**os.environ, "RUNTIME_DIRECTORY": str(self.run_folder)}
        if "strace" in before:  # LeakSanitizer cannot look while somebody else does
            environment = {**environment, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
        with open(self.log_file, "ab") as log:
            self.process = self.namespace.start(*before, DAEMON, "--config", self.file, *options,
                                                stdout=log, stderr=subprocess.STDOUT, env=environment)
        return self.process

    def start(self, *options):
        self.launch(*options)
        self.wait_ready()

    def wait_ready(self, deadline=120.0):
        def ready():
            if self.process.poll() is not None and not self.detached():
                raise AssertionError(f"pktpitd ended with {self.process.returncode} at its start:\n{self.log()}")
            return self.answers()

        wait_for(ready, f"pktpitd {self.instance} is ready", deadline=deadline, interval=0.05)
        if DATAPLANE != "xdp":  # whose taps are there only now
            for host in self.topology.hosts:
                host.hurry_neighbours(host.port)

    def detached(self):
        return False

    def answers(self):
        """Whether it does now: asked once."""
        return run(TOOL, "--socket", self.socket, "show", "version", check=False).returncode == 0

    def cli(self, *words, check=True, timeout=2 * DEADLINE, **keywords):
        """Asks again where the daemon says to: it loads programs for longer than its API waits, where there is no CPU for it. The
        tests' summary says so, since a daemon that stands for ten seconds on a quiet machine has a defect."""
        def ask():
            done = run(TOOL, "--socket", self.socket, *words, check=False, timeout=timeout, **keywords)
            if "too busy to start on this request" not in done.stderr:
                return done
            warnings.warn(f"{self.instance}: too busy for {' '.join(map(str, words))}; asked again", stacklevel=1)
            return None

        done = wait_for(ask, what="the daemon has time for a request")
        return checked(done, [TOOL, *words]) if check else done

    def json(self, *words, check=True):
        return json.loads(self.cli(*words, "--json", check=check).stdout)

    def route(self, verb, prefix, *words, **keywords):
        return self.cli("route", verb, prefix, *words, **keywords)

    def reload(self, *words, **keywords):
        return self.cli("reload", *words, **keywords)

    def apply(self, config=None, check=True):
        """Writes the configuration, the router's own where none is given, and has it reloaded."""
        self.write(config)
        return self.reload(check=check)

    def ports(self):
        """{name: what `show ports` says of it}."""
        return {port["name"]: port for port in self.json("show", "ports")["ports"]}

    def set_forwarding(self, how, *ports):
        """Who decides about packets of these ports, or of all, from the next start or reload on."""
        for name in ports or self.config["interfaces"]:
            self.config["interfaces"][name]["forwarding"] = how

    def counters(self):
        """{name: count} of all ports' verdicts; those of the slow path are slow_path()."""
        return self.json("show", "counters")["totals"]["verdicts"]

    def slow_path(self):
        return self.json("show", "counters")["slow_path"]

    def kill(self):
        """kill -9: what is pinned goes on forwarding."""
        end(self.process, signal.SIGKILL)

    def stop(self):
        if self.process:
            end(self.process, signal.SIGTERM)
        self.clean()
        self.assert_nothing_was_found()

    def assert_nothing_was_found(self):
        """What sanitizers say of a daemon that is built with them, and the list of its system calls, on its standard error."""
        found = re.search(r"(system call \d+ is not on the allow-list|ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|runtime error: ).*", self.log(), re.S)
        if found:
            pytest.fail(f"{self.instance}: {found[0][:6000]}", pytrace=False)

    def clean(self):
        """What a daemon that was killed has left. Pins only ever of our own instance."""
        remove_pins(self.pins)
        self.socket.unlink(missing_ok=True)
        for leftover in self.run_folder.glob(f"{self.instance}.*"):
            leftover.unlink()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def describe(self):
        parts = [f"--- log of {self.instance}\n" + "\n".join(self.log().splitlines()[-60:])]
        for what in ("ports", "neighbours", "counters"):
            try:
                shown = run(TOOL, "--socket", self.socket, "show", what, check=False)
                parts.append(f"--- show {what}\n{shown.stdout}{shown.stderr}")
            except (OSError, subprocess.TimeoutExpired) as error:
                parts.append(f"--- show {what}: {error}")
        return "\n".join(parts)


def remove_pins(directory):
    if directory.is_dir():
        for path in sorted(directory.rglob("*"), key=lambda path: -len(path.parts)):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        directory.rmdir()


def _existing():
    """Pins and sockets of instances, and what DPDK keeps of each."""
    return [path for folder in (PINS, SOCKETS, Path("/run/dpdk")) if folder.is_dir() for path in sorted(folder.iterdir())]


def left_over():
    """What instances that this process has made have left."""
    return [str(path) for path in _existing() if path.name.startswith(INSTANCE_PREFIX)]


def remove_left_over_of_run():
    """What workers have left that could not clean up. The paths."""
    left = [path for path in _existing() if path.name.startswith(_RUN_PREFIX)]
    for path in left:
        _remove(path)
    return [str(path) for path in left]


def sweep_dead_runs():
    """What earlier runs have left whose process is gone."""
    for path in _existing():
        if (found := re.match(r"e2e(\d+)[xn]", path.name)) and is_dead(found[1]):
            _remove(path)


def _remove(path):
    if path.is_dir():
        remove_pins(path)
    else:
        path.unlink(missing_ok=True)

