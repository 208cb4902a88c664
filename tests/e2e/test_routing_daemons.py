# SPDX-License-Identifier: BSD-3-Clause
"""The files of docs/routing-daemons.md (docs/examples), as they stand there but for names and addresses of the test's links,
with the daemons that Debian has."""

import json
import re
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from lib.frr import Bird, Frr
from lib.namespaces import end
from lib.packets import arrives
from lib.pktpit_router import ROOT
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("about Pktpit beside routing daemons"),
              pytest.mark.xdp("the daemons need the ports' own devices and addresses"),
              pytest.mark.says_who_decides("whose routes they are is the same to every port stage")]
EXAMPLES = ROOT / "docs" / "examples"

# The examples' eth0 is the port to host a, their eth1 that to host b.
LINKS = [(r"\beth0\b", "p1"), (r"\beth1\b", "p2"), (r"\b192\.0\.2\.", "10.1.0."), (r"\b198\.51\.100\.", "10.2.0.")]


def example(name):
    text = (EXAMPLES / name).read_text()
    for old, new in LINKS:
        text = re.sub(old, new, text)
    return text


def configuration(name):
    document = json.loads(example(name))
    return {key: value for key, value in document.items() if key != "interfaces"}


class Process:
    """A daemon in the foreground with a folder of its own."""

    def __init__(self, namespace, program, file, make_words):
        if not shutil.which(program):
            pytest.fail(f"{program} is not there (packaging/debian-packages.txt)", pytrace=False)
        self.directory = Path(tempfile.mkdtemp(prefix="pktpit-daemon-"))
        self.file = self.directory / "conf"
        self.file.write_text(file)
        self.file.chmod(0o644)
        self.out = self.directory / "out"
        with open(self.out, "ab") as out:
            self.process = namespace.start(program, *make_words(self), stdout=out, stderr=out)

    def log(self):
        return self.out.read_text(errors="replace")

    def close(self):
        end(self.process, signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)


def prefixes(net, source):
    return {route["prefix"] for route in net.router.json("show", "routes", "--source", source)["routes"]}


# The other end of the sessions, at host a: BIRD, in AS 64501 and area 0.
PEER = """
router id 10.1.0.2;
protocol device {{ }}
protocol direct {{ ipv4; ipv6; interface "lo"; }}
protocol static far4 {{ ipv4; route 203.0.113.0/24 blackhole; route 198.18.200.0/24 blackhole; }}
protocol static far6 {{ ipv6; route 2001:db8:bbbb::/48 blackhole; }}
protocol kernel {{ ipv4 {{ export none; }}; }}
{session}
"""
BGP = """
protocol bgp down4 { local as 64501; neighbor 10.1.0.1 as 64500; ipv4 { import all; export where source = RTS_STATIC; next hop self; }; }
protocol bgp down6 { local as 64501; neighbor 2001:db8:1::1 as 64500; ipv6 { import all; export where source = RTS_STATIC; next hop self; }; }
"""
OSPF = """
protocol bfd { interface "eth0" { min rx interval 300 ms; min tx interval 300 ms; multiplier 3; }; }
protocol ospf v2 o4 { ipv4 { export where source = RTS_STATIC; }; area 0 { interface "eth0" { type ptp; bfd on; hello 1; dead 40; }; }; }
protocol ospf v3 o6 { ipv6 { export where source = RTS_STATIC; }; area 0 { interface "eth0" { type ptp; bfd on; hello 1; dead 40; }; }; }
"""
FAR = {"203.0.113.0/24", "198.18.200.0/24", "2001:db8:bbbb::/48"}


@requirement("docs/examples/frr-bgp-fpm: BGP's routes come by FPM, and are forwarded by; without the session they go")
def test_bgp_with_frr_and_fpm(build_net, closing):
    net = build_net(config=configuration("frr-bgp-fpm.json"))
    text = example("frr-bgp-fpm.conf")
    frr = closing(Frr(net.topology.router_namespace, daemons=("bgpd",), fpm=None, integrated=text))
    frr.start()
    peer = closing(Bird(net.a.namespace, PEER.format(session=BGP)))
    peer.start()
    wait_for(lambda: prefixes(net, "fpm") == FAR, "BGP's routes by FPM")
    assert {route["protocol"] for route in net.router.json("show", "routes", "--source", "fpm")["routes"]} == {"bgp"}
    arrives(net.b, net.a, "203.0.113.9")
    arrives(net.b, net.a, "2001:db8:bbbb::9")
    peer.ctl("disable", "far4")
    wait_for(lambda: prefixes(net, "fpm") == {"2001:db8:bbbb::/48"}, "withdrawn")


@requirement("docs/examples/bird-bgp-kernel: BGP's routes come by way of the kernel, and are forwarded by; withdrawn ones go")
def test_bgp_with_bird_and_the_kernel(build_net, closing):
    net = build_net(config=configuration("bird-bgp-kernel.json"))
    closing(Bird(net.topology.router_namespace, example("bird-bgp-kernel.conf"))).start()
    peer = closing(Bird(net.a.namespace, PEER.format(session=BGP)))
    peer.start()
    wait_for(lambda: prefixes(net, "kernel") == FAR, "BGP's routes from the kernel")
    arrives(net.b, net.a, "203.0.113.9")
    arrives(net.b, net.a, "2001:db8:bbbb::9")
    peer.ctl("disable", "far4")
    wait_for(lambda: prefixes(net, "kernel") == {"2001:db8:bbbb::/48"}, "withdrawn")


@requirement("docs/examples/frr-ospf-bfd: OSPF's routes come by FPM; BFD notices a neighbour that has gone long before OSPF's own 40 s")
def test_ospf_with_bfd(build_net, closing):
    net = build_net(config=configuration("frr-ospf-bfd.json"))
    # Hellos more often, so that the test need not wait for them; the neighbour is dead after 40 s, as by default.
    text = example("frr-ospf-bfd.conf")
    timers = "exit\ninterface p1\n ip ospf hello-interval 1\n ip ospf dead-interval 40\n ipv6 ospf6 hello-interval 1\n ipv6 ospf6 dead-interval 40\n"
    frr = closing(Frr(net.topology.router_namespace, daemons=("bfdd", "ospfd", "ospf6d"), fpm=None,
                      integrated=text + timers))
    frr.start()
    peer = closing(Bird(net.a.namespace, PEER.format(session=OSPF)))
    peer.start()
    wait_for(lambda: FAR <= prefixes(net, "fpm"), "OSPF's routes by FPM")
    arrives(net.b, net.a, "203.0.113.9")
    arrives(net.b, net.a, "2001:db8:bbbb::9")
    wait_for(lambda: '"status":"up"' in frr.vtysh("show bfd peers json").stdout.replace(" ", ""), "BFD is up")
    peer.process.send_signal(signal.SIGSTOP)  # silent, as a machine that has hung
    try:
        wait_for(lambda: not FAR & prefixes(net, "fpm"), "its routes are gone")
    finally:
        peer.process.send_signal(signal.SIGCONT)


@requirement("docs/examples/keepalived-vrrp: the virtual address answers and is a gateway while its router is master, and moves when it has gone")
def test_vrrp(build_net, closing):
    net = build_net()
    words = lambda it: ["-n", "-P", "-l", "-f", it.file, "-p", it.directory / "pid", "-r", it.directory / "vrrp.pid"]  # noqa: E731
    daemon = closing(Process(net.topology.router_namespace, "keepalived", example("keepalived-vrrp.conf"), words))
    ping = lambda: net.a.namespace.run("ping", "-c1", "-W1", "10.1.0.254", check=False).returncode == 0  # noqa: E731
    wait_for(ping, "the virtual address answers")
    net.a.namespace.ip("route", "replace", "default", "via", "10.1.0.254")
    assert net.a.namespace.run("ping", "-c1", "-W2", net.b.ip4, check=False).returncode == 0
    end(daemon.process, signal.SIGTERM)
    wait_for(lambda: not ping(), "it has gone with its router")


@requirement("docs/examples/radvd: hosts take an address and the router for their default gateway, and packets pass")
def test_router_advertisements(build_net, closing):
    net = build_net()
    net.a.namespace.ip("-6", "route", "del", "default")
    net.a.namespace.sysctl({"net/ipv6/conf/eth0/accept_ra": 2, "net/ipv6/conf/eth0/autoconf": 1})
    closing(Process(net.topology.router_namespace, "radvd", example("radvd.conf"),
                    lambda it: ["-n", "-C", it.file, "-p", it.directory / "pid", "-m", "stderr"]))
    default = lambda: "proto ra" in net.a.namespace.ip("-6", "route", "show", "default").stdout  # noqa: E731
    wait_for(default, "a default route by router advertisement")
    addresses = lambda: net.a.namespace.ip("-6", "address", "show", "dev", "eth0", "dynamic").stdout  # noqa: E731
    wait_for(lambda: "2001:db8:1:" in addresses(), "an address of the prefix")
    wait_for(lambda: net.a.namespace.run("ping", "-6", "-c1", "-W1", net.b.ip6, check=False).returncode == 0, "packets pass")
