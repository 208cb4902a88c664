# SPDX-License-Identifier: BSD-3-Clause
"""Guests with Debian's kernels, without KVM, each shared by many tests. A guest that died or hung is replaced
for the next test; the test that found it so has failed.

`-n 2` (pytest-xdist) has two guests at a time, also of one kernel: one with NICs, and two that share our own tests.
"""

import sys
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "e2e")]
sys.dont_write_bytecode = True

from checks import CHECKS, ident_of  # noqa: E402
from drivers import WAYS, DriversMachine, words_of  # noqa: E402
from guests import machine as machines  # noqa: E402
from guests.apt import NotAvailable  # noqa: E402
from guests.emulator import find_newer_qemu  # noqa: E402
from guests.session import begin, is_worker  # noqa: E402
from inner import BUILD  # noqa: E402
from kernel import SERIES, find_kernel  # noqa: E402
from lib import namespaces  # noqa: E402
from machine import Machine  # noqa: E402
from table import DRIVERS_PROPERTY, PROPERTY, DriversTable, Table  # noqa: E402

GATE, GATE_WAYS = "6.1", ("inline", "split")
_left_by_workers = []
_table, _drivers_table = Table(), DriversTable()
FILES = ("test_start", "test_matrix", "test_drivers")


def pytest_configure(config):
    begin(config, BUILD)
    if not is_worker(config):
        namespaces.sweep_dead_runs()


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    checks = [ident_of(check) for check in CHECKS]

    class ByGuest(LoadScopeScheduling):
        """One guest after the other. The checks are dealt out in turn: what takes long is neither all first nor all last."""

        def _split_scope(self, nodeid):
            series, of = nodeid.split("[")[1].rstrip("]").split("-", 1)
            share = "drivers" if "test_drivers" in nodeid else checks.index(of) % 2 if of in checks else 0
            return f"{series} {share}"

    return ByGuest(config, log)


def pytest_addoption(parser):
    parser.addoption("--series", choices=SERIES, help="only the guests with this kernel")


def pytest_generate_tests(metafunc):
    if "series" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("series")
        metafunc.parametrize("series", [chosen] if chosen else SERIES)
    if "way" in metafunc.fixturenames:
        metafunc.parametrize("way", WAYS)


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items):
    """One kernel after the other, whether the daemon starts on it at all before the rest."""
    for item in items:
        if item.callspec.params["series"] == GATE and item.callspec.params.get("forwarding") in GATE_WAYS:
            item.add_marker("gate")
    items.sort(key=lambda item: (list(SERIES).index(item.callspec.params["series"]), FILES.index(item.path.stem),
                                 WAYS.index(item.callspec.params["way"]) if "way" in item.callspec.params else 0))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """After the fixtures' own ends."""
    machines.close_all()
    namespaces.delete_all()
    left = machines.left_over() + namespaces.left_over() + _left_by_workers
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
        if report.when == "teardown" and name in (PROPERTY, DRIVERS_PROPERTY):
            (_table if name == PROPERTY else _drivers_table).add(**cell)


def pytest_terminal_summary(terminalreporter):
    for title, table in (("kernels", _table), ("drivers of emulated NICs, none of them a physical one", _drivers_table)):
        if lines := table.lines():
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.write_line(line)


class Guests:
    """The guest of the kernel that is being tested."""

    def __init__(self):
        self.series, self.machine, self.unavailable = None, None, {}

    def want(self, series, kind=Machine):
        """`kind`: its class."""
        if self.machine and self.series == series and type(self.machine) is kind and self.machine.is_alive():
            return self.machine
        self.close()
        if series in self.unavailable:  # asking again takes as long
            raise self.unavailable[series]
        try:
            kernel, qemu = find_kernel(series), find_newer_qemu()
        except NotAvailable as error:
            self.unavailable[series] = error
            raise
        self.machine, self.series = kind(kernel, qemu), series
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


@pytest.fixture
def drivers(request, guests, series, way, record_property):
    """The daemon between NICs of all kinds, all of whose ports forward in one way; shared until a test fails. A test says
    `drivers.passed(...)`, for the table."""
    try:
        router = guests.want(series, DriversMachine).router_of(way)
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    router.said = "FAILED"
    yield router
    names = [value for key, value in request.node.callspec.params.items() if key not in ("series", "way")]
    record_property(DRIVERS_PROPERTY, {"row": router.row(request.node.originalname.removeprefix("test_").replace("_", " "), *names),
                                       "series": series, "version": router.machine.kernel.version, "way": way, "said": router.said})
    if router.said == "FAILED":  # who knows what it has left
        router.machine.kill()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    drivers = getattr(item, "funcargs", {}).get("drivers")
    if report.failed and drivers and call.when == "call":
        report.sections.append(("the router", words_of(drivers)))
    machine = drivers.machine if drivers else getattr(item, "funcargs", {}).get("machine")
    if report.failed and machine:
        if mark := item.get_closest_marker("requirement"):
            report.sections.append(("requirement", mark.args[0]))
        report.sections.append((f"the guest, Linux {machine.kernel.version}", machine.words()))
