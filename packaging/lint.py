#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""The arrows between folders, one definition of a name, then clang-tidy over every C++ source that the build directories
compile; any finding is an error.

clang-tidy looks at all that a unit includes, which is most of what it costs, so sources of the same flags are looked at
together, up to MOST in a unit, no two of which give one name to things of their own. Those that do not compile behind the
others for all that are gathered from all units and make new ones.

A unit that was found clean is not looked at again while what its preprocessor makes of it (comments included), the checks and
clang-tidy's version stay the same: that is remembered in PKTPIT_LINT_CACHE, by default ~/.cache/pktpit-lint.

--changed looks at what differs from the files that packaging/linted lists, each with a hash of its text when it was last found
clean: a changed source, and for a changed header one source that includes it. --note writes what has been found clean into that
list. It holds hashes and no commit, so that it needs no history: a shallow clone and a rebased branch know what has changed.
"""

import argparse
import collections
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
NOTED = "packaging/linted"
CHECKS = (".clang-tidy", "tests/.clang-tidy")  # what is looked for; where they change, everything is looked at again
REMEMBERED_FOR = 60 * 86400  # seconds without use
MOST = 72  # sources in a unit
NAMESPACE = re.compile(r"^(?:inline )?namespace([ \w:]*)\{$")
TEST = re.compile(r"(?:(?:TYPED_)?TEST(?:_[FP])?|INSTANTIATE_T\w+)\((\w+), (\w+)")
# A type; an alias; a function or a variable.
OWN = re.compile(r"(?:class|struct|union|enum(?: class)?)(?: alignas\([^)]*\))? (\w+)|using (\w+) =|(?:\S.* )?[*&]*(\w+)(?:\(|\[|\{| = )")
NO_NAMES = {"static_assert", "sizeof", "defined", "size_t", "uint64_t"}  # of what such a line may look like a declaration of
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
    """What a source is compiled with, but how it is optimised and instrumented; with warnings that take the place of dearer checks."""
    words = shlex.split(command["command"])
    start = next(index for index, word in enumerate(words) if Path(word).name in ("c++", "g++", "clang++"))
    words = words[start + 1:]
    for option in ("-o", "-c"):
        at = words.index(option)
        del words[at:at + (2 if option == "-o" else 1)]
    words.remove(command["file"])
    return (*(word for word in words if not re.fullmatch(r"-O\w|-g\w*|-f\S*|-D\w+_EXPORTS|-Wno-restrict", word)), "-Wreserved-identifier")


class Noted:
    """The files of the checkout, with what packaging/linted says about them. Lines about one file may be several, after a merge of
    branches that both changed it (.gitattributes): a file is noted if one of them is about its present text."""

    def __init__(self, root):
        self.root = root
        listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard", "*.cpp", "*.h", *CHECKS],
                                cwd=root, check=True, capture_output=True, text=True).stdout
        self.now = {}
        for name in sorted(set(listed.split("\0")) - {""}):
            if (root / name).is_file():
                self.now[name] = hashlib.sha256((root / name).read_bytes()).hexdigest()[:12]
        self.file = root / NOTED
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.noted = {tuple(reversed(line.split(" ", 1))) for line in lines}
        self.changed = [name for name, text in self.now.items() if (name, text) not in self.noted]

    def write(self, names):
        self.file.write_text("".join(f"{self.now[name]} {name}\n" for name in sorted(names)))

    def users(self):
        """Header: the files that include it."""
        users = collections.defaultdict(set)
        for name in self.now:
            if Path(name).suffix in (".cpp", ".h"):
                for included in re.findall(r'^\s*#\s*include "([^"]+)"', (self.root / name).read_text(), re.M):
                    for path in (included, os.path.normpath(Path(name).parent / included)):
                        if path in self.now:
                            users[path].add(name)
        return users

    def sources_for(self, names, compiled):
        """{Source of `compiled`: those of the names that it is looked at for}, and the names that none of them is there for. A header
        that a source chosen before includes needs none of its own; else one of its folder is taken if there is one, near and short."""
        users = self.users()
        chosen = {name: {name} for name in names if name in compiled}
        left = []
        for header in (name for name in names if name not in chosen):
            steps, level = {}, {header}
            while level:
                steps |= dict.fromkeys(level, len(steps))
                level = {user for name in level for user in users[name]} - set(steps)
            able = [name for name in steps if name in compiled]
            if not able:
                left += [header] if any(name.endswith(".cpp") for name in steps) else []  # else there is nothing to look at: C's
                continue
            source = min(able, key=lambda name: (name not in chosen, Path(name).parent != Path(header).parent, steps[name],
                                                 (self.root / name).stat().st_size))
            chosen.setdefault(source, set()).add(header)
        return chosen, left


def group(sources):
    """Units of at most MOST sources: of the same checks, and flags that differ in folders alone and in macros that have the value
    that they have in most places."""
    alike, values = {}, {}
    for word in (word for _, flags in sources for word in flags if word.startswith("-D")):
        values.setdefault(word.split("=")[0], []).append(word)
    shared = {max(sorted(set(words)), key=words.count) for words in values.values()}
    for source, flags in sources:
        folders = ("-I", "-isystem")
        told_apart = tuple(word for index, word in enumerate(flags) if not word.startswith(folders) and word not in shared
                           and (index == 0 or flags[index - 1] not in folders))
        alike.setdefault((checks_of(source), told_apart), []).append((source, flags))
    for (_, told_apart), members in sorted(alike.items()):
        for part in without_clashes(sorted(members)):  # neighbours share headers
            folders = dict.fromkeys(word for _, flags in part for word in folders_of(flags))
            defined = dict.fromkeys(word for _, flags in part for word in flags if word in shared)
            yield Unit([source for source, _ in part], [*told_apart, *defined, *(word for pair in folders for word in pair)])


def without_clashes(members):
    """Each source where it first fits: into a unit that is not full and whose sources have none of its names."""
    parts = []
    for source, flags in members:
        names = own_names(source)
        part = next((part for part, taken in parts if len(part) < MOST and not names & taken), None)
        if part is None:
            parts.append(([], set()))
            part = parts[-1][0]
        part.append((source, flags))
        next(taken for other, taken in parts if other is part).update(names)
    return [part for part, _ in parts]


def own_names(source):
    """(namespace, name) of what a source names for itself: in column 0 of its unnamed namespaces, which clang-format has made
    regular, and its tests."""
    names, namespaces = set(), []
    for line in source.read_text().splitlines():
        if opened := NAMESPACE.match(line):
            namespaces.append(opened[1].strip())
        elif line.startswith("}  // namespace"):
            namespaces.pop()
        elif found := TEST.match(line) or ("" in namespaces and OWN.match(line)):
            name = "_".join(filter(None, found.groups()))
            if name not in NO_NAMES:
                names.add(("::".join(filter(None, namespaces)), name))
    return names


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
        self.clean, self.wrong = [], set()  # sources; files with findings

    def write(self, unit):
        if len(unit.sources) == 1:
            unit.file = unit.sources[0]
            return
        text = "".join(f'{ENTRIES.format(index)}#include "{source}"\n' for index, source in enumerate(unit.sources))
        unit.file = self.folder / f"{hashlib.sha256((text + repr(unit.flags)).encode()).hexdigest()}.cpp"
        unit.file.write_text(text)

    def settle(self, sources, pool):
        """Units that should compile, of all sources (Source, flags), the largest first, so that none of them is the last to end."""
        flags, settled = dict(sources), []
        while sources:
            units = list(group(sources))
            sources = []
            for unit, wrong in zip(units, pool.map(self.clashing, units)):
                rest = [source for source in unit.sources if source not in wrong]
                settled += [Unit(rest, unit.flags)] if rest else []
                sources += [(source, flags[source]) for source in wrong]
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
        elif "[clang-diagnostic-error" in done.stdout and len(unit.sources) > 1 and (apart := self.clashing(unit)):
            for part in (apart, [source for source in unit.sources if source not in apart]):
                self.lint(Unit(part, unit.flags))
            return None
        return self.tell(unit, done.returncode != 0, done.stdout + ("" if done.returncode == 0 or done.stdout else done.stderr))

    def tell(self, unit, failed=False, said="", remembered=False):
        with self.lock:
            self.units += 1
            self.done += len(unit.sources)
            self.failed += failed
            self.remembered += remembered
            wrong = {Path(name) for name in re.findall(r"^(/\S+?):\d+:\d+: error", said, re.M)}
            self.wrong |= wrong
            if not failed or (wrong and "[clang-diagnostic-error" not in said):
                self.clean += [source for source in unit.sources if source not in wrong]
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
    parser.add_argument("--only", action="append", default=[], help="sources below this path")
    parser.add_argument("--changed", action="store_true", help=f"only what differs from what {NOTED} lists")
    parser.add_argument("--note", action="store_true", help=f"write what is found clean into {NOTED}")
    parser.add_argument("--checks", default="", help="more checks, as clang-tidy takes them")
    options = parser.parse_args()
    if options.only and (options.changed or options.note):
        parser.error("--only is neither --changed nor to be noted")
    structure = subprocess.run([ROOT / "packaging/include-matrix.py", "--quiet"], check=False).returncode
    structure |= subprocess.run([ROOT / "packaging/one-definition.py"], check=False).returncode
    builds = [build.resolve() for build in options.builds]
    for build in builds:
        if not (build / "compile_commands.json").exists():
            sys.exit(f"{build} has no compile_commands.json: configure it first (cmake --preset {build.name})")
    noted = Noted(ROOT)
    checks = [name for name in noted.changed if name in CHECKS]
    if options.changed and checks:
        sys.exit(f"{NOTED} was not written with this {' and this '.join(checks)}: `make lint` looks at everything and writes it")
    CACHE.mkdir(parents=True, exist_ok=True)
    forget_old()
    sources = {str(source.relative_to(ROOT)): (source, flags) for source, flags in sources_of(builds)}
    wanted = [(ROOT / path).resolve() for path in options.only]
    if wanted:
        sources = {name: given for name, given in sources.items() if any(given[0].is_relative_to(path) for path in wanted)}
    if not sources:
        sys.exit("these builds compile no such sources")
    files = set(noted.changed if options.changed else noted.now) - set(CHECKS)
    looked_at_for, left = noted.sources_for(sorted(files), sources)
    if options.changed:
        sources = {name: sources[name] for name in looked_at_for}
    with tempfile.TemporaryDirectory(prefix="pktpit-lint-") as folder:
        linter = Linter(options.checks, folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            units = linter.settle(list(sources.values()), pool)
            list(pool.map(linter.lint, units))
    print(f"lint: {len(sources)} sources in {linter.units} units, {linter.remembered} of them as when they were found clean "
          f"before; {linter.failed} with findings")
    if left and not wanted:
        print("lint: compiled by none of these builds:", *left)
    unclean = {file for name, (source, _) in sources.items() if source not in linter.clean for file in looked_at_for[name]}
    clean = {file for file in files - unclean - set(left) if ROOT / file not in linter.wrong}
    if options.note and options.changed:
        noted.write(clean | set(noted.now) - set(noted.changed))
    elif options.note and not linter.failed:
        noted.write(clean | set(noted.now) & set(CHECKS))
    elif options.changed and clean:
        print(f"lint: clean, but not in {NOTED} yet (`make lint-changed` writes them there):", *sorted(clean))
    return 1 if linter.failed or structure else 0


if __name__ == "__main__":
    sys.exit(main())
