# SPDX-License-Identifier: BSD-3-Clause
"""What the daemon listens at, at addresses that are the ports' own, or not there yet: no listener keeps the router from starting."""

import pytest
from lib.packets import both_ways
from lib.pktpit_router import TOOL
from lib.waiting import wait_for
from lib.web import connect, request

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("the ports are Pktpit's")
WEB, METRICS, FPM = 8080, 9100, 2620


def at_its_own(topology):
    a, b = topology.a, topology.b
    return {"web": {"listen": f"{a.router_ip4}:{WEB}", "from": ["10.1.0.0/24"]},
            "metrics": {"listen": f"[{b.router_ip6}]:{METRICS}", "from": ["2001:db8:2::/64"]},
            "fpm": {"listen": f"{b.router_ip4}:{FPM}", "from": ["10.2.0.0/24"]}}


@requirement("the page, /metrics and FPM at addresses that the same file gives to ports: after a boot the router starts, forwards and answers there")
def test_at_addresses_of_ports(build_net):
    net = build_net(configure=at_its_own)
    both_ways(net.a, net.b)
    assert request(net.a.namespace, net.a.router_ip4, WEB, "/").status == 200
    assert "pktpit_" in request(net.b.namespace, net.b.router_ip6, METRICS, "/metrics", Host=f"[{net.b.router_ip6}]:{METRICS}").text
    connect(net.b.namespace, net.b.router_ip4, FPM).close()
    assert "no address of this machine" not in net.router.log()


@requirement("at an address that the machine does not have: the reload is applied, the log and `pktpit check` say so, and it answers once the address is there")
def test_at_an_address_that_comes_later(build_net):
    net = build_net(config={"web": {"listen": f"127.0.0.1:{WEB}"}})
    net.router.config["web"] = {"listen": f"10.1.0.77:{WEB}", "from": ["10.1.0.0/24"]}
    net.router.apply()
    warning = "10.1.0.77 is no address of this machine"
    wait_for(lambda: warning in net.router.log(), "the log says so")
    router = net.topology.router_namespace
    assert warning in router.run(TOOL, "check", net.router.file).stdout
    router.ip("address", "add", "10.1.0.77/24", "dev", net.a.port)
    assert request(net.a.namespace, "10.1.0.77", WEB, "/").status == 200
    assert warning not in router.run(TOOL, "check", net.router.file).stdout


@requirement("a port that somebody else has is refused, and everything stays as it was")
def test_at_a_port_that_is_taken(build_net):
    net = build_net(config={"web": {"listen": f"127.0.0.1:{WEB}"}, "metrics": {"listen": f"127.0.0.1:{METRICS}"}})
    net.router.config["web"] = {"listen": f"127.0.0.1:{METRICS + 1}"}
    net.router.config["fpm"] = {"listen": f"127.0.0.1:{METRICS}"}
    refused = net.router.apply(check=False)
    assert refused.returncode == 1 and "/fpm/listen" in refused.stdout + refused.stderr
    assert request(net.topology.router_namespace, "127.0.0.1", WEB, "/").status == 200
