# SPDX-License-Identifier: BSD-3-Clause
"""Guests with Debian's kernels, without KVM: at most one for each kernel, which its tests share. A guest that died or hung is replaced
for the next test; the test that found it so has failed.

`-n 2` (pytest-xdist) has two guests at a time: each worker takes all tests of one kernel, then those of the next.
"""

import signal
import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
sys.dont_write_bytecode = True

from guests import machine as machines  # noqa: E402
from guests.apt import NotAvailable  # noqa: E402
from guests.emulator import find_newer_qemu  # noqa: E402
from inner import BUILD  # noqa: E402
from kernel import SERIES, find_kernel  # noqa: E402
from machine import Machine  # noqa: E402
from table import PROPERTY, Table  # noqa: E402

GATE, GATE_WAYS = "6.1", ("inline", "split")
_left_by_workers = []
_table = Table()


def pytest_configure(config):
    if not (BUILD / "router" / "pktpitd").exists():
        pytest.exit(f"{BUILD}/router/pktpitd is not built; build it, or name the build directory in PKTPIT_BUILD", 2)
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    # A shell ignores it on behalf of what it runs in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not is_worker(config):
        machines.sweep_dead_runs()


def is_worker(config):
    return hasattr(config, "workerinput")


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByKernel(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return nodeid.split("[")[1].split("-")[0]

    return ByKernel(config, log)


def pytest_generate_tests(metafunc):
    if "series" in metafunc.fixturenames:
        metafunc.parametrize("series", SERIES)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items):
    """One kernel after the other, whether the daemon starts on it at all before the rest."""
    for item in items:
        if item.callspec.params["series"] == GATE and item.callspec.params.get("forwarding") in GATE_WAYS:
            item.add_marker("gate")
    items.sort(key=lambda item: (list(SERIES).index(item.callspec.params["series"]), item.path.stem != "test_start"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """After the fixtures' own ends."""
    machines.close_all()
    left = machines.left_over() + _left_by_workers
    if is_worker(session.config):
        session.config.workeroutput["left"] = left
    elif left:
        print(f"\nleft behind: {', '.join(left)}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    _left_by_workers.extend(getattr(node, "workeroutput", {}).get("left", ()))


def pytest_runtest_logreport(report):
    for name, cell in report.user_properties:
        if name == PROPERTY and report.when == "teardown":
            _table.add(**cell)


def pytest_terminal_summary(terminalreporter):
    if lines := _table.lines():
        terminalreporter.section("kernels")
        for line in lines:
            terminalreporter.write_line(line)


class Guests:
    """The guest of the kernel that is being tested."""

    def __init__(self):
        self.series, self.machine, self.unavailable = None, None, {}

    def want(self, series):
        if self.machine and self.series == series and self.machine.is_alive():
            return self.machine
        self.close()
        if series in self.unavailable:  # asking again takes as long
            raise self.unavailable[series]
        try:
            kernel, qemu = find_kernel(series), find_newer_qemu()
        except NotAvailable as error:
            self.unavailable[series] = error
            raise
        self.machine, self.series = Machine(kernel, qemu), series
        return self.machine

    def close(self):
        machine, self.machine = self.machine, None
        if machine:
            machine.close()


@pytest.fixture(scope="session")
def guests():
    made = Guests()
    yield made
    made.close()


@pytest.fixture
def machine(guests, series):
    """A guest with the series' kernel, shared with the other tests of it."""
    try:
        return guests.want(series)
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def cell(request, record_property, machine, series):
    """cell(check, said, skipped): what the table says of this test; where it is not called, that it failed."""
    began, computed, cell = time.monotonic(), machine.processor_seconds(), {"skipped": {}, "said": "FAILED"}

    def say(said, skipped=None):
        cell.update(said=said, skipped=skipped or {})

    yield say
    check = request.node.callspec.params.get("check")
    name = getattr(check, "name", None) or request.node.originalname.removeprefix("test_").replace("_", " ") + \
        "".join(f", {value}" for key, value in request.node.callspec.params.items() if key not in ("series", "check"))
    record_property(PROPERTY, {"check": name, "series": series, "version": machine.kernel.version, "seconds": time.monotonic() - began,
                               "processors": max(0.0, machine.processor_seconds() - computed), **cell})


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    machine = getattr(item, "funcargs", {}).get("machine")
    if report.failed and machine:
        if mark := item.get_closest_marker("requirement"):
            report.sections.append(("requirement", mark.args[0]))
        report.sections.append((f"the guest, Linux {machine.kernel.version}", machine.words()))
