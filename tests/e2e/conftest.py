# SPDX-License-Identifier: BSD-3-Clause
"""Topologies, routers and the house rules of the end-to-end tests.

One router and one topology serve a test module; a module that needs others asks `build_net` for them. Everything runs
in network namespaces that are deleted again, also after a failure, Ctrl-C or SIGTERM; a check at the end of the
session fails the run if anything is left.

`-n 6` runs six modules at once (pytest-xdist), each worker with namespaces and instances of its own names; of the modules in
SPREAD, whose tests share no router, each test by itself. Tests wait more than they compute: six at once are right for two
cores. None of them asks how fast the machine is. What does (a rate, a latency, a share of time) is marked `measure`, and
`--measure` runs that alone, one test at a time; what it measured is printed with `-s`.

--router=kernel runs the same tests against Linux forwarding, as a check of the tests. What is Pktpit's alone is
marked `pktpit`, where Linux knowingly does otherwise `kernel_differs`; both are skipped then.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import gate  # noqa: E402
from lib import namespaces, pktpit_router, session as this_run  # noqa: E402
from lib.kernel_router import KernelRouter  # noqa: E402
from lib.pktpit_router import PktpitRouter  # noqa: E402
from lib.stream import Stream  # noqa: E402
from lib.tools import compiled  # noqa: E402
from lib.waiting import PATIENCE  # noqa: E402
from lib.topology import Topology  # noqa: E402
from lib.wire import token  # noqa: E402

# Which tests begin first where several run at once, so that the longest are not begun last.
SLOWEST_FIRST = ("test_auto", "test_slots", "test_lifecycle", "test_trace", "test_split", "test_kernel_routes", "test_workers")
SPREAD = ("test_auto", "test_slots", "test_split", "test_stopped", "test_workers", "test_reload")

_open_nets = []
# libxdp, which DPDK's net_af_xdp loads its program with, makes this folder on any machine and leaves it there.
_LIBXDP_PINS = Path("/sys/fs/bpf/xdp")
_libxdp_was_there = False
_left_by_workers = []


def pytest_addoption(parser):
    parser.addoption("--router", choices=("pktpit", "kernel"), default="pktpit", help="what forwards: pktpitd, or Linux")
    parser.addoption("--gate", action="store_true", help="only what gate.py names for this dataplane and way of forwarding")
    parser.addoption("--measure", action="store_true", help="only what measures time, which is skipped otherwise; one test at a time")


def pytest_configure(config):
    if os.geteuid():
        pytest.exit("the end-to-end tests make network namespaces and load eBPF: run them as root", 2)
    if config.getoption("measure") and (this_run.WORKER or config.getoption("numprocesses", None)):
        pytest.exit("--measure runs one test at a time: without -n", 2)
    if config.getoption("router") == "pktpit" and not pktpit_router.DAEMON.exists():
        pytest.exit(f"{pktpit_router.DAEMON} is not built; build it, or name the build directory in PKTPIT_BUILD", 2)
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    # A shell ignores it on behalf of what it runs in the background, and the programs under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if this_run.WORKER:
        return
    namespaces.sweep_dead_runs()
    pktpit_router.sweep_dead_runs()
    this_run.sweep_dead_folders()
    if not os.path.ismount("/sys/fs/bpf"):
        subprocess.run(["mount", "-t", "bpf", "bpf", "/sys/fs/bpf"], check=True)
    global _libxdp_was_there
    _libxdp_was_there = _LIBXDP_PINS.exists()


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByModule(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.split("::")[0]
            return nodeid if Path(path).stem in SPREAD else path

    return ByModule(config, log)


def _slowest_first(item):
    module = item.path.stem
    return SLOWEST_FIRST.index(module) if module in SLOWEST_FIRST else len(SLOWEST_FIRST)


def _keep(config, items, wanted):
    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


def pytest_collection_modifyitems(config, items):
    if this_run.WORKER:
        items.sort(key=_slowest_first)
    if config.getoption("measure"):
        _keep(config, items, lambda item: item.get_closest_marker("measure"))
    if config.getoption("gate"):
        names = gate.GATE[gate.way(pktpit_router.DATAPLANE, pktpit_router.FORWARDING)]
        if unknown := gate.unknown(items, names):
            raise pytest.UsageError(f"gate.py names tests that are not there: {', '.join(unknown)}")
        _keep(config, items, lambda item: gate.is_named(item, names))
    for item in items:
        if (mark := item.get_closest_marker("measure")) and not config.getoption("measure"):
            item.add_marker(pytest.mark.skip(reason=f"measure: {mark.args[0]}; runs with --measure, alone"))
        if (mark := item.get_closest_marker("xdp")) and pktpit_router.DATAPLANE != "xdp":
            item.add_marker(pytest.mark.skip(reason=f"xdp: {mark.args[0]}"))
        if (mark := item.get_closest_marker(f"not_{pktpit_router.DATAPLANE}")):
            item.add_marker(pytest.mark.skip(reason=f"{mark.name}: {mark.args[0]}"))
        if (mark := item.get_closest_marker("not_sanitized")) and pktpit_router.sanitized():
            item.add_marker(pytest.mark.skip(reason=f"not_sanitized: {mark.args[0]}"))
        if (mark := item.get_closest_marker("says_who_decides")) and pktpit_router.FORWARDING != "inline":
            item.add_marker(pytest.mark.skip(reason=f"says_who_decides: {mark.args[0]}"))
        if PATIENCE != 1 and (mark := item.get_closest_marker("timeout")):
            item.add_marker(pytest.mark.timeout(mark.args[0] * PATIENCE), append=False)
    if config.getoption("gate") and (idle := gate.left_out(items, names)):
        raise pytest.UsageError(f"gate.py names tests for this way that are skipped in it: {', '.join(idle)}")
    if config.getoption("router") != "kernel":
        return
    for item in items:
        for marker in ("pktpit", "kernel_differs"):
            if mark := item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=f"{marker}: {mark.args[0]}"))


def _of_this_process():
    namespaces.delete_all()
    return namespaces.left_over() + pktpit_router.left_over()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """A worker says what it has left; who hands out the tests comes last, and finds what is left by those that died, too."""
    left = _of_this_process()
    if this_run.WORKER:
        session.config.workeroutput["left"] = left
        return
    left += _left_by_workers + namespaces.remove_left_over_of_run() + pktpit_router.remove_left_over_of_run()
    this_run.remove_folder()
    # A link of that name is iproute2's, to its own folder: `ip link set … xdp object` makes it on any machine, once.
    if _LIBXDP_PINS.exists() and not _LIBXDP_PINS.is_symlink() and not _libxdp_was_there:
        if pins := sorted(str(pin) for pin in _LIBXDP_PINS.iterdir()):
            left += pins
        else:
            _LIBXDP_PINS.rmdir()
    if left and session.exitstatus != pytest.ExitCode.INTERRUPTED:
        print(f"\nleft behind: {', '.join(sorted(set(left)))}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    _left_by_workers.extend(getattr(node, "workeroutput", {}).get("left", ()))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("routing tables: " + (f"real ones, from {pktpit_router.DATA}" if pktpit_router.DATA else
                                                      "generated (PKTPIT_DATA names no folder with real ones)"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        if mark := item.get_closest_marker("requirement"):
            report.sections.append(("requirement", mark.args[0]))
        for net in _open_nets:
            report.sections.append((f"router {net.router.name}", net.router.describe()))


class Net:
    """A topology with its router running; hosts are net.a, net.b, …"""

    def __init__(self, topology, router):
        self.topology, self.router = topology, router
        self.hosts = topology.hosts
        for host in topology.hosts:
            setattr(self, host.label, host)

    def start(self):
        """With the router's configuration as it is now; until packets cross."""
        self.router.write()
        self.router.start()
        self.topology.settle(self.router)

    def close(self):
        _open_nets.remove(self)
        try:
            self.router.stop()
        finally:
            self.topology.delete()


def open_net(request, directory, start=True, settle=True, mtus=None, count=3, config=None, configure=None, **options):
    """`config`: what is added to the topology's own configuration; `configure`: the same, told the topology."""
    topology = Topology(mtus, count, **options)
    try:
        more = configure(topology) if configure else config or {}
        kind = KernelRouter if request.config.getoption("router") == "kernel" else PktpitRouter
        net = Net(topology, kind(topology, topology.config(**more), directory))
    except BaseException:
        topology.delete()
        raise
    _open_nets.append(net)
    try:
        if start:
            net.router.start()
            if settle:
                topology.settle(net.router)
    except BaseException as error:
        described = net.router.describe()
        net.close()
        raise AssertionError(f"{error}\n{described}") from error
    return net


@pytest.fixture(scope="module")
def net(request, tmp_path_factory):
    """The module's router between hosts a, b and c. A module sets NET = {...} to open_net's options."""
    net = open_net(request, tmp_path_factory.mktemp("router"), **getattr(request.module, "NET", {}))
    yield net
    net.close()


@pytest.fixture
def build_net(request, tmp_path):
    """A router and topology for one test alone."""
    nets = []

    def build(**options):
        nets.append(open_net(request, tmp_path, **options))
        return nets[-1]

    yield build
    for net in reversed(nets):
        net.close()


@pytest.fixture
def closing():
    """closing(object with close()): it is closed with the test."""
    things = []
    yield lambda thing: things.append(thing) or thing
    for thing in reversed(things):
        thing.close()


@pytest.fixture
def mark():
    """Bytes that no other frame carries: by them a test knows its packets, and errors that quote them."""
    return token()


@pytest.fixture
def stream(tmp_path):
    """stream(sender, receiver, …) starts a stream of numbered frames; ended with the test at the latest."""
    running = []

    def start(sender, receiver, **options):
        running.append(Stream(compiled("traffic"), tmp_path, sender, receiver, **options))
        return running[-1]

    yield start
    for one in running:
        one.abort()


@pytest.fixture(autouse=True)
def empty_wires(request):
    """No test sees frames of the one before."""
    if "net" in request.fixturenames:
        for host in request.getfixturevalue("net").hosts:
            host.wire.drain()
