# SPDX-License-Identifier: BSD-3-Clause
"""The emulated machine and the router in it. One machine serves the whole session, one daemon a module or less: a boot
costs five seconds. With `-n 2` (pytest-xdist) two workers have a machine each, and take a module after the other.

--router=kernel runs what can be asked of any router against Linux forwarding on virtio NICs, as a check of the tests.
"""

import random
import sys
import time
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
sys.dont_write_bytecode = True

from guests import machine as machines  # noqa: E402
from guests.apt import NotAvailable  # noqa: E402
from guests.session import begin, is_worker  # noqa: E402
from lib.bench import Bench, Routers  # noqa: E402
from lib.report import Report  # noqa: E402
from lib.routes import BUILD  # noqa: E402

# Before the first kill -9 what needs a machine without its traces, then the proof, then what makes it believable. With
# each memory in turn, as far as a test has one.
ORDER = ("test_doctor", "test_jumbo", "test_forwarding", "test_host", "test_restart", "test_revocation", "test_bounce",
         "test_payload_in_ram", "test_unmapped", "test_igb")

_began = time.monotonic()
_report = Report()
_routers = None
_left_by_workers = []


def pytest_addoption(parser):
    parser.addoption("--router", choices=("pktpit", "kernel"), default="pktpit", help="what forwards: pktpitd, or Linux")
    parser.addoption("--seed", type=int, help="of tables and frames; else the same each time in the gate, and another one each time out of it")


def pytest_configure(config):
    begin(config, BUILD if config.getoption("router") == "pktpit" else None)


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def pytest_report_header(config):
    return f"an emulated machine; seed {config.getoption('seed')}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.stem in ORDER else len(ORDER))
    if config.getoption("router") == "kernel":
        for item in items:
            if mark := item.get_closest_marker("pktpit"):
                item.add_marker(pytest.mark.skip(reason=f"pktpit: {mark.args[0]}"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    """After the fixtures' own ends."""
    machines.close_all()
    left = machines.left_over() + _left_by_workers
    if is_worker(session.config):
        session.config.workeroutput.update(left=left, report=_report.parts())
    elif left:
        print(f"\nleft behind: {', '.join(left)}", file=sys.stderr)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    output = getattr(node, "workeroutput", {})
    _left_by_workers.extend(output.get("left", ()))
    _report.add(*output.get("report", ((), (), ())))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("what was seen from outside")
    for line in _report.lines():
        terminalreporter.write_line(line)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        if mark := item.get_closest_marker("requirement"):
            report.sections.append(("requirement", mark.args[0]))
        if _routers and _routers.current:
            report.sections.append(("the guest", _described(_routers.current)))


def _described(router):
    try:
        return router.describe()
    except (AssertionError, OSError) as error:
        return f"{error}\n{router.machine.words()}"


@pytest.fixture(scope="session")
def progress(request):
    """progress(text) is shown at once, whatever is captured."""
    plugins = request.config.pluginmanager
    capture, terminal = plugins.getplugin("capturemanager"), plugins.getplugin("terminalreporter")

    def say(text):
        if terminal is None:  # a worker
            return
        with capture.global_and_fixture_disabled():
            before = "\n" if terminal._tw.width_of_current_line else ""  # behind the dots of tests
            terminal.write(f"{before}{time.monotonic() - _began:5.1f} s  {text}\n", flush=True)

    return say


@pytest.fixture(scope="session")
def report():
    return _report


@pytest.fixture(scope="session")
def seed(request):
    given = request.config.getoption("seed")
    if given is not None:
        return given
    return 20260101 if request.config.getoption("markexpr") == "gate" else random.randrange(1 << 32)


@pytest.fixture(scope="session")
def bench(request, seed, progress):
    """What every machine of the session is made from: kernel, initramfs, routes, oracle."""
    try:
        made = Bench(seed, request.config.getoption("router"), progress)
    except NotAvailable as error:
        pytest.fail(str(error), pytrace=False)
    table = made.full.table
    _report.note(f"Routes: {len(table.routes[4]):,} IPv4 and {len(table.routes[6]):,} IPv6, of {table.origin}; seed {seed}.")
    _report.note("RAM and the ivshmem BAR are files and were searched in place; the NVMe's buffer was read on the bus, by QMP.")
    return made


@pytest.fixture(scope="session")
def routers(bench, progress):
    global _routers
    _routers = Routers(bench, progress)
    return _routers


@pytest.fixture(scope="session")
def machine(bench, routers, progress):
    made = bench.boot()
    progress(f"the machine is up after {made.boot_seconds:.1f} s: {bench.kernel.version}, four {bench.nic}")
    yield made
    routers.stop()
    made.close()


@pytest.fixture(scope="session", params=[pytest.param("ivshmem", marks=pytest.mark.gate), "cmb"])
def memory(request):
    """Where the payloads wait: each test that asks for it runs with both peer memories."""
    return request.param


@pytest.fixture
def router(bench, routers, machine, memory):
    wanted = routers.want(machine, memory, bench.full)
    wanted.settle()
    return wanted


@pytest.fixture(autouse=True)
def empty_wires(request):
    """No test sees frames of the one before."""
    if "machine" in request.fixturenames:
        for wire in request.getfixturevalue("machine").wires:
            wire.drain()
