# SPDX-License-Identifier: BSD-3-Clause
"""The generated completion, in each shell itself: what it offers behind a line that is typed so far."""

import os
import pty
import re
import select
import shlex
import subprocess
import time

import pytest
from lib.namespaces import run
from lib.pktpit_router import BUILD, TOOL

MADE = BUILD / "router" / "manual" / "made"
pytestmark = pytest.mark.requirement("completion offers what the program understands at that place, and nothing else")


def bash(line, directory):
    words = line.split(" ")
    script = f"""source {MADE}/{words[0]}.bash
COMP_WORDS=({' '.join(shlex.quote(word) for word in words)}) COMP_CWORD={len(words) - 1}
_{words[0]}
printf '%s\\n' "${{COMPREPLY[@]}}" """
    return set(run("bash", "--norc", "-c", script, cwd=directory).stdout.split("\n")) - {""}


def fish(line, directory):
    printed = run("fish", "--no-config", "-c", f"source {MADE}/{line.split(' ')[0]}.fish; complete -C {shlex.quote(line)}", cwd=directory,
                  env={**os.environ, "HOME": str(directory)}).stdout
    return {offered.split("\t")[0] for offered in printed.split("\n")} - {""}


# Of zsh's completion only a terminal sees anything. Each offered word is said by compadd, which is asked to tell.
ZSH = r"""
autoload -Uz compinit && compinit -u -d $PWD/dump
fpath=(MADE $fpath); autoload -Uz _pktpit _pktpitd; compdef _pktpit pktpit; compdef _pktpitd pktpitd
zstyle ':completion:*' verbose yes; zstyle ':completion:*' list-prompt ''; zstyle ':completion:*' menu no
compadd() {
    [[ ${@[(i)-(O|A|D)]} -le ${#} ]] && { builtin compadd "$@"; return }
    local -a __hits; builtin compadd -A __hits "$@"; print -rl -- "<"${^__hits}">" >>$PWD/offered
    builtin compadd "$@"
}
bindkey '^I' complete-word; PROMPT='ready>'
"""


def zsh(line, directory):
    (directory / ".zshrc").write_text(ZSH.replace("MADE", str(MADE)))
    (directory / "offered").write_text("")
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(directory)
        os.execve("/usr/bin/zsh", ["zsh", "-i"], {**os.environ, "ZDOTDIR": str(directory), "HOME": str(directory), "TERM": "dumb"})

    def read(until):
        text, end = "", time.monotonic() + 60
        while until not in text:
            if not select.select([terminal], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"zsh did not say {until!r}: {text!r}")
            text += os.read(terminal, 65536).decode(errors="replace")

    try:
        read("ready>")
        os.write(terminal, line.encode() + b"\t")
        os.write(terminal, b"\x15print -r -- fin''ished\n")  # clears the line
        read("finished")
    finally:
        os.write(terminal, b"\x15exit\n")
        os.close(terminal)
        os.waitpid(pid, 0)
    return {word.removeprefix("<").removesuffix(">") for word in (directory / "offered").read_text().split("\n")} - {""}


SHELLS = pytest.mark.parametrize("offered", (bash, fish, zsh), ids=lambda shell: shell.__name__)


def verbs(*words):
    found = set(re.findall(r"^  ([a-z-]+)", run(TOOL, *words, "--help").stdout.split("Subcommands:")[1], re.M))
    assert len(found) > 1
    return found


def assert_devices(offered, line, directory, nothing_else=False):
    """The machine's network devices are offered, of which others may come and go meanwhile."""
    before = set(os.listdir("/sys/class/net"))
    found = offered(line, directory)
    after = set(os.listdir("/sys/class/net"))
    assert before & after <= found and (not nothing_else or found <= before | after)


@SHELLS
def test_verbs(offered, tmp_path):
    assert offered("pktpit ", tmp_path) >= verbs()
    assert offered("pktpit show ", tmp_path) >= verbs("show")
    assert offered("pktpit --json --socket /run/x.sock show ", tmp_path) >= verbs("show")
    assert offered("pktpit bench ", tmp_path) >= {"wire", "cpu", "fib", "rfc2544", "routes", "compare"}
    assert not offered("pktpit show ", tmp_path) & {"reload", "trace"}


@SHELLS
def test_options_and_their_values(offered, tmp_path):
    assert offered("pktpit show routes --", tmp_path) >= {"--source", "--within", "--limit", "--ignored", "--json", "--instance"}
    assert "--dry-run" not in offered("pktpit show routes --", tmp_path)
    assert offered("pktpit show routes --source ", tmp_path) == {"connected", "config", "cli", "fpm", "kernel"}
    assert offered("pktpit capture --point ", tmp_path) == {"ingress", "egress", "drop"}
    assert_devices(offered, "pktpit trace --port ", tmp_path)
    assert offered("pktpitd --", tmp_path) >= {"--config", "--detach", "--user", "--prepare"}


@SHELLS
def test_words_of_routes(offered, tmp_path):
    assert offered("pktpit route add 192.0.2.0/24 ", tmp_path) >= {"via", "dev", "weight", "blackhole", "mtu", "counters", "backup", "vrf"}
    assert_devices(offered, "pktpit route add 192.0.2.0/24 dev ", tmp_path, nothing_else=True)


@SHELLS
def test_files(offered, tmp_path):
    (tmp_path / "router.json").write_text("{}")
    assert "router.json" in offered("pktpit check ", tmp_path)
    assert "router.json" in offered("pktpitd --config ", tmp_path)
    assert "router.json" not in offered("pktpit show ", tmp_path)


def test_nothing_is_wrong_in_them():
    for shell, pattern in (("bash", "*.bash"), ("zsh", "_*"), ("fish", "*.fish")):
        files = list(MADE.glob(pattern))
        assert len(files) == 2, files  # of pktpit and of pktpitd
        for file in files:
            checked = subprocess.run([shell, "-n", file], capture_output=True, text=True, check=False)
            assert checked.returncode == 0 and not checked.stderr, checked.stderr
