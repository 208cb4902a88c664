# SPDX-License-Identifier: BSD-3-Clause
"""packaging/systemd/pktpitd.service, by systemd's own judges, and what they cannot judge: that what it allows is enough."""

import configparser
import re
import shutil
import socket
import time

import pytest
from lib.namespaces import run
from lib.pktpit_router import DAEMON, ROOT
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the unit is Pktpit's"), pytest.mark.xdp("the unit is the same for all"),
              pytest.mark.says_who_decides("the unit is the same for all"),
              pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze: apt install systemd")]

UNIT = ROOT / "packaging" / "systemd" / "pktpitd.service"
EXPOSURE = 2.6  # of 10; what is left is a router's work: capabilities, sockets, the host's network


@requirement("`systemd-analyze verify` finds nothing")
def test_the_unit_is_right(tmp_path):
    # Its program stands where this build has it.
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/sbin/pktpitd", str(DAEMON)))
    verified = run("systemd-analyze", "--man=no", "verify", unit, check=False)
    assert verified.returncode == 0 and not verified.stderr.strip(), verified.stderr


@requirement("`systemd-analyze security` rates its exposure no worse than before")
def test_the_units_exposure():
    rated = run("systemd-analyze", "--no-pager", "security", "--offline=true", f"--threshold={round(EXPOSURE * 10)}", UNIT, check=False)
    level = re.search(r"Overall exposure level for \S+: ([\d.]+)", rated.stdout)[1]
    assert rated.returncode == 0 and float(level) <= EXPOSURE, level


def members(names, seen=()):
    """System calls of systemd's sets."""
    calls = set()
    for name in names:
        if not name.startswith("@"):
            calls.add(name)
        elif name not in seen:
            listed = run("systemd-analyze", "--no-pager", "syscall-filter", name).stdout.splitlines()[1:]
            calls |= members([line.strip() for line in listed if line.strip() and not line.strip().startswith("#")], (*seen, name))
    return calls


@requirement("the unit refuses no system call that the daemon allows itself: its own list alone decides, and says so in the log")
def test_the_units_list_has_the_daemons():
    allowed = set()
    for line in re.findall(r"^SystemCallFilter=(.*)$", UNIT.read_text(), re.M):
        names = line.lstrip("~").split(":")[0].split()
        allowed = allowed - members(names) if line.startswith("~") else allowed | members(names)
    source = (ROOT / "router" / "daemon" / "system_calls.cpp").read_text()
    listed = re.search(r"allowed\[\] = \{(.*?)\};", source, re.S)[1]
    own = set(re.findall(r'"(\w+)"', listed)) | {"socket", "socketpair", "clone", "seccomp"}
    assert own <= allowed, sorted(own - allowed)


@requirement("Type=notify and WatchdogSec: the daemon says READY=1, feeds the watchdog from its loop, and stops to when that stands still; "
             "a manager that hangs holds nothing up")
def test_the_watchdog_is_fed_by_the_loop(build_net, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        path = tmp_path / "notify"
        manager.bind(str(path))
        manager.settimeout(DEADLINE)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        net = build_net(settle=False)
        said = set()
        while not {"READY=1", "WATCHDOG=1"} <= said:
            said |= set(manager.recv(4096).decode().split("\n"))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, pytest.raises(BlockingIOError):
            other.setblocking(False)
            while True:
                other.sendto(b"no room", str(path))
        pid = net.router.json("show", "version")["pid"]
        end = time.monotonic() + 1  # in which its watchdog is due ten times
        while time.monotonic() < end:
            net.router.json("show", "version")
        run("kill", "-STOP", str(pid))
        try:
            wait_for(lambda: "T (stopped)" in open(f"/proc/{pid}/status").read(), "the daemon stands still")
            manager.setblocking(False)
            with pytest.raises(BlockingIOError):
                while True:
                    manager.recv(4096)  # what was said before
            manager.settimeout(1.0)
            with pytest.raises(TimeoutError):
                manager.recv(4096)
        finally:
            run("kill", "-CONT", str(pid))
        manager.settimeout(DEADLINE)
        assert manager.recv(4096) == b"WATCHDOG=1"
        run("kill", "-TERM", str(pid))
        while manager.recv(4096) != b"STOPPING=1":
            pass
        net.router.stop()


@requirement("a crash leaves the data path and the run directory to the daemon that systemd starts next")
def test_the_unit_restarts_what_ends():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read_string(UNIT.read_text())
    service = unit["Service"]
    assert service["Type"] == "notify" and service["Restart"] == "always" and "WatchdogSec" in service
    assert service["RuntimeDirectory"] == "pktpit" and service["RuntimeDirectoryPreserve"] == "yes"
    assert service["RuntimeDirectoryMode"] == "0750" and unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert set(service["CapabilityBoundingSet"].split()) == {"CAP_BPF", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_PERFMON"}
