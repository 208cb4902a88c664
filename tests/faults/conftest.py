# SPDX-License-Identifier: BSD-3-Clause
"""Routers, namespaces and house rules are those of the end-to-end tests (tests/e2e/conftest.py)."""

import importlib.util
import sys
from pathlib import Path

import pytest

END_TO_END = Path(__file__).resolve().parent.parent / "e2e"
sys.path[:0] = [str(Path(__file__).parent), str(END_TO_END)]
_spec = importlib.util.spec_from_file_location("end_to_end", END_TO_END / "conftest.py")
_house = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_house)
globals().update({name: each for name, each in vars(_house).items()
                  if name.startswith("pytest_") and name not in ("pytest_xdist_make_scheduler", "pytest_terminal_summary")})
build_net = _house.build_net


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScheduling
    return LoadScheduling(config, log)


def pytest_terminal_summary(terminalreporter):
    """How many points were tried, of how many calls there are."""
    tried = calls = 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()) if getattr(report, "when", "") == "call" else ():
                if name == "points":
                    terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value['text']}")
                    tried += value["tried"]
                    calls += value["calls"]
    if tried:
        terminalreporter.write_line(f"fault points tried: {tried}, at {calls} calls")


@pytest.fixture
def points(request):
    """points(tried, calls, text): for the summary."""
    def say(tried, calls, text):
        request.node.user_properties.append(("points", {"tried": tried, "calls": calls, "text": text}))
    return say
