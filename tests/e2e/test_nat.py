# SPDX-License-Identifier: BSD-3-Clause
"""NAT44 by nftables beside the fast path: a filter's `to_kernel` rule hands over what is to be translated, all else is
Pktpit's. docs/filters.md has the same rules."""

import copy
import json
import socket

import pytest
from lib.namespaces import run
from lib.packets import delivered
from lib.pktpit_router import FORWARDING, TOOL
from lib.tcp import assert_transfer, connect, serve_once
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("filters are Pktpit's"),
              pytest.mark.not_model("its taps are of virtual time"),
              pytest.mark.skipif(FORWARDING != "inline", reason="`to_kernel` is for inline ports")]

RULES = """
table ip nat {{
  chain postrouting {{
    type nat hook postrouting priority srcnat;
    ip saddr {inside} oifname "{outside}" masquerade
  }}
}}
table ip guard {{
  chain forward {{
    type filter hook forward priority filter; policy drop;
    ct state established,related accept
    ip saddr {inside} accept
  }}
}}
"""


@pytest.fixture(autouse=True)
def translated(net):
    """What comes from a's own net is the kernel's, which masquerades it out of b's port."""
    router = net.router.namespace
    inside = f"10.{net.a.number}.0.0/24"
    router.sysctl({"net/ipv4/ip_forward": 1})
    router.run("nft", "-f", "-", input=RULES.format(inside=inside, outside=net.b.port))
    config = copy.deepcopy(net.router.config)
    config["filters"] = {"nat": [{"action": "to_kernel", "source": inside, "destination": f"10.{net.b.number}.0.0/24"}]}
    config["interfaces"][net.a.port]["filter_in"] = "nat"
    net.router.apply(config)
    yield
    router.run("nft", "flush", "ruleset")
    net.router.write()
    net.router.reload(net.router.file)


@requirement("a connection from inside is seen from the router's outside address, both ways, and what is not to be translated passes as ever")
def test_masquerade(net):
    before = net.router.counters()
    seen = []
    port, thread = serve_once(net.b.namespace, net.b.ip4, lambda connection, data: (seen.append(connection.getpeername()[0]), connection.sendall(data)))
    with connect(net.a.namespace, net.b.ip4, port) as client:
        client.sendall(b"translate me")
        assert client.recv(100) == b"translate me"
    thread.join(DEADLINE)
    assert seen == [net.b.router_ip4]
    assert_transfer(net.a.namespace, net.b.namespace, net.b.ip4, blocks=8)
    after = net.router.counters()
    assert after["host_filter"] - before.get("host_filter", 0) >= 10
    # Beside it, on the fast path, with its own source.
    forwarded = net.router.counters()["forwarded"]
    assert delivered(net.a, net.b)["IP"].src == net.a.behind4
    assert net.router.counters()["forwarded"] > forwarded


@requirement("the stateful filter behind it holds: from outside nobody connects to the inside by the kernel, unless it accepts that")
def test_stateful(net):
    config = copy.deepcopy(net.router.config)
    config["filters"] = {"nat": [{"action": "to_kernel", "source": f"10.{net.a.number}.0.0/24", "destination": f"10.{net.b.number}.0.0/24"}],
                         "in": [{"action": "to_kernel", "destination": f"10.{net.a.number}.0.0/24"}]}
    config["interfaces"][net.a.port]["filter_in"] = "nat"
    config["interfaces"][net.b.port]["filter_in"] = "in"
    net.router.apply(config)
    nft = net.router.namespace.run
    nft("nft", "add rule ip guard forward counter")  # what comes to the policy

    def dropped():
        rules = json.loads(nft("nft", "-j", "list chain ip guard forward").stdout)["nftables"]
        return next(one["counter"]["packets"] for rule in rules if "rule" in rule for one in rule["rule"]["expr"] if "counter" in one)

    accepted = []
    port, thread = serve_once(net.a.namespace, net.a.ip4, lambda connection, data: (accepted.append(data), connection.sendall(data)))
    with net.b.namespace.entered():
        outside = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with outside:
        outside.setblocking(False)
        outside.connect_ex((net.a.ip4, port))
        wait_for(dropped, "it asks, and comes to the policy")
        with pytest.raises(OSError, match="not connected"):
            outside.getpeername()
    # The same server is reached as soon as the filter says so.
    nft("nft", "add chain ip guard forward { policy accept; }")
    with connect(net.b.namespace, net.a.ip4, port) as client:
        client.sendall(b"let me in")
        assert client.recv(100) == b"let me in"
    thread.join(DEADLINE)
    assert accepted == [b"let me in"]


@requirement("rules in nftables' forward hook are told of: at the start, and by show drift; an import says what filters cannot")
def test_rules_in_the_forward_hook(net, tmp_path):
    items = [item for item in net.router.json("show", "drift")["drift"] if item["what"] == "nftables"]
    assert [(item["where"], item["mended_by_reload"]) for item in items] == [("ip guard forward", False)]
    assert items[0]["found"].startswith("2 rules, and drops all else")
    net.router.stop()
    net.router.start()
    assert "nftables: chain ip guard forward has 2 rules" in net.router.log()
    rules = tmp_path / "rules.json"
    rules.write_text(net.router.namespace.run("nft", "-jn", "list", "ruleset").stdout)
    imported = run(TOOL, "filter", "import", "nftables", rules, check=False)
    assert imported.returncode == 1
    assert json.loads(imported.stdout)["filters"]["guard-forward"] == [
        {"action": "accept", "source": f"10.{net.a.number}.0.0/24"}, {"action": "drop"}]
    assert "connection tracking" in imported.stderr and "hook postrouting" in imported.stderr


@requirement("nftables' own words are understood: sets, ranges of ports, flags, types, prefixes")
def test_import_of_real_rules(net, tmp_path):
    net.router.namespace.run("nft", "-f", "-", input="""
table inet more {
  set bad { type ipv4_addr; flags interval; elements = { 192.0.2.0/24, 198.51.100.7 } }
  chain transit {
    type filter hook forward priority 10;
    ip saddr @bad drop
    tcp dport { 22, 8000-8080 } drop
    ip6 daddr 2001:db8::/32 udp sport 53 accept
    tcp flags & (syn | ack) == syn drop
    icmpv6 type echo-request drop
    meta l4proto 47 counter drop
    iifname "lo" drop
  }
}
""")
    rules = tmp_path / "rules.json"
    rules.write_text(net.router.namespace.run("nft", "-jn", "list", "table", "inet", "more").stdout)
    imported = run(TOOL, "--json", "filter", "import", "nftables", rules, check=False)
    assert imported.returncode == 1, "one cannot be said"
    body = json.loads(imported.stdout)
    assert body["filters"]["more-transit"] == [
        {"action": "drop", "source": "192.0.2.0/24"}, {"action": "drop", "source": "198.51.100.7"},
        {"action": "drop", "protocol": "tcp", "destination_port": "22"},
        {"action": "drop", "protocol": "tcp", "destination_port": "8000-8080"},
        {"action": "accept", "protocol": "udp", "destination": "2001:db8::/32", "source_port": "53"},
        {"action": "drop", "protocol": "tcp", "tcp_flags": "syn,!ack"},
        {"action": "drop", "protocol": "icmpv6", "icmp_type": 128, "source": "::/0"},
        {"action": "drop", "protocol": 47}]
    assert len(body["left"]) == 1 and "by interface" in body["left"][0]
