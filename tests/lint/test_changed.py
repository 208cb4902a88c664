# SPDX-License-Identifier: BSD-3-Clause
"""packaging/lint.py --changed, in a checkout of its own with three sources: what it looks at, what it finds, what it notes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
CLEAN = "int {0}() {{\n    return 1;\n}}\n"
WRONG = "int {0}() {{\n    int Wrong = 1;\n    return Wrong;\n}}\n"


class Checkout:
    def __init__(self, root):
        self.root = root
        (root / "build").mkdir(parents=True)
        (root / "packaging").mkdir()
        for script in ("lint.py", "include-matrix.py", "one-definition.py"):
            shutil.copy(PACKAGING / script, root / "packaging")
        shutil.copy(PACKAGING.parent / ".clang-tidy", root)
        self.write(".gitignore", "build/\n")
        self.write("base/one.h", "#pragma once\nint one();\n")
        self.write("base/one.cpp", '#include "base/one.h"\n' + CLEAN.format("one"))
        self.write("base/two.cpp", CLEAN.format("two"))
        self.write("base/user.cpp", '#include "base/one.h"\n' + CLEAN.format("user") + "// longer than base/one.cpp\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.configure("one", "two", "user")

    def write(self, name, text):
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(text)

    def git(self, *words):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@x", *words], cwd=self.root, check=True)

    def configure(self, *names):
        self.write("build/compile_commands.json", json.dumps([
            {"directory": str(self.root), "file": str(self.root / f"base/{name}.cpp"),
             "command": f"c++ -I{self.root} -std=c++20 -o {name}.o -c {self.root}/base/{name}.cpp"} for name in names]))

    def lint(self, *options):
        """(Exit status, output) where nothing is remembered from elsewhere."""
        done = subprocess.run(["packaging/lint.py", "build", *options], cwd=self.root, check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "PKTPIT_LINT_CACHE": str(self.root / "build/cache")})
        return done.returncode, done.stdout

    def noted(self):
        return [line.split()[1] for line in (self.root / "packaging/linted").read_text().splitlines()]


@pytest.fixture
def checkout(tmp_path):
    made = Checkout(tmp_path / "checkout")
    assert made.lint("--note")[0] == 0
    return made


def test_all_are_noted_when_all_are_clean(checkout):
    assert checkout.noted() == [".clang-tidy", "base/one.cpp", "base/one.h", "base/two.cpp", "base/user.cpp"]
    status, said = checkout.lint("--changed")
    assert status == 0 and "lint: 0 sources" in said


def test_nothing_is_noted_where_something_is_wrong(checkout):
    before = (checkout.root / "packaging/linted").read_text()
    checkout.write("base/two.cpp", WRONG.format("two"))
    status, said = checkout.lint("--note")
    assert status == 1 and "Wrong" in said
    assert (checkout.root / "packaging/linted").read_text() == before


def test_a_changed_source(checkout):
    checkout.write("base/two.cpp", WRONG.format("two"))
    status, said = checkout.lint("--changed")
    assert status == 1 and "base/two.cpp" in said and "lint: 1 sources" in said
    checkout.write("base/two.cpp", CLEAN.format("three"))
    before = (checkout.root / "packaging/linted").read_text()
    status, said = checkout.lint("--changed")
    assert status == 0 and "make lint-changed" in said and "base/two.cpp" in said
    assert (checkout.root / "packaging/linted").read_text() == before
    assert checkout.lint("--changed", "--note")[0] == 0
    assert "lint: 0 sources" in checkout.lint("--changed")[1]


def test_only_what_is_clean_is_noted(checkout):
    checkout.write("base/one.cpp", CLEAN.format("one") + "// changed\n")
    checkout.write("base/two.cpp", WRONG.format("two"))
    status, said = checkout.lint("--changed", "--note")
    assert status == 1 and "lint: 2 sources" in said
    assert checkout.noted() == [".clang-tidy", "base/one.cpp", "base/one.h", "base/user.cpp"]
    assert "lint: 1 sources" in checkout.lint("--changed")[1]


def test_a_changed_header_is_looked_at_with_one_source(checkout):
    checkout.write("base/one.h", "#pragma once\nint one();\ninline int of_header(int) {\n    int Wrong = 1;\n    return Wrong;\n}\n")
    status, said = checkout.lint("--changed")
    assert status == 1 and "base/one.h" in said and "lint: 1 sources" in said
    assert checkout.lint("--changed", "--note")[0] == 1 and "base/one.h" not in checkout.noted()


def test_a_new_source_that_git_does_not_know(checkout):
    checkout.write("base/new.cpp", WRONG.format("added"))
    status, said = checkout.lint("--changed")
    assert "compiled by none of these builds: base/new.cpp" in said
    checkout.configure("one", "two", "user", "new")
    status, said = checkout.lint("--changed")
    assert status == 1 and "base/new.cpp" in said


def test_renamed_and_deleted_sources(checkout):
    checkout.git("mv", "base/two.cpp", "base/moved.cpp")
    (checkout.root / "base/user.cpp").unlink()
    checkout.configure("one", "moved")
    status, said = checkout.lint("--changed", "--note")
    assert status == 0 and "lint: 1 sources" in said
    assert checkout.noted() == [".clang-tidy", "base/moved.cpp", "base/one.cpp", "base/one.h"]


def test_lines_of_two_branches_about_one_file(checkout):
    list_of = checkout.root / "packaging/linted"
    list_of.write_text("0123456789ab base/two.cpp\n" + list_of.read_text())
    assert "lint: 0 sources" in checkout.lint("--changed")[1]


def test_other_checks_want_everything_looked_at(checkout):
    checkout.write(".clang-tidy", (checkout.root / ".clang-tidy").read_text() + "# changed\n")
    status, said = checkout.lint("--changed")
    assert status == 1 and ".clang-tidy" in said and "make lint" in said
    assert checkout.lint("--note")[0] == 0
    assert checkout.lint("--changed")[0] == 0
