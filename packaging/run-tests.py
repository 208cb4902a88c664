#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the checks of a tier: `gate` (make test) or `all` (make test-all).

Two lanes run beside each other: what computes, and what mostly waits. Each step is announced when it begins and when it ends.
The output of one that fails follows whole; all outputs are kept below build/test-logs. At the end comes the table of steps, slowest
first, which build/test-report.txt has as well. `all` leaves out what has passed on this very tree before (checks/passed.py).

Which routes the tests use is said in their output: recorded ones where PKTPIT_DATA names a folder that has them, else generated ones.
"""

import argparse
import datetime
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True

from checks.output import failures, verdict, without_progress  # noqa: E402
from checks.passed import Passed  # noqa: E402
from checks.steps import TIERS  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / "build" / "test-logs"
REPORT = ROOT / "build" / "test-report.txt"
QUIET_FOR = 30  # seconds; then a line says what is still running


class Run:
    def __init__(self, passed):
        self.passed = passed  # None: nothing is remembered
        self.begin = self.last_told = time.monotonic()
        self.output = threading.Lock()
        self.results, self.running, self.processes = {}, {}, {}
        self.stopped = False

    def say(self, text, more=""):
        with self.output:
            print(f"== {text} ({time.monotonic() - self.begin:.0f} s)" + (f"\n{more}" if more else ""), flush=True)
            self.last_told = time.monotonic()

    def run(self, step):
        """Whether it passed."""
        of = self.passed.of(step) if self.passed else None
        if self.passed and (found := self.passed.recall(step, of)):
            self.results[step] = found
            self.say(f"{step.name}: passed on this tree at {found['date']}")
            return True
        self.say(step.name)
        self.running[step] = begin = time.monotonic()
        text, status, cpu = self._make(step)
        del self.running[step]
        counts = verdict(text, status, step.counted)
        self.results[step] = result = {
            "seconds": time.monotonic() - begin, "cpu": cpu, "counts": counts, "failures": failures(text), "date": f"{datetime.datetime.now():%F %T}"}
        ended_well = counts[1] == 0
        if ended_well and self.passed:
            self.passed.note(step, of, result)
        self.say(f"{step.name}: {'passed' if ended_well else 'FAILED'}, {result['seconds']:.0f} s", "" if ended_well else without_progress(text))
        return ended_well

    def _make(self, step):
        """(what it printed, its status, the processors' seconds)"""
        environment = {name: value for name, value in {**os.environ, **dict(step.settings)}.items() if value is not None}
        file = LOGS / (re.sub(r"\W+", "-", step.name) + ".log")
        # What others have built is not built again, while a lane builds more in the same folder.
        with open(file, "w+", errors="replace") as log:
            process = subprocess.Popen(["make", "-s", "--no-print-directory", *([] if step.builds else ["BUILT=yes"]), step.target], cwd=ROOT,
                                       env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, process_group=0)
            self.processes[step] = process
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            del self.processes[step]
            log.seek(0)
            return log.read(), status, used.ru_utime + used.ru_stime

    def lane(self, steps):
        for step in steps:
            if not self.stopped and not self.run(step) and step.builds:
                return  # what follows has nothing to run

    def together(self, lanes):
        threads = [threading.Thread(target=self.lane, args=(steps,)) for steps in lanes]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)  # a signal is handled between two waits

    def watch(self):
        """The function of a thread that ends with the program: it says what is still running where nothing has been said for a while."""
        while True:
            time.sleep(1)
            now = time.monotonic()
            if now - self.last_told > QUIET_FOR and self.running:
                self.say("running: " + ", ".join(f"{step.name} for {now - since:.0f} s" for step, since in list(self.running.items())))

    def stop(self, *_):
        self.stopped = True
        for process in list(self.processes.values()):
            os.killpg(process.pid, signal.SIGTERM)

    def close(self, tier, wanted):
        sums = [sum(result["counts"][index] for result in self.results.values()) for index in range(3)]
        missing = [step for step in wanted if step not in self.results]
        if missing and not sums[1]:
            sums[1] = 1
        lines = [f"{tier}: {datetime.datetime.now():%F %T}, commit {commit()}, {machine()}",
                 "Steps, slowest first, with the time that processors worked for them:"]
        for step, result in sorted(self.results.items(), key=lambda each: -each[1]["seconds"]):
            passed, failed, skipped = result["counts"]
            said = f"{passed} passed, {failed} failed, {skipped} skipped" if step.counted else "FAILED" if failed else "passed"
            lines.append(f"{result['seconds']:7.0f} s {result['cpu']:7.0f} s  {step.name:72} {said}  {result['date']}")
        lines.append(f"{time.monotonic() - self.begin:7.0f} s {sum(result['cpu'] for result in self.results.values()):7.0f} s  in all")
        for step, result in self.results.items():
            if result["counts"][1]:
                lines += [f"failed: {step.name}", *(f"  {line}" for line in result["failures"])]
        lines += [f"not run: {step.name}" for step in missing]
        lines.append(f"{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
        REPORT.write_text("\n".join(lines) + "\n")
        print("", *lines, sep="\n", flush=True)
        return 0 if sums[1] == 0 else 1


def commit():
    asked = [["git", "rev-parse", "--short", "HEAD"], ["git", "status", "--porcelain"]]
    name, changed = (subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip() for words in asked)
    return name + (" and what is not committed" if changed else "")


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} CPUs, {memory} GiB, Linux {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tier", choices=TIERS)
    name = parser.parse_args().tier
    LOGS.mkdir(parents=True, exist_ok=True)
    data = os.environ.get("PKTPIT_DATA")
    print(f"routes: {'recorded, from ' + data if data else 'generated (PKTPIT_DATA names no folder with recorded ones)'}", flush=True)
    root = os.geteuid() == 0
    if not root:
        print("not root: differential, system and end-to-end tests are left out")
    tier = TIERS[name](root, data)
    run = Run(Passed(ROOT, data) if name == "all" else None)
    threading.Thread(target=run.watch, daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.stop)
    if all(run.run(step) for step in tier.first if not run.stopped) and not run.stopped:
        run.together(tier.lanes)
        run.lane(tier.alone)
    return run.close(name, tier.steps())


if __name__ == "__main__":
    sys.exit(main())
