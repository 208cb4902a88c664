# SPDX-License-Identifier: BSD-3-Clause
"""Which route a packet takes, and routes that change while packets flow."""

import pytest
from lib.namespaces import CommandFailed
from lib.packets import delivered, fence, goes_to, icmp_answer, token, udp4, udp6, wait_for_crossing
from lib.stream import assert_nothing_lost

requirement = pytest.mark.requirement


def nested(topology):
    b, c = topology.b, topology.c
    return {
        "routes": [
            {"prefix": "0.0.0.0/0", "next_hops": [{"via": b.ip4}]},
            {"prefix": "100.64.0.0/10", "next_hops": [{"via": c.ip4}]},
            {"prefix": "100.64.0.0/16", "next_hops": [{"via": b.ip4}]},
            {"prefix": "100.64.1.0/24", "next_hops": [{"via": c.ip4}]},
            {"prefix": "100.64.1.128/25", "next_hops": [{"via": b.ip4}]},
            {"prefix": "100.64.1.130/32", "next_hops": [{"via": c.ip4}]},
            {"prefix": "::/0", "next_hops": [{"via": b.ip6}]},
            {"prefix": "2001:db8:aaaa::/48", "next_hops": [{"via": c.ip6}]},
            {"prefix": "2001:db8:aaaa:1::/64", "next_hops": [{"via": b.ip6}]},
            {"prefix": "2001:db8:aaaa:1::80/121", "next_hops": [{"via": c.ip6}]},
            {"prefix": "2001:db8:aaaa:1::85/128", "next_hops": [{"via": b.ip6}]},
        ],
    }


NET = {"configure": nested}


@requirement("RFC 1812 5.2.4.3: the route with the longest matching prefix is used")
@pytest.mark.parametrize("destination, expected", [
    ("8.8.8.8", "b"), ("100.63.255.255", "b"), ("100.128.0.0", "b"), ("100.65.0.1", "c"), ("100.127.255.255", "c"),
    ("100.64.0.1", "b"), ("100.64.255.255", "b"), ("100.64.1.1", "c"), ("100.64.1.127", "c"), ("100.64.1.128", "b"),
    ("100.64.1.129", "b"), ("100.64.1.130", "c"), ("100.64.1.131", "b"), ("100.64.1.255", "b"), ("100.64.2.0", "b"),
    ("2607::1", "b"), ("2001:db8:aaaa::1", "c"), ("2001:db8:aaaa:1::1", "b"), ("2001:db8:aaaa:1::80", "c"),
    ("2001:db8:aaaa:1::85", "b"), ("2001:db8:aaaa:1::ff", "c"), ("2001:db8:aaaa:1::100", "b"), ("2001:db8:aaab::", "b"),
])
def test_longest_prefix_wins(net, destination, expected):
    assert goes_to(net, destination) == expected


@requirement("`route add`, `replace` and `del` change forwarding at once")
@pytest.mark.parametrize("prefix, destination, via", [("203.0.113.0/24", "203.0.113.5", "ip4"),
                                                      ("2001:db8:bbbb::/48", "2001:db8:bbbb::5", "ip6")])
def test_route_add_replace_del(net, prefix, destination, via):
    assert goes_to(net, destination) == "b", "the default route"
    net.router.route("add", prefix, "via", getattr(net.c, via))
    assert goes_to(net, destination) == "c"
    net.router.route("replace", prefix, "via", getattr(net.b, via))
    assert goes_to(net, destination) == "b"
    net.router.route("replace", prefix, "via", getattr(net.c, via))
    net.router.route("del", prefix)
    assert goes_to(net, destination) == "b"


@requirement("a host route shadows its net only while it is there")
def test_host_route(net):
    net.router.route("add", "100.65.7.7/32", "via", net.b.ip4)
    assert (goes_to(net, "100.65.7.7"), goes_to(net, "100.65.7.6"), goes_to(net, "100.65.7.8")) == ("b", "c", "c")
    net.router.route("del", "100.65.7.7/32")
    assert goes_to(net, "100.65.7.7") == "c"


@requirement("replacing a route is atomic: a stream sees the one next hop or the other, never none")
@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.kernel_differs("Linux does, but the stream's receiver sits on one host, and ip replaces too slowly to tell")
def test_replace_under_a_stream_loses_nothing(net, stream, family):
    """Both next hops lie on the same link, so that one receiver sees all of the stream."""
    prefix, destination = ("203.0.113.0/24", "203.0.113.5") if family == 4 else ("2001:db8:bbbb::/48", "2001:db8:bbbb::5")
    first = net.b.ip4 if family == 4 else net.b.ip6
    second = "10.2.0.3" if family == 4 else "2001:db8:2::3"
    net.b.namespace.ip("address", "add", second + ("/24" if family == 4 else "/64"), "dev", "eth0", *(["nodad"] if family == 6 else []))
    net.router.route("add", prefix, "via", first)
    for via in (second, first):  # whose MAC addresses are known then: a short queue waits for that, and it is not what is asked
        net.router.route("replace", prefix, "via", via)
        wait_for_crossing(net.a, net.b, lambda *ends: (udp4 if family == 4 else udp6)(*ends, dst=destination))
    running = stream(net.a, net.b, family=family, destination=destination)
    for _ in range(10):
        net.router.route("replace", prefix, "via", second)
        running.flows_again(200)
        net.router.route("replace", prefix, "via", first)
        running.flows_again(200)
    result = running.finish()
    net.router.route("del", prefix)
    net.b.namespace.ip("address", "del", second + ("/24" if family == 4 else "/64"), "dev", "eth0")
    assert_nothing_lost(result)


@requirement("adding what is there already, deleting what is not, and what makes no sense is refused in words")
@pytest.mark.pktpit("the words are Pktpit's")
@pytest.mark.parametrize("words, named", [
    (("add", "300.0.0.0/8", "via", "10.2.0.2"), "300.0.0.0/8"),
    (("add", "10.0.0.0/33", "via", "10.2.0.2"), "10.0.0.0/33"),
    (("add", "203.0.113.1/24", "via", "10.2.0.2"), "203.0.113.1/24"),
    (("add", "203.0.113.0/24", "via", "10.2.0.2000"), "10.2.0.2000"),
    (("add", "2001:db8:bbbb::/48", "via", "10.2.0.2"), "10.2.0.2"),
    (("del", "203.0.113.0/24"), "203.0.113.0/24"),
])
def test_bad_route_command_is_refused(net, words, named):
    done = net.router.cli("route", *words, check=False)
    assert done.returncode == (1 if words[0] == "del" else 2) and named in done.stderr


@requirement("a second `add` of one prefix is refused, the first stays")
def test_duplicate_add_is_refused(net):
    net.router.route("add", "203.0.113.0/24", "via", net.c.ip4)
    refused = net.router.route("add", "203.0.113.0/24", "via", net.b.ip4, check=False)
    assert refused.returncode == 1 and "203.0.113.0/24" in refused.stderr
    assert goes_to(net, "203.0.113.5") == "c"
    net.router.route("del", "203.0.113.0/24")


@requirement("what `lookup` and `show route` say is what packets do")
@pytest.mark.pktpit("asks Pktpit's tool")
@pytest.mark.parametrize("destination, prefix, via", [
    ("100.64.1.130", "100.64.1.130/32", "10.3.0.2"), ("100.64.1.129", "100.64.1.128/25", "10.2.0.2"),
    ("8.8.8.8", "0.0.0.0/0", "10.2.0.2"), ("2001:db8:aaaa:1::85", "2001:db8:aaaa:1::85/128", "2001:db8:2::2"),
])
def test_lookup_says_what_packets_do(net, destination, prefix, via):
    result = net.router.json("lookup", destination)["results"][0]
    assert (result["address"], result["prefix"]) == (destination, prefix)
    assert [hop["via"] for hop in result["next_hops"]] == [via]
    shown = net.router.json("show", "route", destination)
    assert (shown["prefix"], shown["verdict"], shown["adjacency"]["via"]) == (prefix, "forwarded", via)


@requirement("RFC 1812 5.2.4.3: without the default route there is none: net unreachable")
def test_default_route_can_be_withdrawn(net):
    if net.router.name == "kernel":
        net.router.route("del", "0.0.0.0/0")
    else:
        config = {**net.router.config, "routes": [route for route in net.router.config["routes"] if route["prefix"] != "0.0.0.0/0"]}
        net.router.apply(config)
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, src="198.18.1.99", dst="8.8.8.8"))
    error = bytes(icmp_answer(net.a, mark))
    assert (error[34], error[35]) == (3, 0)
    if net.router.name == "kernel":
        net.router.route("add", "0.0.0.0/0", "via", net.b.ip4)
    else:
        net.router.apply()
    assert goes_to(net, "8.8.8.8") == "b"


@requirement("a connected net is routed by itself, and loses to nothing")
def test_connected_net_is_reachable(net):
    for make, destination in ((udp4, net.b.ip4), (udp6, net.b.ip6)):
        assert delivered(net.a, net.b, make, dst=destination).dst == net.b.mac


@requirement("RFC 4291 2.5.3, 2.7.1: no default route leads to where no router may forward")
def test_default_route_does_not_lead_outside_the_rules(net):
    for destination in ("ff02::1:2", "fe80::9"):
        mark = token()
        net.a.send(udp6(net.a, net.b, mark, dst=destination), dst="33:33:00:01:00:02" if destination[:2] == "ff" else None)
        fence(net, 6)
        assert not net.b.wire.waiting(lambda frame: mark in frame)


@requirement("crossing works between every pair of hosts in both families")
def test_every_pair(net):
    for sender in net.hosts:
        for receiver in net.hosts:
            if sender is not receiver:
                wait_for_crossing(sender, receiver, udp4)
                wait_for_crossing(sender, receiver, udp6)


@pytest.mark.pktpit("Linux has no routes by hand of its own")
@requirement("a file of routes is one change: forwarding has all of them or none, and what is wrong is told with its line")
def test_routes_of_a_file(net, tmp_path):
    assert goes_to(net, "203.0.113.5") == "b", "the default route"
    file = tmp_path / "routes.txt"
    file.write_text(f"# by hand\n203.0.113.0/24 via {net.c.ip4}\n198.18.0.0/15 via {net.c.ip4}\n203.0.113.0/25 dev nowhere\n")
    with pytest.raises(CommandFailed, match=f"{file}:4"):
        net.router.route("add", "--file", str(file))
    assert goes_to(net, "203.0.113.5") == "b", "none of them"
    many = [f"203.0.{i // 256}.{i % 256}/32 via {net.c.ip4}" for i in range(20000)]
    file.write_text("\n".join(many) + "\n")
    net.router.route("add", "--file", str(file))
    assert [goes_to(net, f"203.0.{i // 256}.{i % 256}") for i in (0, 12345, 19999, 20000)] == ["c", "c", "c", "b"]
    with pytest.raises(CommandFailed, match=f"{file}:1"):
        net.router.route("add", "--file", str(file))
    file.write_text("\n".join(line.split()[0] for line in many) + "\n")
    net.router.route("del", "--file", str(file))
    assert goes_to(net, "203.0.0.0") == "b"
