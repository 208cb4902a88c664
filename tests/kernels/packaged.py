# SPDX-License-Identifier: BSD-3-Clause
"""The daemon in the guest as the package starts it."""

import json

from guests.initramfs import stripped
from inner import BUILD
from unit import Unit

LOG = "/run/pktpitd.log"
CONFIG = "/etc/pktpit/pktpit.json"
PINS = "/sys/fs/bpf/pktpit"  # what was prepared
ID = "989"  # of the daemon's user and group, which no package has made there
HEARTBEAT = {"worker_ms": 10_000}  # the machine is busy


class Packaged:
    def __init__(self, machine):
        self.guest, self.out, self.unit, self.pid = machine.guest, machine.out, Unit(), None

    def start(self, interfaces, **more):
        """`interfaces` and `more`: of its configuration."""
        self._install()
        self.configure(interfaces, **more)
        self.guest.run(self.unit.prepare)
        self.pid = self.guest.output(f"( {self.unit.start} ) >{LOG} 2>&1 & echo $!").strip()
        # The log costs less than a process of the command line for each look.
        self.guest.wait_for(f"grep -q 'forwards; API at' {LOG} || ! kill -0 {self.pid}", "the daemon forwards or ends")
        if self.guest.run("pktpit show version", check=False)[0]:
            raise AssertionError(f"pktpitd does not start under the unit's rights:\n{self.log()}")

    def configure(self, interfaces, **more):
        """Its file, before it starts or reads it again."""
        config = {"heartbeat": HEARTBEAT, "interfaces": interfaces, **more}
        self.guest.run(f"echo '{json.dumps(config)}' >{CONFIG}")

    def _install(self):
        """As the package does: the guest's files are its own."""
        user, group = self.unit.says["User"], self.unit.says["Group"]
        for name in ("pktpitd", "pktpit"):
            if not (self.out / name).exists():
                (self.out / name).write_bytes(stripped(BUILD / "router" / name))
        self.guest.run("install /run/out/pktpitd /run/out/pktpit /usr/sbin/; "
                       f"grep -q ^{group}: /etc/group || echo {group}:x:{ID}: >>/etc/group; "
                       f"grep -q ^{user}: /etc/passwd || echo {user}:x:{ID}:{ID}::/nonexistent:/usr/sbin/nologin >>/etc/passwd; "
                       + "; ".join(f"install -d -o {user} -g {group} -m {mode} {path}" for path, mode in self.unit.folders().items()))

    def assert_has_the_units_rights(self):
        status = dict(line.split(":\t", 1) for line in self.guest.output(f"cat /proc/{self.pid}/status").splitlines() if ":\t" in line)
        assert status["NoNewPrivs"] == "1", status
        assert status["Uid"].split() == [ID] * 4 and status["Gid"].split() == [ID] * 4, status
        for which in ("CapPrm", "CapEff", "CapBnd"):
            assert int(status[which], 16) & ~self.unit.capabilities() == 0, f"{which} {status[which]}: more than the unit gives"

    def log(self):
        return self.guest.run(f"cat {LOG}; dmesg | tail -n 20", check=False)[1]

    def stop(self):
        """The daemon ends in order and leaves nothing."""
        try:
            if self.pid:
                self.guest.run(f"kill {self.pid}", check=False)
                self.guest.wait_for(f"! kill -0 {self.pid}", "the daemon ends")
            left = self.guest.output(f"find {PINS} -mindepth 2; find /run/pktpit -name '*.sock'")
            assert not left.strip(), f"left behind: {left}"
        finally:
            # As systemd does when the unit has ended; what runs there next is another user.
            self.guest.run(f"pktpit detach --yes; rm -rf {PINS} {' '.join(self.unit.folders())}", check=False)
