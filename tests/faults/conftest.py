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
from injection import ALL  # noqa: E402
globals().update({name: each for name, each in vars(_house).items()
                  if name.startswith("pytest_") and name not in ("pytest_xdist_make_scheduler", "pytest_terminal_summary")})
build_net = _house.build_net


def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScheduling
    return LoadScheduling(config, log)


def pytest_terminal_summary(terminalreporter):
    """How many points were tried, of how many calls there are."""
    tried, calls, all_calls = 0, 0, {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, value in getattr(report, "user_properties", ()) if getattr(report, "when", "") == "call" else ():
                if name == "points":
                    terminalreporter.write_line(f"{report.nodeid.split('::')[-1]}: {value['text']}")
                    tried += value["tried"]
                    calls += value["calls"]
                    all_calls[value["way"]] = max(all_calls.get(value["way"], 0), value["of"])
    if tried:
        terminalreporter.write_line(f"fault points tried: {tried}, at {calls} of {sum(all_calls.values())} calls: "
                                    + ("each, with every error" if ALL else "of calls alike, the first, the last and some between; "
                                       "PKTPIT_FAULTS=all tries each with every error"))


@pytest.fixture
def points(request):
    """points(way, tried, calls, of, text): for the summary."""
    def say(way, tried, calls, of, text):
        request.node.user_properties.append(("points", {"way": way, "tried": tried, "calls": calls, "of": of, "text": text}))
    return say
