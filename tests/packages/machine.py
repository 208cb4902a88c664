# SPDX-License-Identifier: BSD-3-Clause
"""A machine of its own: a fresh Debian root in namespaces (mounts, processes, network, host name), with two hosts at its ports
p1 and p2. It shares the kernel with the one that it runs on, and nothing else: /dev has a handful of nodes, bpffs and cgroups
are its own. systemd is its first process where `boot` was called, else a shell that waits.
"""

import os
import signal
import subprocess
from pathlib import Path

from lib.namespaces import end, run
from lib.topology import Topology
from lib.waiting import wait_for

# Of Debian's units those that are about a machine's hardware, or would change the kernel that is shared.
MASKED = ("systemd-sysctl.service", "systemd-modules-load.service", "kmod-static-nodes.service", "systemd-udevd.service",
          "systemd-udev-trigger.service", "systemd-binfmt.service", "proc-sys-fs-binfmt_misc.automount", "dev-hugepages.mount",
          "sys-kernel-debug.mount", "sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount",
          "console-getty.service", "getty-static.service", "getty@.service", "systemd-random-seed.service", "systemd-pstore.service",
          "systemd-timesyncd.service", "apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer", "e2scrub_all.timer")

SETUP = r"""
set -e
mount --make-rprivate /
mkdir -p "$PLACE/upper" "$PLACE/work" "$PLACE/root"
mount -t overlay overlay -o "lowerdir=$BASE,upperdir=$PLACE/upper,workdir=$PLACE/work" "$PLACE/root"
cd "$PLACE/root"
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t bpf bpf sys/fs/bpf
mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
mkdir sys/fs/cgroup/unified sys/fs/cgroup/systemd
mount -t cgroup2 cgroup2 sys/fs/cgroup/unified
mount -t cgroup -o none,name=systemd,xattr cgroup sys/fs/cgroup/systemd || true
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/net dev/shm dev/pts
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mknod -m 666 dev/null c 1 3; mknod -m 666 dev/zero c 1 5; mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/tty c 5 0
mknod -m 666 dev/net/tun c 10 200
mkdir -p packages && mount --bind "$PACKAGES" packages
hostname pktpit-test
exec chroot . "$@"
"""


class Machine:
    def __init__(self, base, place):
        self.base, self.place = base, place
        self.packages = place / "packages"
        self.packages.mkdir()
        self.topology = Topology(count=2)
        self.a, self.b = self.topology.a, self.topology.b
        self.first = None

    def begin(self, systemd):
        for unit in MASKED:
            link = self.place / "upper" / "etc" / "systemd" / "system" / unit
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to("/dev/null")
        first = ("/lib/systemd/systemd", "--log-target=journal", "--show-status=0") if systemd else ("/bin/sleep", "infinity")
        environment = {"BASE": str(self.base), "PLACE": str(self.place), "PACKAGES": str(self.packages), "container": "pktpit-test",
                       "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        self.environment = environment
        # Its network is that of the topology's router.
        self.first = self.topology.router_namespace.start(
            "unshare", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--kill-child=KILL", "sh", "-c", SETUP, "setup", *first,
            stdin=subprocess.DEVNULL, stdout=open(self.place / "first.log", "wb"), stderr=subprocess.STDOUT, env=environment)
        self.pid = wait_for(self._inner, "the machine's first process is there")

    def _inner(self):
        """Process 1 of the machine, once it is what it is to be."""
        children = Path(f"/proc/{self.first.pid}/task/{self.first.pid}/children").read_text().split()
        name = Path(f"/proc/{children[0]}/comm").read_text().strip() if children else ""
        return int(children[0]) if name in ("systemd", "sleep") else None

    def boot(self):
        self.begin(systemd=True)
        wait_for(lambda: self.sh("systemctl is-system-running", check=False).stdout.strip() in ("running", "degraded"),
                 "systemd has booted the machine", deadline=120, interval=0.2)

    def command(self, *words):
        return ["nsenter", "-t", str(self.pid), "-m", "-p", "-n", "-u", "-i", "-C", f"--root=/proc/{self.pid}/root",
                f"--wd=/proc/{self.pid}/root", "--", *map(str, words)]

    def run(self, *words, **keywords):
        return run(*self.command(*words), env=self.environment, **keywords)

    def sh(self, script, **keywords):
        return self.run("sh", "-ec", script, **keywords)

    def start(self, *words, **keywords):
        process = subprocess.Popen(self.command(*words), env=self.environment, start_new_session=True, **keywords)
        self.topology.router_namespace.processes.append(process)
        return process

    def kill(self, signal_name, pid):
        self.sh(f"kill -{signal_name} {pid}")

    def apt(self, *words):
        """Nothing is fetched: what the packages need is there already, or they say what is missing."""
        return self.run("apt-get", "-y", "-q", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confdef",
                        *words, timeout=600)

    def install(self, *files):
        for file in files:
            (self.packages / file.name).write_bytes(file.read_bytes())
        return self.apt("install", *(f"/packages/{file.name}" for file in files))

    def path(self, name):
        """A file of the machine's, as it is seen from outside."""
        return Path(f"/proc/{self.pid}/root/{name.lstrip('/')}")

    def files(self):
        """All that is there but what is nobody's in particular: logs, caches, the package manager's own notes."""
        listed = self.sh("find / -xdev \\( -path /proc -o -path /sys -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg "
                         "-o -path /var/lib/apt -o -path /packages -o -path /var/lib/systemd -o -path /tmp -o -path /run/systemd "
                         "-o -path /etc/ld.so.cache -o -path /run/dbus -o -path /run/log -o -path /run/udev -o -path /run/lock \\) -prune -o -print; "
                         "find /run /sys/fs/bpf -path /run/systemd -prune -o -path /run/log -prune -o -path '*pktpit*' -print")
        return set(listed.stdout.split("\n"))

    def users(self):
        return self.sh("getent passwd; getent group").stdout

    def describe(self):
        if not self.first or self.first.poll() is not None:
            return "the machine is gone: " + (self.place / "first.log").read_text(errors="replace")
        return self.sh("journalctl --no-pager -n 80 2>&1; systemctl status pktpitd --no-pager 2>&1; ls -lR /etc/pktpit /run/pktpit 2>&1",
                       check=False).stdout

    def close(self):
        if self.first:
            if self.first.poll() is None:
                os.kill(self.pid, signal.SIGKILL)  # the first process of a namespace takes all others with it
            end(self.first)
        self.topology.delete()
