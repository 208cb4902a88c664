# SPDX-License-Identifier: BSD-3-Clause
"""What is measured: a routing daemon, and what forwards by its routes. Each answers two questions about sampled prefixes:
how many are there, and by which gateway."""

import http.client
import json
import shutil
import socket
import threading
import time

from lab import FEEDER_AS, Failure, LINKS, ROUTER_AS, run

FRR = "/usr/lib/frr"


class Reached:
    """Called again and again: do all of the sample lead by the gateway (any, if none is given), or are all of them gone? A few are
    asked about that were not as they should be, and all only when these are: what is asked takes little of the machine meanwhile."""

    FEW = 10

    def __init__(self, peer, gateway=None, gone=False):
        self.peer, self.gateway, self.gone, self.open = peer, gateway, gone, peer.lab.sample

    def wrong(self, pairs):
        there = self.peer.which(pairs, self.gateway)
        return [pair for pair in pairs if (pair[0] in there) == self.gone]

    def __call__(self):
        if self.wrong(self.open[:self.FEW]):
            return False
        self.open = self.wrong(self.peer.lab.sample)
        return not self.open


class Kernel:
    """Linux alone, with BIRD or FRR."""

    def __init__(self, lab, daemon):
        self.lab, self.daemon = lab, daemon
        self.name = f"kernel, {daemon}"
        self.fpm = False
        self.api_times, self.lookup_times = [], []

    def start(self):
        self.start_daemon()

    def start_daemon(self):
        start_bird(self.lab) if self.daemon == "BIRD" else start_frr(self.lab, self.fpm)

    def which(self, pairs, gateway=None):
        """The prefixes of these that are there as they stand, by this gateway if it is given."""
        lines = "".join(f"route get {address} fibmatch\n" for _, address in pairs)
        out = run("ip", "-n", self.lab.names["router"], "-force", "-batch", "-", input=lines, check=False).stdout
        found = {line.split()[0]: line for line in out.splitlines() if line[:1].isdigit()}
        return {prefix for prefix, _ in pairs
                if prefix in found and (gateway is None or f"via {gateway} " in found[prefix])}

    def total(self):
        return len(run("ip", "-n", self.lab.names["router"], "-4", "route", "show").stdout.splitlines()) - len(LINKS)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Pktpit(Kernel):
    """pktpitd, which takes routes from the kernel, or by FPM alone."""

    def __init__(self, lab, daemon, binary, fpm=False):
        super().__init__(lab, daemon)
        self.binary, self.fpm = binary, fpm
        self.name = f"Pktpit, {daemon}, {'FPM' if fpm else 'netlink'}"

    def start(self):
        self.start_pktpit()
        self.start_daemon()

    def start_pktpit(self):
        config = {"instance": "bench", "fib": {"table_memory_mib": 64}, "log_level": "info",
                  "interfaces": {device: {"addresses": [f"{net}.1/24"]} for device, net, _ in LINKS},
                  "neighbours": []}
        config |= {"fpm": {"listen": "127.0.0.1:2620"}} if self.fpm else {"kernel_routes": {"enabled": True}}
        self.file = self.lab.directory / "pktpit.json"
        self.file.write_text(json.dumps(config))
        self.socket = self.lab.directory / "pktpit.sock"
        self.process = self.lab.start("router", self.binary, "--config", self.file, "--socket", self.socket, log="pktpitd.log",
                                      env={"RUNTIME_DIRECTORY": str(self.lab.directory / "run")})
        self.lab.wait(self.answers, "pktpitd is ready", 120)

    def answers(self):
        try:
            return bool(self.ask("GET", "/v1/version"))
        except OSError:
            return False

    def ask(self, method, path, body=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None,
                               {"Content-Type": "application/json"} if body is not None else {})
            answer = json.loads(connection.getresponse().read())
        finally:
            connection.close()
        return answer

    def watch_api(self):
        """From now on an operator's question every 20 ms, each answer's time in `api_times`; what is returned ends it."""
        ended, failed = threading.Event(), []

        def ask_on():
            while not failed and not ended.wait(0.02):
                begin = time.monotonic()
                try:
                    self.ask("GET", "/v1/version")
                except (OSError, ValueError, http.client.HTTPException) as error:
                    failed.append(f"{self.name}: /v1/version: {error!r}")
                self.api_times.append(time.monotonic() - begin)

        asking = threading.Thread(target=ask_on)
        asking.start()

        def end():
            ended.set()
            asking.join()
            if failed:
                raise Failure(failed[0])

        return end

    def which(self, pairs, gateway=None):
        begin = time.monotonic()
        answer = self.ask("POST", "/v1/lookup", {"addresses": [address for _, address in pairs]})
        if len(pairs) == len(self.lab.sample):
            self.lookup_times.append(time.monotonic() - begin)
        return {prefix for (prefix, _), result in zip(pairs, answer["results"])
                if result["prefix"] == prefix and (gateway is None or [hop["via"] for hop in result["next_hops"]] == [gateway])}

    def total(self):
        return self.ask("GET", f"/v1/routes?source={'fpm' if self.fpm else 'kernel'}&limit=1")["total"]

    def memory_mib(self):
        for line in open(f"/proc/{self.pid()}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return None

    def pid(self):
        return self.ask("GET", "/v1/version")["pid"]


def start_bird(lab):
    sessions = "".join(f"protocol bgp r{number} {{ local {net}.1 as {ROUTER_AS}; neighbor {net}.2 as {FEEDER_AS}; connect delay time 1; "
                       f"connect retry time 2; error wait time 1, 2; ipv4 {{ import all; export none; }}; }}\n"
                       for number, (_, net, _) in enumerate(LINKS))
    file = lab.directory / "router.conf"
    file.write_text("router id 10.1.0.1;\nprotocol device { }\nprotocol direct { ipv4; }\n"
                    "protocol kernel { ipv4 { import none; export where source = RTS_BGP; }; }\n" + sessions)
    lab.start("router", "/usr/sbin/bird", "-f", "-c", file, "-s", lab.directory / "router.ctl",
              "-P", lab.directory / "router.pid", log="bird.log")


def start_frr(lab, fpm):
    folder = lab.directory / "frr"
    folder.mkdir()
    shutil.chown(folder, "frr", "frr")
    zebra = folder / "zebra.conf"
    zebra.write_text("fpm address 127.0.0.1 port 2620\n" if fpm else "")
    bgpd = folder / "bgpd.conf"
    neighbours = "".join(f" neighbor {net}.2 remote-as {FEEDER_AS}\n neighbor {net}.2 timers connect 1\n" for _, net, _ in LINKS)
    bgpd.write_text(f"router bgp {ROUTER_AS}\n bgp router-id 10.1.0.1\n no bgp ebgp-requires-policy\n{neighbours}")
    for name, file, more in (("zebra", zebra, ["-M", "dplane_fpm_nl"] if fpm else []), ("bgpd", bgpd, [])):
        lab.start("router", f"{FRR}/{name}", "-f", file, "-z", folder / "zserv.api", "-i", folder / f"{name}.pid",
                  "--vty_socket", folder, "-A", "127.0.0.1", "-P", "0", *more, log=f"{name}.log")
        lab.wait(lambda name=name: lab.command("router", "vtysh", "--vty_socket", folder, "-d", name, "-c", "show version",
                                               check=False).returncode == 0, f"{name} answers", 60)
    if fpm:
        status = lambda: lab.command("router", "ss", "-Htn", "state", "established", "sport", "=", ":2620").stdout.strip()  # noqa: E731
        lab.wait(status, "zebra has connected to pktpitd", 60)
