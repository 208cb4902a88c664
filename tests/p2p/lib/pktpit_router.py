# SPDX-License-Identifier: BSD-3-Clause
"""The real daemon and the real command-line tool, in the guest."""

from lib.ask import ask
from guests.guest import CommandFailed
from lib.topology import NVME, PORTS
from guests.waiting import wait_for

INSTANCE = "p2p"
SHOW = f"pktpit --instance {INSTANCE}"
SOCKET = f"/run/pktpit/{INSTANCE}.sock"
ACCEPTS = "00010000"  # the flags of a listening socket in /proc/net/unix
LOG, PID, STATUS = "/run/pktpitd.log", "/run/pktpitd.pid", "/run/pktpitd.status"


class PktpitRouter:
    name = "pktpit"

    def __init__(self, machine, memory, world, environment=""):
        """`memory`: where payloads wait; `world`: whose routes; `environment`: NAME=VALUE for the daemon."""
        self.what = (machine, memory, world.name, environment)
        self.machine, self.guest = machine, machine.guest
        self.file = f"/etc/pktpit/{memory}-{world.name}.json"
        self.environment = environment
        self.expected = sum(len(routes) for routes in world.table.routes.values())
        self.pid, self.settled = None, False

    def start(self):
        """Started, its ports up, its routes in place."""
        self.launch()
        self.wait_ready()

    def launch(self):
        self.settled = False
        # Linux's own driver has the NVMe at boot; the daemon refuses a device that is in use.
        self.guest.run(f"nvme=/sys/bus/pci/devices/{NVME}/driver; [ ! -e $nvme ] || echo {NVME} > $nvme/unbind")
        daemon = f"echo $$ >{PID}; exec env {self.environment} pktpitd --config {self.file}"
        self.guest.run(f"rm -f {PID} {STATUS}; (sh -c '{daemon}' >>{LOG} 2>&1; echo $? >{STATUS}) &")
        self.pid = int(self.guest.wait_for(f"cat {PID} | grep ."))

    def running(self):
        return self.pid is not None and self.guest.run(f"[ ! -s {STATUS} ]", check=False)[0] == 0

    def wait_ready(self):
        """Asks the kernel, not `pktpit`: the tool's start is what costs most in an emulated machine. A daemon that was
        killed has left its socket: only one that somebody listens on counts."""
        carriers = " ".join(f"/sys/class/net/p{port}/carrier" for port in range(PORTS))
        listening = f"grep -q ' {ACCEPTS} .* /run/pktpit/{INSTANCE}.sock$' /proc/net/unix"
        ready = f"{listening} && [ $(cat {carriers} 2>/dev/null | grep -c 1) = {PORTS} ]"

        def event():
            said = self.guest.output(f"if [ -s {STATUS} ]; then echo ended; elif {ready}; then echo ready; fi")
            if said.strip() == "ended":
                raise AssertionError(f"pktpitd ended at its start:\n{self.log()}")
            return said.strip() == "ready"

        wait_for(event, "the daemon's ports are up", 0.1)
        wait_for(self._has_its_routes, f"{self.expected} routes are in place")
        # A NIC's link comes up when it likes, and its event is read after that.
        wait_for(lambda: all(port["up"] for port in self.show("ports")["ports"]), "the daemon has seen all links")
        # Routes by a link that came up late are put into the FIB in turns.
        wait_for(self.all_in_fib, "all routes are in the FIB")

    def _has_its_routes(self):
        try:
            return self.routes() >= self.expected
        except CommandFailed:  # too busy with them to say
            return False

    def settle(self):
        """The kernel has found its IPv6 addresses free to use (RFC 4862 5.4): before, it does not answer for them."""
        if self.settled:
            return
        self.guest.wait_for("! awk '{print $5}' /proc/net/if_inet6 | grep -q '^[4-7c-f]'", "duplicate address detection")
        self.settled = True

    def show(self, what):
        """What `pktpit show WHAT --json` prints."""
        return ask(self.guest, SOCKET, f"/v1/{what}")

    def counters(self):
        return self.show("counters")

    def verdicts(self):
        return self.counters()["totals"]["verdicts"]

    def hardware_split(self):
        """Frames whose header and payload a NIC has put in two places, on all ports."""
        return sum(port["nic"]["hardware_split"] for port in self.counters()["ports"].values())

    def all_in_fib(self):
        """Also those of a link that came up late, which go there a piece at a time. Asked of each: the FIB's size counts the
        router's own prefixes, too, and is as expected some routes before the last."""
        families = self.show("routes/summary").values()
        return (sum(family["sources"]["config"]["best"] for family in families) >= self.expected
                and all(family["installed"] == family["prefixes"] for family in families))

    def routes(self):
        return self.show("routes?limit=1")["total"]

    def kill(self):
        """kill -9, and gone."""
        self.guest.run(f"kill -9 {self.pid}")
        self._wait_gone()

    def stop(self):
        """SIGTERM; a daemon that does not end well is a failure."""
        if self.running():
            self.guest.run(f"kill {self.pid}")
            status = self._wait_gone()
            if status != 0:
                raise AssertionError(f"pktpitd ended with {status} on SIGTERM:\n{self.log()}")
        self.pid = None

    def _wait_gone(self):
        """Its exit status, as the shell gives it."""
        wait_for(lambda: not self.running(), "the daemon's end", 0.05)
        return int(self.guest.output(f"cat {STATUS}"))

    def said(self, words):
        """How often the log has them, of all daemons."""
        return int(self.guest.output(f"grep -c '{words}' {LOG}; true"))

    def log(self, lines=60):
        return self.guest.run(f"tail -n {lines} {LOG}", check=False)[1]

    def describe(self):
        said = [f"--- log of pktpitd\n{self.log()}", f"--- kernel\n{self.guest.run('dmesg | tail -n 15', check=False)[1]}"]
        if self.running():
            said += [f"--- {what}\n{self.guest.run(f'{SHOW} show {what}', check=False)[1]}" for what in ("ports", "counters")]
        return "\n".join(said)
