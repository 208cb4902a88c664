# SPDX-License-Identifier: BSD-3-Clause
"""The steps of both tiers. Each one is a `make` target that can be run by itself.

The gate (`make test`) has a part of everything and judges by content alone. `make test-all` has everything, what measures time
included, which then has the machine to itself."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """`counted`: the runner's closing line tells how many tests it ran; else the step counts as one.
    `settings`: environment variables, None removes one. `reads`: of the tests and the pages those that it has to do with, by how their
    names begin; None: all of them."""

    name: str
    target: str
    counted: bool = True
    settings: tuple = ()
    reads: tuple | None = None
    builds: bool = False  # never remembered: what it makes has to be there


@dataclasses.dataclass(frozen=True)
class Tier:
    """`first` runs by itself, one step after the other, and ends the run when it fails; then the lanes run beside each other; `alone` is last."""

    first: list
    lanes: list
    alone: list = dataclasses.field(default_factory=list)

    def steps(self):
        return [step for steps in (self.first, *self.lanes, self.alone) for step in steps]


def build(what, target):
    return Step(f"build: {what}", target, counted=False, builds=True)


ALL_TESTS = ("tests/",)
# Unit tests use the peer device of tests/p2p, and compare the page's verdicts.
COMPILED = (*(f"tests/{folder}/" for folder in ("unit", "property", "fuzz", "differential", "system", "p2p")), "docs/packets.md")
END_TO_END = ("tests/e2e/", "docs/examples/", "docs/metrics.md")
FORMATTING = Step("formatting", "check-format", counted=False, reads=ALL_TESTS)
PROGRAMS = build("the programs", "build-programs")
TESTS = build("the tests", "build-tests")
UNIT = Step("unit tests", "test-unit", reads=COMPILED)
REPLAY = Step("fuzz targets on their corpora", "test-replay", reads=COMPILED)
DIFFERENTIAL = Step("differential tests: eBPF and C++ on the same packets", "test-differential", reads=COMPILED)
SYSTEM = Step("system tests: netlink and the data path", "test-system", reads=COMPILED)
EVERY_WAY = {"inline": "test-e2e", "split": "test-e2e-split", "auto": "test-e2e-auto", "dpdk": "test-e2e-dpdk",
             "model, the packet path": "test-e2e-model"}
ALL_ROUNDS = (("PKTPIT_ROUNDS", "all"),)


def gate(root, data):
    computing = [TESTS, Step("unit and property tests, fuzz targets on their corpora", "test-quick")]
    if root:
        computing += [DIFFERENTIAL, SYSTEM]
    computing.append(Step("lint of what has changed", "check-lint", counted=False))
    waiting = [Step("payloads NIC to NIC, one emulated machine", "test-p2p-gate")]
    if root:
        waiting = [*(Step(f"end to end: {way}", f"test-e2e-gate-{way}") for way in ("inline", "split", "auto", "dpdk", "model")), *waiting]
    return Tier([FORMATTING, PROGRAMS], [computing, waiting])


def everything(root, data):
    computing = [UNIT, Step("property tests, all rounds", "test-property", settings=ALL_ROUNDS, reads=COMPILED), REPLAY,
                 build("AddressSanitizer and UndefinedBehaviorSanitizer", "build-asan"),
                 Step("unit and differential tests, with AddressSanitizer and UndefinedBehaviorSanitizer", "test-asan", reads=COMPILED),
                 build("ThreadSanitizer", "build-tsan"),
                 Step("what has threads, with ThreadSanitizer", "test-tsan", reads=COMPILED),
                 build("fuzz targets", "build-fuzz"), Step("fuzzing", "test-fuzz", reads=COMPILED),
                 Step("lint", "lint", counted=False, reads=ALL_TESTS), Step("what lint looks at", "test-lint", reads=("tests/lint/",))]
    p2p = Step("payloads NIC to NIC, in emulated machines", "test-p2p", reads=("tests/p2p/",))
    first = [FORMATTING, build("release, all programs, benchmarks and tests", "build-all")]
    if not root:
        return Tier(first, [computing, [p2p]])
    waiting = [Step(DIFFERENTIAL.name + ", all rounds", DIFFERENTIAL.target, settings=ALL_ROUNDS, reads=COMPILED), SYSTEM,
               *(Step(f"end to end: {way}", target, reads=END_TO_END) for way, target in EVERY_WAY.items()),
               Step("faults at every call to the kernel, every error", "test-faults", settings=(("PKTPIT_FAULTS", "all"),),
                    reads=("tests/e2e/", "tests/faults/")),
               p2p,
               Step("the benchmarks' machinery", "test-bench", reads=("tests/unit/", "tests/bench/")),
               Step("packages, in a fresh Debian root", "test-packages", reads=("tests/e2e/", "tests/packages/", "docs/", "README.md")),
               build("programs with AddressSanitizer and UndefinedBehaviorSanitizer", "build-e2e-asan"),
               Step("end to end, with AddressSanitizer and UndefinedBehaviorSanitizer", "test-e2e-asan", reads=END_TO_END),
               build("programs with ThreadSanitizer", "build-e2e-tsan"),
               Step("end to end, with ThreadSanitizer", "test-e2e-tsan", reads=END_TO_END)]
    if data:
        waiting.append(Step("what depends on recorded routes, without them", "test-without-data", settings=(("PKTPIT_DATA", None),),
                            reads=ALL_TESTS))
    return Tier(first, [computing, waiting], [Step("what measures time, alone", "test-measure", reads=END_TO_END)])


TIERS = {"gate": gate, "all": everything}
