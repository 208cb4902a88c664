#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The arrows between folders, one definition of a name, then clang-tidy over every C++ source that the build directories
compile; any finding is an error.

clang-tidy looks at all that a unit includes, which is most of what it costs, so sources of the same flags are looked at
together, up to MOST in a unit. Those that do not compile behind the others (names of two anonymous namespaces clash) are
gathered from all units and make new ones.

A unit that was found clean is not looked at again while what its preprocessor makes of it (comments included), the checks and
clang-tidy's version stay the same: that is remembered in PKTPIT_LINT_CACHE, by default ~/.cache/pktpit-lint.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("PKTPIT_LINT_CACHE") or Path.home() / ".cache" / "pktpit-lint")
REMEMBERED_FOR = 60 * 86400  # seconds without use
MOST = 24  # sources in a unit
# Each program has one of these.
ENTRIES = "".join(f"#undef {name}\n#define {name} {name}_{{0}}\n" for name in ("main", "LLVMFuzzerTestOneInput"))


def sources_of(builds):
    """(Source, flags), each source once; generated text (embedded schemas) is nobody's style."""
    seen = set()
    for build in builds:
        for command in json.loads((build / "compile_commands.json").read_text()):
            file = Path(command["file"])
            if file.suffix not in (".cpp", ".cxx") or (file.is_relative_to(build) and "Unity" not in file.parts):
                continue
            included = re.findall(r'#include "([^"]+)"', file.read_text()) if "Unity" in file.parts else [file]
            for source in map(Path, included):
                if source not in seen:
                    seen.add(source)
                    yield source, flags_of(command)


def flags_of(command):
    """What a source is compiled with, but how well it is optimised."""
    words = shlex.split(command["command"])
    start = next(index for index, word in enumerate(words) if Path(word).name in ("c++", "g++", "clang++"))
    words = words[start + 1:]
    for option in ("-o", "-c"):
        at = words.index(option)
        del words[at:at + (2 if option == "-o" else 1)]
    words.remove(command["file"])
    return tuple(word for word in words if not re.fullmatch(r"-O\w|-g\w*", word))


def group(sources):
    """Lists of at most MOST (source, flags) that may be one unit: of the same checks, and flags that differ in folders alone."""
    alike = {}
    for source, flags in sources:
        folders = ("-I", "-isystem")
        told_apart = tuple(word for index, word in enumerate(flags)
                           if not word.startswith(folders) and (index == 0 or flags[index - 1] not in folders))
        alike.setdefault((checks_of(source), told_apart), []).append((source, flags))
    for (_, told_apart), members in sorted(alike.items()):
        # Neighbours share headers.
        members.sort()
        pieces = -(-len(members) // MOST)
        for piece in range(pieces):
            part = members[piece * len(members) // pieces:(piece + 1) * len(members) // pieces]
            folders = dict.fromkeys(word for _, flags in part for word in folders_of(flags))
            yield Unit([source for source, _ in part], [*told_apart, *(word for pair in folders for word in pair)])


def folders_of(flags):
    words = iter(flags)
    for word in words:
        if word in ("-I", "-isystem"):
            yield word, next(words)
        elif word.startswith("-I"):
            yield (word,)


class Unit:
    def __init__(self, sources, flags):
        self.sources, self.flags, self.file = sources, flags, None

    def clashing(self):
        """The sources that do not compile behind the others."""
        done = run(["clang++", "-w", "-fsyntax-only", "-ferror-limit=0", *self.flags, self.file])
        wrong, chain = set(), []
        for line in done.stderr.splitlines():
            if found := re.match(r"In file included from (\S+?):\d+:", line):
                chain.append(found[1])
            elif found := re.match(r"(\S+?):\d+:\d+: (fatal error|error|note|warning):", line):
                if "error" in found[2]:
                    wrong |= {*chain, found[1]}
                chain = []
        clashing = [source for source in self.sources if str(source) in wrong]
        whole = done.returncode == 0 or 0 < len(clashing) < len(self.sources)
        return clashing if whole else self.sources[len(self.sources) // 2:]


def checks_of(source):
    """What the nearest .clang-tidy below the root adds: clang-tidy itself looks beside the unit, which may be a generated one."""
    for folder in source.parents:
        if folder == ROOT:
            return ""
        if (folder / ".clang-tidy").exists():
            found = re.search(r"^Checks: *>?\s*((?:[ \t]*[^\s#:]+,?\n)+|[^\n]+)", (folder / ".clang-tidy").read_text(), re.M)
            return "".join(found[1].split()).strip("'\"") if found else ""
    return ""


class Linter:
    def __init__(self, checks, folder):
        self.checks, self.folder = checks, Path(folder)
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
        self.common = version + (ROOT / ".clang-tidy").read_bytes() + checks.encode()
        self.lock, self.units, self.remembered, self.failed, self.done, self.last_told = (
            threading.Lock(), 0, 0, 0, 0, time.monotonic())

    def write(self, unit):
        if len(unit.sources) == 1:
            unit.file = unit.sources[0]
            return
        text = "".join(f'{ENTRIES.format(index)}#include "{source}"\n' for index, source in enumerate(unit.sources))
        unit.file = self.folder / f"{hashlib.sha256((text + repr(unit.flags)).encode()).hexdigest()}.cpp"
        unit.file.write_text(text)

    def settle(self, sources, pool):
        """Units that compile, of all sources (Source, flags), the largest first, so that none of them is the last to end."""
        flags, settled = dict(sources), []
        while sources:
            units, sources = list(group(sources)), []
            while units:
                clashing = list(pool.map(self.clashing, units))
                settled += [unit for unit, wrong in zip(units, clashing) if not wrong]
                sources += [(source, flags[source]) for wrong in clashing for source in wrong]
                units = [Unit([source for source in unit.sources if source not in wrong], unit.flags)
                         for unit, wrong in zip(units, clashing) if wrong]
        return sorted(settled, key=lambda unit: -sum(source.stat().st_size for source in unit.sources))

    def clashing(self, unit):
        """Unit.clashing(), remembered for as long as its sources stay the same."""
        if len(unit.sources) == 1:
            return []
        self.write(unit)
        memory = self.key(unit, "").with_suffix(".clashing")
        if not memory.exists():
            memory.write_text("".join(f"{unit.sources.index(source)}\n" for source in unit.clashing()))
        memory.touch()
        return [unit.sources[int(line)] for line in memory.read_text().split()]

    def key(self, unit, checks):
        text = run(["clang++", "-w", "-E", "-CC", *unit.flags, unit.file], text=False)
        text = text.stdout.replace(bytes(self.folder), b"").replace(bytes(ROOT), b".") + b"\0" * text.returncode
        return CACHE / hashlib.sha256(self.common + checks.encode() + b"\0" + text).hexdigest()

    def lint(self, unit):
        checks = ",".join(filter(None, (checks_of(unit.sources[0]), self.checks,
                                        "-bugprone-suspicious-include" if len(unit.sources) > 1 else "")))
        self.write(unit)
        key = self.key(unit, checks)
        if key.exists():
            key.touch()
            return self.tell(unit, remembered=True)
        done = run(["clang-tidy", "--quiet", "--warnings-as-errors=*", f"--config-file={ROOT / '.clang-tidy'}",
                    *([f"--checks={checks}"] if checks else []), unit.file, "--", *unit.flags])
        if done.returncode == 0:
            key.touch()
        return self.tell(unit, done.returncode != 0, done.stdout + ("" if done.returncode == 0 or done.stdout else done.stderr))

    def tell(self, unit, failed=False, said="", remembered=False):
        with self.lock:
            self.units += 1
            self.done += len(unit.sources)
            self.failed += failed
            self.remembered += remembered
            if failed:
                print(said, flush=True)
            if time.monotonic() - self.last_told > 15:
                print(f"lint: {self.done} sources", flush=True)
                self.last_told = time.monotonic()


def run(words, text=True):
    return subprocess.run(list(map(str, words)), capture_output=True, text=text, check=False)


def forget_old():
    for entry in CACHE.iterdir():
        if time.time() - entry.stat().st_mtime > REMEMBERED_FOR:
            entry.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("builds", type=Path, nargs="+", help="configured build directories")
    parser.add_argument("--only", action="append", default=[], help="units with a source below this path")
    parser.add_argument("--checks", default="", help="more checks, as clang-tidy takes them")
    options = parser.parse_args()
    structure = subprocess.run([ROOT / "packaging/include-matrix.py", "--quiet"], check=False).returncode
    structure |= subprocess.run([ROOT / "packaging/one-definition.py"], check=False).returncode
    builds = [build.resolve() for build in options.builds]
    for build in builds:
        if not (build / "compile_commands.json").exists():
            sys.exit(f"{build} has no compile_commands.json: configure it first (cmake --preset {build.name})")
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old()
    sources = list(sources_of(builds))
    wanted = [(ROOT / path).resolve() for path in options.only]
    if wanted:
        sources = [(source, flags) for source, flags in sources if any(source.is_relative_to(path) for path in wanted)]
    with tempfile.TemporaryDirectory(prefix="pktpit-lint-") as folder:
        linter = Linter(options.checks, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            units = linter.settle(sources, pool)
            list(pool.map(linter.lint, units))
    print(f"lint: {len(sources)} sources in {linter.units} units, {linter.remembered} of them as when they were found clean "
          f"before; {linter.failed} with findings")
    return 1 if linter.failed or structure or not units else 0


if __name__ == "__main__":
    sys.exit(main())
