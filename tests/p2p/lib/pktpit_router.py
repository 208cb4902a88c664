"""The real daemon and the real command-line tool, in the guest."""

import json

from lib.topology import NVME
from lib.waiting import wait_for

INSTANCE = "p2p"
SHOW = f"pktpit --instance {INSTANCE}"


class PktpitRouter:
    name = "pktpit"

    def __init__(self, machine, memory, world, environment=""):
        """`memory`: where payloads wait; `world`: the name of a table; `environment`: NAME=VALUE for the daemon."""
        self.what = (machine, memory, world, environment)
        self.machine, self.guest = machine, machine.guest
        self.file = f"/etc/pktpit/{memory}-{world}.json"
        self.environment = environment
        self.log_file = "/run/pktpitd.log"
        self.pid = None

    def start(self, deadline=40.0):
        """Started, its ports up."""
        self.launch()
        self.wait_ready(deadline)

    def launch(self):
        # Linux's own driver has the NVMe at boot; the daemon refuses a device that is in use.
        self.guest.run(f"nvme=/sys/bus/pci/devices/{NVME}/driver; [ ! -e $nvme ] || echo {NVME} > $nvme/unbind")
        command = f"{self.environment} pktpitd --config {self.file} >>{self.log_file} 2>&1 & echo $!"
        self.pid = int(self.guest.output(command))

    def running(self):
        return self.pid is not None and self.guest.run(f"kill -0 {self.pid}", check=False)[0] == 0

    def wait_ready(self, deadline):
        def ready():
            if not self.running():
                raise AssertionError(f"pktpitd ended at its start:\n{self.log()}")
            status, said = self.guest.run(f"{SHOW} show ports --json", check=False)
            return status == 0 and all(port["up"] for port in json.loads(said)["ports"])

        wait_for(ready, deadline, "the daemon's ports are up", 0.1)

    def json(self, *words):
        return self.guest.json(f"{SHOW} {' '.join(words)} --json")

    def counters(self):
        return self.json("show", "counters")

    def verdicts(self):
        return self.counters()["totals"]["verdicts"]

    def hardware_split(self):
        """Frames whose header and payload a NIC has put in two places, on all ports."""
        return sum(port["nic"]["hardware_split"] for port in self.counters()["ports"].values())

    def routes(self):
        return self.json("show", "routes", "--limit", "1")["total"]

    def kill(self):
        """kill -9, and gone."""
        self.guest.run(f"kill -9 {self.pid}")
        self._wait_gone(10)

    def stop(self):
        if self.running():
            self.guest.run(f"kill {self.pid}")
            self._wait_gone(15)
        self.pid = None

    def _wait_gone(self, deadline):
        wait_for(lambda: not self.running(), deadline, "the daemon's end", 0.05)

    def log(self, lines=60):
        return self.guest.run(f"tail -n {lines} {self.log_file}", check=False)[1]

    def describe(self):
        said = [f"--- log of pktpitd\n{self.log()}", f"--- kernel\n{self.guest.run('dmesg | tail -n 15', check=False)[1]}"]
        if self.running():
            said += [f"--- {what}\n{self.guest.run(f'{SHOW} show {what}', check=False)[1]}" for what in ("ports", "counters")]
        return "\n".join(said)
