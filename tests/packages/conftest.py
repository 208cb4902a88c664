# SPDX-License-Identifier: BSD-3-Clause
"""Packages of what has been built, and a fresh Debian 12 root to install them in.

The root is made once for a set of dependencies (mmdebstrap, minbase, from the machine's own sources of packages) and kept below
the build directory; each use of it is an overlay that is thrown away.
"""

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))

from lib import namespaces, session as this_run  # noqa: E402
from lib.namespaces import run  # noqa: E402
from lib.pktpit_router import BUILD  # noqa: E402
from lib.stream import Stream  # noqa: E402
from lib.tools import compiled  # noqa: E402
from machine import Machine  # noqa: E402

NAMES = ("pktpit", "pktpit-dpdk", "pktpit-bench", "libpktpit-allreduce0", "libpktpit-allreduce-dev", "python3-pktpit-allreduce")
# What the tests themselves need in the root; the packages' own dependencies come from the packages.
TOOLS = ("systemd", "dbus", "librte-net-null23")
NEXT = "+next"


def pytest_configure(config):
    if os.geteuid():
        pytest.exit("the package tests make roots and network namespaces: run them as root", 2)
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    namespaces.sweep_dead_runs()
    this_run.sweep_dead_folders()


def pytest_sessionfinish(session):
    namespaces.delete_all()
    this_run.remove_folder()


@pytest.fixture(scope="session")
def packages():
    """{name: file}, as `make deb` makes them."""
    files = run(ROOT / "packaging" / "deb.sh", BUILD, timeout=900).stdout.split()
    return {Path(file).name.split("_")[0]: Path(file) for file in files}


@pytest.fixture(scope="session")
def next_packages(packages, tmp_path_factory):
    """The same files under a higher version."""
    place, made = tmp_path_factory.mktemp("next"), {}
    for name, file in packages.items():
        folder = place / name
        run("dpkg-deb", "-R", file, folder)
        control = folder / "DEBIAN" / "control"
        version = re.search(r"^Version: (.*)$", control.read_text(), re.M)[1]
        control.write_text(re.sub(rf"\b{re.escape(version)}(?=\)|$)", version + NEXT, control.read_text(), flags=re.M))
        made[name] = place / f"{name}_next.deb"
        run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", folder, made[name])
    return made


def dependencies(packages):
    """Names of packages that ours depend on, without versions and without each other."""
    found = set(TOOLS)
    for file in packages.values():
        for one in run("dpkg-deb", "-f", file, "Depends").stdout.replace("\n", "").split(","):
            found.add(one.split("|")[0].split("(")[0].strip())
    return sorted(found - set(NAMES) - {""})


@pytest.fixture(scope="session")
def base_root(packages):
    """A minimal Debian 12 with what the packages depend on, and nothing of ours."""
    wanted = dependencies(packages)
    place = BUILD.parent / "packages"
    root, told = place / "root", place / "root.of"
    place.mkdir(exist_ok=True)
    with this_run.locked(place / "lock"):
        if not root.exists() or not told.exists() or told.read_text().split() != wanted:
            told.unlink(missing_ok=True)
            shutil.rmtree(root, ignore_errors=True)
            run("mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", f"--include={','.join(wanted)}", "bookworm", root, timeout=900)
            told.write_text("\n".join(wanted))
    return root


@pytest.fixture
def machine(base_root, tmp_path):
    """A machine of its own with two hosts at it, see machine.py; systemd runs where the test starts it."""
    made = Machine(base_root, tmp_path)
    yield made
    made.close()


@pytest.fixture
def stream(tmp_path):
    started = []

    def start(sender, receiver, **options):
        started.append(Stream(compiled("traffic"), tmp_path, sender, receiver, **options))
        return started[-1]

    yield start
    for one in started:
        one.abort()


def pytest_runtest_makereport(item, call):
    if call.when == "call" and call.excinfo and "machine" in item.funcargs:
        print(item.funcargs["machine"].describe())


