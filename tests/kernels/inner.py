# SPDX-License-Identifier: BSD-3-Clause
"""Tests that run in the guest, and what they say: each test's verdict is read back by name from JUnit's XML, which pytest and
googletest both write."""

import os
import shlex
import xml.etree.ElementTree as Xml
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PKTPIT_BUILD", ROOT / "build" / "release")).resolve()
PATIENCE = 8  # how much longer than usual an event may take there
DEADLINE = 3600  # seconds; ends a hang of all of a check
SHOWN, SHOWN_EACH = 12_000, 4_000  # characters of what pytest, and what one failed test said
MEASURED = "measure:"  # skipped everywhere but in test-measure


@dataclass
class Outcome:
    passed: int = 0
    failed: dict = field(default_factory=dict)  # name: what was said
    skipped: dict = field(default_factory=dict)  # name: why
    seconds: float = 0.0

    def add(self, case):
        name = f"{case.get('classname', '').split('.')[-1]}::{case.get('name')}"
        self.seconds += float(case.get("time", 0))
        trouble = [part for part in case if part.tag in ("failure", "error")]
        skip = case.find("skipped")
        if trouble:
            self.failed[name] = "\n".join(f"{part.get('message', '')}\n{part.text or ''}" for part in trouble)
        elif skip is None:
            self.passed += 1
        elif not (why := skip.get("message", "") or (skip.text or "").strip()).startswith(MEASURED):
            self.skipped[name] = why


class Broken(AssertionError):
    """The tests did not come to an end."""


def run(machine, name, command, environment):
    """The outcome of a command that writes JUnit's XML to the path that $XML names."""
    file, log = machine.out / f"{name}.xml", machine.out / f"{name}.log"
    settings = {"PKTPIT_PATIENCE": PATIENCE, "PKTPIT_BUILD": BUILD, "PYTHONUNBUFFERED": 1,
                "XML": f"/run/out/{name}.xml", **environment}
    words = " ".join(f"{key}={shlex.quote(str(value))}" for key, value in settings.items())
    status, _ = machine.guest.run(f"cd {ROOT} && export {words} && {command} >/run/out/{name}.log 2>&1", check=False, deadline=DEADLINE)
    said = log.read_text(errors="replace") if log.exists() else ""
    if not file.exists():
        raise Broken(f"{command}: exit {status}, and no list of tests\n{said[-SHOWN:]}")
    outcome = Outcome()
    for case in Xml.parse(file).getroot().iter("testcase"):
        outcome.add(case)
    if status and not outcome.failed:
        raise Broken(f"{command}: exit {status}, and no test has failed\n{said[-SHOWN:]}")
    if not outcome.passed and not outcome.failed and not outcome.skipped:
        raise Broken(f"{command}: no test ran\n{said[-SHOWN:]}")
    return outcome


def python(machine, check):
    files = " ".join(f"tests/e2e/{file}.py" for file in check.files)
    # A worker more costs half a minute until it has loaded what tests import.
    command = f"/usr/bin/python3 -m pytest -q -n {check.workers} --timeout {DEADLINE} --junitxml=$XML {files}"
    command += " --gate" if check.gate else ""
    command += f" -k {shlex.quote(check.chosen)}" if check.chosen else ""
    return run(machine, check.name.replace(" ", "-").replace(",", ""), command, {"PKTPIT_FORWARDING": check.way})


def compiled(machine, check):
    command = f"{BUILD / check.program} --gtest_output=xml:$XML"
    return run(machine, Path(check.program).name, command, {"GTEST_FILTER": check.chosen})


def failures(outcome):
    """The failed tests by name, then how each began to say what is wrong, and how it ended."""
    text = "\n".join(outcome.failed)
    for name, said in outcome.failed.items():
        text += f"\n\n--- {name}\n" + (said if len(said) <= SHOWN_EACH else f"{said[:SHOWN_EACH // 2]}\n…\n{said[-SHOWN_EACH // 2:]}")
    return text
