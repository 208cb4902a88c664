# SPDX-License-Identifier: BSD-3-Clause
"""The steps of both tiers. Each one is a `make` target that can be run by itself.

The gate (`make test`) has a part of everything and judges by content alone. `make test-all` has everything, what measures time
included, which then has the machine to itself."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """`counted`: the runner's closing line tells how many tests it ran; else the step counts as one.
    `settings`: environment variables, None removes one. `ignores`: what it has nothing to do with, as beginnings of names below tests/.
    `ships_pages`: every page counts."""

    name: str
    target: str
    counted: bool = True
    settings: tuple = ()
    ignores: tuple = ()
    ships_pages: bool = False
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


# Of tests/: the folders of tests in Python, and those of tests in C++.
PYTHON = ("bench/", "e2e/", "faults/", "kernels/", "lint/", "packages/")
COMPILED = ("differential/", "fuzz/", "property/", "system/", "topologies/", "unit/")


def all_but(*own):
    """What a step of tests in Python ignores, that has to do with these folders alone."""
    return tuple(folder for folder in (*PYTHON, *COMPILED, "guests/", "p2p/") if folder not in own)


END_TO_END = all_but("e2e/")
END_TO_END_TESTS = "e2e/test_"  # what stands beside them, others use as well
FORMATTING = Step("formatting", "check-format", counted=False)
PROGRAMS = build("the programs", "build-programs")
TESTS = build("the tests", "build-tests")
UNIT = Step("unit tests", "test-unit", ignores=PYTHON)
REPLAY = Step("fuzz targets on their corpora", "test-replay", ignores=PYTHON)
DIFFERENTIAL = Step("differential tests: eBPF and C++ on the same packets", "test-differential", ignores=PYTHON)
SYSTEM = Step("system tests: netlink and the data path", "test-system", ignores=PYTHON)
EVERY_WAY = {"inline": "test-e2e", "split": "test-e2e-split", "auto": "test-e2e-auto", "dpdk": "test-e2e-dpdk",
             "model, the packet path": "test-e2e-model"}
KERNELS = ("6.1", "6.12", "newest")
ALL_ROUNDS = (("PKTPIT_ROUNDS", "all"),)


def gate(root, data):
    computing = [TESTS, Step("unit and property tests, fuzz targets on their corpora", "test-quick")]
    if root:
        computing += [DIFFERENTIAL, SYSTEM]
    computing.append(Step("lint of what has changed", "check-lint", counted=False))
    waiting = [Step("payloads NIC to NIC, one emulated machine", "test-p2p-gate")]
    if root:
        waiting = [*(Step(f"end to end: {way}", f"test-e2e-gate-{way}") for way in ("inline", "split", "auto", "dpdk", "model")), *waiting,
                   Step("kernels: Debian 12's, in a guest without KVM", "test-kernels-gate")]
    return Tier([FORMATTING, PROGRAMS], [computing, waiting])


def everything(root, data):
    computing = [UNIT, Step("property tests, all rounds", "test-property", settings=ALL_ROUNDS, ignores=PYTHON), REPLAY,
                 build("AddressSanitizer and UndefinedBehaviorSanitizer", "build-asan"),
                 Step("unit and differential tests, with AddressSanitizer and UndefinedBehaviorSanitizer", "test-asan", ignores=PYTHON),
                 build("ThreadSanitizer", "build-tsan"),
                 Step("what has threads, with ThreadSanitizer", "test-tsan", ignores=PYTHON),
                 build("fuzz targets", "build-fuzz"), Step("fuzzing", "test-fuzz", ignores=PYTHON),
                 Step("lint", "lint", counted=False, ignores=(END_TO_END_TESTS, "e2e/lib/", "faults/", "guests/", "kernels/", "lint/", "packages/")),
                 Step("what lint looks at", "test-lint", ignores=all_but("lint/"))]
    p2p = Step("payloads NIC to NIC, in emulated machines", "test-p2p", ignores=all_but("guests/", "p2p/"))
    first = [FORMATTING, build("release, all programs, benchmarks and tests", "build-all")]
    if not root:
        return Tier(first, [computing, [p2p]])
    waiting = [Step(DIFFERENTIAL.name + ", all rounds", DIFFERENTIAL.target, settings=ALL_ROUNDS, ignores=PYTHON), SYSTEM,
               *(Step(f"end to end: {way}", target, ignores=END_TO_END) for way, target in EVERY_WAY.items()),
               Step("faults at every call to the kernel, every error", "test-faults", settings=(("PKTPIT_FAULTS", "all"),),
                    ignores=(*all_but("e2e/", "faults/"), END_TO_END_TESTS)),
               Step("which route wins, for an hour of random changes", "test-churn", ignores=END_TO_END),
               p2p,
               *(Step(f"kernels: Debian's {series}, in guests without KVM", f"test-kernels-{series}",
                      ignores=all_but("differential/", "e2e/", "guests/", "kernels/")) for series in KERNELS),
               Step("the benchmarks' machinery", "test-bench", ignores=("e2e/", "faults/", "guests/", "kernels/", "lint/", "packages/")),
               Step("packages, in a fresh Debian root", "test-packages", ignores=(*all_but("e2e/", "packages/"), END_TO_END_TESTS),
                    ships_pages=True),
               build("programs with AddressSanitizer and UndefinedBehaviorSanitizer", "build-e2e-asan"),
               Step("end to end, with AddressSanitizer and UndefinedBehaviorSanitizer", "test-e2e-asan", ignores=END_TO_END),
               build("programs with ThreadSanitizer", "build-e2e-tsan"),
               Step("end to end, with ThreadSanitizer", "test-e2e-tsan", ignores=END_TO_END)]
    if data:
        waiting.append(Step("what depends on recorded routes, without them", "test-without-data", settings=(("PKTPIT_DATA", None),)))
    return Tier(first, [computing, waiting], [Step("what measures time, alone", "test-measure", ignores=END_TO_END)])


TIERS = {"gate": gate, "all": everything}
