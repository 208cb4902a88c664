#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""`make test`: every check. Two lanes run beside each other: what builds and computes (the sanitizers' programs and tests, lint,
property tests), with a low priority, and what mostly waits (end-to-end tests). Each step is announced when it begins and when it
ends, its output follows whole when it has ended; at the end a table of steps, slowest first, and the sum over all runners.

Which routes the tests use is said in their output: recorded ones where PKTPIT_DATA names a folder that has them, else
generated ones. Where there are recorded ones, what depends on them runs once without, too.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_AGAIN = 8  # tests of a step
# What the targets of end-to-end tests set.
TEST_RUNS = {"test-e2e-split": {"PKTPIT_FORWARDING": "split"}, "test-e2e-auto": {"PKTPIT_FORWARDING": "auto"},
             "test-e2e-dpdk": {"PKTPIT_DATAPLANE": "dpdk"}, "test-e2e-model": {"PKTPIT_DATAPLANE": "model"}}
QUIET_FOR = 30  # seconds; then a line says what is still running


def closing_counts(text):
    """(passed, failed, skipped) of all closing lines of ctest and pytest in a step's output; None: there is none."""
    counts, found = [0, 0, 0], False
    for left, total in re.findall(r"tests passed, (\d+) tests? failed out of (\d+)", text):
        counts[0] += int(total) - int(left)
        counts[1] += int(left)
        found = True
    for line in re.findall(r"^(?:=+ )?((?:\d+ \w+,? ?)+) in [\d.]+s", text, re.M):
        for number, word in re.findall(r"(\d+) (\w+)", line):
            index = {"passed": 0, "xfailed": 0, "failed": 1, "error": 1, "errors": 1, "skipped": 2}.get(word)
            if index is not None:
                counts[index] += int(number)
        found = True
    return tuple(counts) if found else None


def failures(text):
    """The lines in a step's output that name what failed: pytest's, and ctest's list at its end."""
    return [line.strip() for line in text.splitlines() if re.match(r"(FAILED|ERROR) \S+::|\s+\d+ - \S+ \((?!Skipped|Not Run \(Disabled)", line)]


class Step:
    """A `make` target. `counted`: its runner's closing line tells how many tests it ran; else it counts as one test."""

    def __init__(self, name, target, counted=True, **environment):
        self.name, self.target, self.counted = name, target, counted
        self.environment = environment
        self.seconds = self.cpu = self.counts = None
        self.failures = []


def environment_of(step):
    given = {**os.environ, **step.environment}
    return {name: value for name, value in given.items() if value is not None}


class Run:
    def __init__(self):
        self.begin = time.monotonic()
        self.output = threading.Lock()
        self.steps, self.running, self.processes = [], {}, {}
        self.last_told = self.begin
        self.stopped = False
        self.alone = []

    def say(self, text):
        with self.output:
            print(f"== {text} ({time.monotonic() - self.begin:.0f} s)", flush=True)
            self.last_told = time.monotonic()

    def run(self, step, niceness):
        self.steps.append(step)
        self.say(step.name)
        self.running[step] = begin = time.monotonic()
        environment = environment_of(step)
        with tempfile.TemporaryFile("w+", errors="replace") as log:
            process = subprocess.Popen(["nice", "-n", str(niceness), "make", "-s", "--no-print-directory", step.target],
                                       cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                       stderr=subprocess.STDOUT, process_group=0)
            self.processes[step] = process
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            log.seek(0)
            text = log.read()
        del self.running[step], self.processes[step]
        step.seconds, step.cpu = time.monotonic() - begin, used.ru_utime + used.ru_stime
        counts = closing_counts(text) if step.counted else (1, 0, 0) if status == 0 else (0, 1, 0)
        if counts is None or (status != 0 and counts[1] == 0):
            counts = ((counts or (0, 0, 0))[0], 1, (counts or (0, 0, 0))[2])
        step.counts, step.failures = counts, failures(text)
        with self.output:
            lines = [line for line in text.splitlines() if not re.match(r"\[\d+/\d+\] ", line)]
            print("\n".join(lines), flush=True) if lines else None
        self.say(f"{step.name}: {'passed' if counts[1] == 0 else 'FAILED'}, {step.seconds:.0f} s")
        return counts[1] == 0

    def again(self, step):
        """Of end-to-end tests that failed beside everything else: do they pass with the machine to themselves? They have failed all the
        same; the answer says where to look."""
        names = [match[1] for line in step.failures if (match := re.match(r"(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", line))]
        if not names or len(names) > MOST_AGAIN:
            return
        self.say(f"{step.name}: what failed, again with nothing beside it")
        environment = {**environment_of(step), **TEST_RUNS.get(step.target, {})}
        for name in names:
            done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-q", name], cwd=ROOT, env=environment, check=False)
            self.alone.append(f"{'passes' if done.returncode == 0 else 'fails'} alone: {name} ({step.name})")

    def lane(self, steps, niceness):
        for step in steps:
            if not self.stopped:
                self.run(step, niceness)

    def watch(self):
        """Of a thread that ends with the program: says what is still running where nothing has been said for a while."""
        while True:
            time.sleep(1)
            now = time.monotonic()
            if now - self.last_told > QUIET_FOR and self.running:
                self.say("running: " + ", ".join(f"{step.name} for {now - since:.0f} s"
                                                 for step, since in list(self.running.items())))

    def stop(self, *_):
        self.stopped = True
        for process in list(self.processes.values()):
            os.killpg(process.pid, signal.SIGTERM)

    def close(self):
        print("\nSteps, slowest first, with the time that processors worked for them:")
        for step in sorted(self.steps, key=lambda step: -(step.seconds or 0)):
            passed, failed, skipped = step.counts or (0, 1, 0)
            counted = f"{passed} passed, {failed} failed, {skipped} skipped" if step.counted else ""
            print(f"{step.seconds or 0:7.0f} s {step.cpu or 0:7.0f} s  {step.name:62} {counted or ('passed' if not failed else 'FAILED')}")
        cpu = sum(step.cpu or 0 for step in self.steps)
        print(f"{time.monotonic() - self.begin:7.0f} s {cpu:7.0f} s  in all\n")
        sums = [sum((step.counts or (0, 1, 0))[index] for step in self.steps) for index in range(3)]
        for step in self.steps:
            if not step.counts or step.counts[1]:
                print(f"failed: {step.name}", *step.failures, sep="\n  ")
        if self.alone:
            print("what failed, run again alone:", *self.alone, sep="\n  ")
        if self.stopped:
            print("stopped before the end")
        print(f"{sums[0]} passed, {sums[1]} failed, {sums[2]} skipped", flush=True)
        return 0 if sums[1] == 0 and not self.stopped else 1


def main():
    os.chdir(ROOT)
    run = Run()
    threading.Thread(target=run.watch, daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, run.stop)
    data = os.environ.get("PKTPIT_DATA")
    print(f"routes: {'recorded, from ' + data if data else 'generated (PKTPIT_DATA names no folder with recorded ones)'}")
    build = Step("build: release, all programs and tests", "build-tests", counted=False)
    for step in (Step("formatting", "check-format", counted=False), build):
        if not run.run(step, 0):
            return run.close()
    root = os.geteuid() == 0
    computing = [Step("property tests", "test-property"),
                 Step("build: AddressSanitizer", "build-asan", counted=False),
                 Step("unit and differential tests, with AddressSanitizer and UndefinedBehaviorSanitizer", "test-asan"),
                 Step("lint", "lint", counted=False),
                 Step("build: ThreadSanitizer", "build-tsan", counted=False), Step("ThreadSanitizer", "test-tsan"),
                 Step("build: fuzz targets", "build-fuzz", counted=False), Step("fuzz targets", "test-fuzz")]
    waiting = [Step("payloads NIC to NIC, in an emulated machine", "test-p2p")]
    if root:
        waiting = [Step("differential tests: eBPF and C++ on the same packets", "test-differential"),
                   Step("system tests: netlink and the data path", "test-system"),
                   Step("end-to-end tests", "test-e2e"),
                   Step("end-to-end tests, every port split", "test-e2e-split"),
                   Step("end-to-end tests, every port auto", "test-e2e-auto"),
                   Step("faults at every call to the kernel", "test-faults"),
                   Step("end-to-end tests, a short list with AddressSanitizer", "test-e2e-asan-short"),
                   Step("end-to-end tests on DPDK", "test-e2e-dpdk"),
                   Step("end-to-end tests of the packet path, on modelled NICs", "test-e2e-model"),
                   Step("the benchmarks' machinery", "test-bench"),
                   Step("packages, in a fresh Debian root", "test-packages"), *waiting]
    else:
        print("not root: differential, system and end-to-end tests are left out")
    if data:
        waiting.append(Step("what depends on recorded routes, without them", "test-without-data", PKTPIT_DATA=None))
    lanes = [threading.Thread(target=run.lane, args=lane) for lane in ((computing, 15), (waiting, 0))]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        while thread.is_alive():
            thread.join(0.5)  # a signal is handled between two waits
    for step in [step for step in run.steps if step.counts and step.counts[1] and not run.stopped]:
        run.again(step)
    return run.close()


if __name__ == "__main__":
    sys.exit(main())
