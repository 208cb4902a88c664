# SPDX-License-Identifier: BSD-3-Clause
"""FRR and BIRD as the distribution has them, in a namespace of a test and with folders of their own: no service of the
machine is started, none is asked. Processes are ended by their ids, with their namespace at the latest."""

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from lib.namespaces import end, run
from lib.waiting import DEADLINE, wait_for

FRR = Path("/usr/lib/frr")
MODULE = "dplane_fpm_nl"


def _must_be_there(program, package):
    if not shutil.which(str(program)):
        pytest.fail(f"{program} is not there: apt-get install {package} (packaging/debian-packages.txt)", pytrace=False)


class Frr:
    """zebra and others. `fpm`: where zebra delivers its routes; None: to the kernel alone, or, with `integrated`,
    where that says. `config`: of a daemon, by its name. `integrated`: /etc/frr/frr.conf, of all of them."""

    def __init__(self, namespace, fpm="127.0.0.1:2620", daemons=("staticd",), config=None, groups=True, integrated=None):
        _must_be_there(FRR / "zebra", "frr")
        self.namespace, self.module, self.others = namespace, bool(fpm or integrated), daemons
        # Its daemons give up root, and have their sockets where they may write.
        self.directory = Path(tempfile.mkdtemp(prefix="pktpit-frr-"))
        shutil.chown(self.directory, "frr", "frr")
        self.config, self.integrated = dict(config or {}), integrated
        if fpm:
            address, port = fpm.rsplit(":", 1)
            self.config["zebra"] = f"fpm address {address} port {port}\n" + (
                "" if groups else "no fpm use-next-hop-groups\n") + self.config.get("zebra", "")
        self.processes = {}

    def start(self):
        self.start_daemon("zebra")
        for name in self.others:
            self.start_daemon(name)
        if self.integrated:
            (self.directory / "vtysh.conf").touch()
            (self.directory / "frr.conf").write_text(self.integrated)
            done = self.namespace.run("vtysh", "--vty_socket", self.directory, "--config_dir", self.directory, "-b", check=False)
            assert done.returncode == 0 and "% " not in done.stdout + done.stderr, f"{done.stdout}{done.stderr}"
        return self

    def start_daemon(self, name):
        file = self.directory / f"{name}.conf"
        file.write_text(self.config.get(name, "") + f"log file {self.directory}/{name}.log\n")
        module = ["-M", MODULE] if name == "zebra" and self.module else []
        with open(self.directory / f"{name}.out", "ab") as out:
            self.processes[name] = self.namespace.start(
                FRR / name, "-f", file, "-z", self.directory / "zserv.api", "-i", self.directory / f"{name}.pid",
                "--vty_socket", self.directory, "-A", "127.0.0.1", "-P", "0", *module, stdout=out, stderr=out)
        wait_for(lambda: self._answers(name), f"{name} answers (its log: {self.log(name)})", interval=0.05)

    def _answers(self, name):
        if self.processes[name].poll() is not None:
            raise AssertionError(f"{name} ended with {self.processes[name].returncode}:\n{self.log(name)}")
        return self.vtysh("show version", daemon=name, check=False).returncode == 0

    def vtysh(self, *commands, daemon=None, check=True, timeout=2 * DEADLINE):
        only = ["-d", daemon] if daemon else []
        words = [word for command in commands for word in ("-c", command)]
        done = self.namespace.run("vtysh", "--vty_socket", self.directory, *only, *words, check=False, timeout=timeout)
        if check and (done.returncode or "% " in done.stdout):
            raise AssertionError(f"vtysh {commands}:\n{done.stdout}{done.stderr}")
        return done

    def configure(self, *lines):
        self.vtysh("configure terminal", *lines)

    def kill(self, name="zebra"):
        """kill -9."""
        end(self.processes.pop(name), signal.SIGKILL)

    def stop(self, name):
        end(self.processes.pop(name), signal.SIGTERM)

    def log(self, name):
        return "".join(path.read_text(errors="replace")[-3000:] for path in
                       (self.directory / f"{name}.out", self.directory / f"{name}.log") if path.exists())

    def close(self):
        for name in reversed(list(self.processes)):
            end(self.processes[name], signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)


class Bird:
    """BIRD 2 with this configuration, without what it needs of its own: router id, sockets."""

    def __init__(self, namespace, config):
        _must_be_there("/usr/sbin/bird", "bird2")
        self.namespace = namespace
        self.directory = Path(tempfile.mkdtemp(prefix="pktpit-bird-"))
        self.file = self.directory / "bird.conf"
        self.file.write_text(config)
        self.process = None

    def start(self):
        with open(self.directory / "out", "ab") as out:
            self.process = self.namespace.start("/usr/sbin/bird", "-f", "-c", self.file, "-s", self.directory / "bird.ctl",
                                                "-P", self.directory / "bird.pid", stdout=out, stderr=out)
        wait_for(lambda: self.ctl("show", "status", check=False).returncode == 0, "BIRD answers", interval=0.05)
        return self

    def ctl(self, *words, check=True):
        if self.process.poll() is not None:
            raise AssertionError(f"BIRD ended:\n{(self.directory / 'out').read_text()}")
        return run("/usr/sbin/birdc", "-s", self.directory / "bird.ctl", *words, check=check)

    def kill(self):
        end(self.process, signal.SIGKILL)

    def close(self):
        if self.process:
            end(self.process, signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)
