# SPDX-License-Identifier: BSD-3-Clause
"""The packaged unit, as far as it says with which rights the daemon starts: user, capabilities, no new privileges, limits, folders.
Its lines are run as they stand there; what else systemd takes from the daemon is not in it."""

import configparser
import shlex
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "packaging" / "systemd" / "pktpitd.service"
# linux/capability.h
NUMBERS = {"CAP_NET_ADMIN": 12, "CAP_NET_RAW": 13, "CAP_PERFMON": 38, "CAP_BPF": 39}
ROOT_UNASKED = "+"  # before a command: as root, with everything


class Unit:
    def __init__(self):
        parsed = configparser.RawConfigParser(strict=False, comment_prefixes=("#",))
        parsed.optionxform = str
        parsed.read(FILE)
        self.says = parsed["Service"]
        assert self.says["ExecStartPre"].startswith(ROOT_UNASKED), "the unit prepares as another one than root"

    @property
    def prepare(self):
        return self.says["ExecStartPre"].removeprefix(ROOT_UNASKED)

    @property
    def start(self):
        """The shell's words that become the daemon with the unit's rights."""
        limits = f"ulimit -l {_limit(self.says['LimitMEMLOCK'])}; ulimit -n {_limit(self.says['LimitNOFILE'])}; umask {self.says['UMask']}; "
        return limits + shlex.join(["exec", "env", *self._environment(), *self._rights()]) + " " + self.says["ExecStart"]

    def _rights(self):
        names = [name.lower().removeprefix("cap_") for name in self.says["AmbientCapabilities"].split()]
        bounding = [name.lower().removeprefix("cap_") for name in self.says["CapabilityBoundingSet"].split()]
        ambient, bounds = (",".join(["-all", *(f"+{name}" for name in which)]) for which in (names, bounding))
        words = ["setpriv", f"--reuid={self.says['User']}", f"--regid={self.says['Group']}", "--clear-groups",
                 f"--inh-caps={ambient}", f"--ambient-caps={ambient}", f"--bounding-set={bounds}"]
        return words + (["--no-new-privs"] if self.says["NoNewPrivileges"] == "yes" else [])

    def capabilities(self):
        """The bounding set as a mask."""
        return sum(1 << NUMBERS[name] for name in self.says["CapabilityBoundingSet"].split())

    def folders(self):
        """{path: mode} of what systemd makes for the daemon, its user's."""
        return {f"{parent}/{self.says[f'{kind}Directory']}": self.says[f"{kind}DirectoryMode"] for kind, parent in
                (("Runtime", "/run"), ("State", "/var/lib"), ("Configuration", "/etc"))}

    def _environment(self):
        return [f"{kind.upper()}_DIRECTORY={parent}/{self.says[f'{kind}Directory']}" for kind, parent in
                (("Runtime", "/run"), ("State", "/var/lib"), ("Configuration", "/etc"))]


def _limit(text):
    return "unlimited" if text == "infinity" else text
