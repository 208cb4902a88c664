#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The arrows between folders, one definition of a name, then clang-tidy over every C++ source that the build directories
compile; any finding is an error.

clang-tidy looks at all that a unit includes, which is most of what it costs, so sources of the same flags are looked at
together, up to MOST in a unit. Those that do not compile behind the others (names of two anonymous namespaces clash) make a
unit of their own.

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

    def parts(self):
        """Itself, or what is to be looked at instead: those that compile one behind the other, and the others."""
        done = run(["clang++", "-w", "-fsyntax-only", "-ferror-limit=0", *self.flags, self.file])
        if done.returncode == 0:
            return [self]
        wrong = set(re.findall(r"^([^\s:]+):\d+:\d+: (?:fatal )?error:", done.stderr, re.M))
        clashing = [source for source in self.sources if str(source) in wrong]
        if not 0 < len(clashing) < len(self.sources):
            clashing = self.sources[len(self.sources) // 2:]
        return [Unit([source for source in self.sources if source not in clashing], self.flags), Unit(clashing, self.flags)]


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
        text = "".join(f'#include "{source}"\n' for source in unit.sources)
        unit.file = self.folder / f"{hashlib.sha256((text + repr(unit.flags)).encode()).hexdigest()}.cpp"
        unit.file.write_text(text)

    def lint(self, unit):
        checks = ",".join(filter(None, (checks_of(unit.sources[0]), self.checks,
                                        "-bugprone-suspicious-include" if len(unit.sources) > 1 else "")))
        self.write(unit)
        text = run(["clang++", "-w", "-E", "-CC", *unit.flags, unit.file], text=False)
        text = text.stdout.replace(bytes(self.folder), b"").replace(bytes(ROOT), b".") + b"\0" * text.returncode
        key = CACHE / hashlib.sha256(self.common + checks.encode() + b"\0" + text).hexdigest()
        split = key.with_suffix(".split")
        if key.exists():
            key.touch()
            return self.tell(unit, remembered=True)
        if split.exists():
            first = int(split.read_text(), 16)
            split.touch()
            parts = [Unit([source for index, source in enumerate(unit.sources) if bool(first >> index & 1) == chosen], unit.flags)
                     for chosen in (True, False)]
        else:
            parts = unit.parts() if len(unit.sources) > 1 else [unit]
            if len(parts) > 1:
                split.write_text(f"{sum(1 << index for index, source in enumerate(unit.sources) if source in parts[0].sources):x}")
        if len(parts) > 1:
            for part in parts:
                self.lint(part)
            return None
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
    # The largest first, so that none of them is the last to end.
    units = sorted(group(sources), key=lambda unit: -sum(source.stat().st_size for source in unit.sources))
    with tempfile.TemporaryDirectory(prefix="pktpit-lint-") as folder:
        linter = Linter(options.checks, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(linter.lint, units))
    print(f"lint: {len(sources)} sources in {linter.units} units, {linter.remembered} of them as when they were found clean "
          f"before; {linter.failed} with findings")
    return 1 if linter.failed or structure or not units else 0


if __name__ == "__main__":
    sys.exit(main())
