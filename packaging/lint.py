#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The arrows between folders, one definition of a name, then clang-tidy over every C++ source that the build directories
compile, in the units that they compile them in; any finding is an error.

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
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("PKTPIT_LINT_CACHE") or Path.home() / ".cache" / "pktpit-lint")
REMEMBERED_FOR = 60 * 86400  # seconds without use


def units_of(builds):
    """Compile commands of C++ sources of ours, each source once; generated text (embedded schemas) is nobody's style."""
    seen = set()
    for build in builds:
        for command in json.loads((build / "compile_commands.json").read_text()):
            file = Path(command["file"])
            ours = not file.is_relative_to(build) or "Unity" in file.parts
            if ours and file.suffix in (".cpp", ".cxx") and not seen.issuperset(sources_of(command)):
                seen.update(sources_of(command))
                yield {**command, "build": build}


def sources_of(command):
    file = Path(command["file"])
    if "Unity" not in file.parts:
        return [file]
    return [Path(path) for path in re.findall(r'#include "([^"]+)"', file.read_text())]


def checks_of(source):
    """What the nearest .clang-tidy below the root adds: clang-tidy itself looks beside the unit, which may be a generated one."""
    for folder in source.parents:
        if folder == ROOT:
            return ""
        if (folder / ".clang-tidy").exists():
            found = re.search(r"^Checks: *>?\s*((?:[ \t]*[^\s#:]+,?\n)+|[^\n]+)", (folder / ".clang-tidy").read_text(), re.M)
            return "".join(found[1].split()).strip("'\"") if found else ""
    return ""


def preprocessed(command):
    words = shlex.split(command["command"])
    start = next(index for index, word in enumerate(words) if Path(word).name in ("c++", "g++", "clang++"))
    words = words[start + 1:]
    for option in ("-o", "-c"):
        at = words.index(option)
        del words[at:at + (2 if option == "-o" else 1)]
    done = subprocess.run(["clang++", "-w", "-E", "-CC", *words], cwd=command["directory"], capture_output=True)
    return done.stdout.replace(str(ROOT).encode(), b".") if done.returncode == 0 else None


class Linter:
    def __init__(self, checks):
        self.checks = checks
        version = subprocess.run(["clang-tidy", "--version"], capture_output=True, check=True).stdout
        self.common = version + (ROOT / ".clang-tidy").read_bytes() + checks.encode()

    def lint(self, command):
        """(Clean, remembered, what clang-tidy said.)"""
        generated = "Unity" in Path(command["file"]).parts
        checks = ",".join(filter(None, (checks_of(sources_of(command)[0]), self.checks,
                                        "-bugprone-suspicious-include" if generated else "")))
        text = preprocessed(command)
        key = text and hashlib.sha256(self.common + checks.encode() + b"\0" + text).hexdigest()
        if key and (CACHE / key).exists():
            (CACHE / key).touch()
            return True, True, ""
        done = subprocess.run(
            ["clang-tidy", "-p", command["build"], "--quiet", "--warnings-as-errors=*", f"--config-file={ROOT / '.clang-tidy'}",
             *([f"--checks={checks}"] if checks else []), command["file"]], capture_output=True, text=True)
        if done.returncode == 0 and key:
            (CACHE / key).touch()
        return done.returncode == 0, False, done.stdout + ("" if done.returncode == 0 or done.stdout else done.stderr)


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
    units = list(units_of(builds))
    wanted = [(ROOT / path).resolve() for path in options.only]
    if wanted:
        units = [unit for unit in units if any(s.is_relative_to(w) for s in sources_of(unit) for w in wanted)]
    # The largest first, so that none of them is the last to end.
    units.sort(key=lambda unit: -sum(source.stat().st_size for source in sources_of(unit)))
    linter, failed, remembered, last_told = Linter(options.checks), 0, 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (clean, known, said) in enumerate(pool.map(linter.lint, units), 1):
            failed += not clean
            remembered += known
            if not clean:
                print(said, flush=True)
            if time.monotonic() - last_told > 15:
                print(f"lint: {done} of {len(units)} units", flush=True)
                last_told = time.monotonic()
    sources = sum(len(sources_of(unit)) for unit in units)
    print(f"lint: {sources} sources in {len(units)} units, {remembered} of them as when they were found clean before; "
          f"{failed} with findings")
    return 1 if failed or structure or not units else 0


if __name__ == "__main__":
    sys.exit(main())
