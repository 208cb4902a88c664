# SPDX-License-Identifier: BSD-3-Clause
"""IPv4 prefixes over IPv6 gateways (RFC 8950): from the configuration and by hand, on every dataplane, and in the kernel."""

import json

import pytest
from lib.packets import arrives, checksum, delivered, goes_to, icmp_answer, ipv4_header, token, udp4
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("routes are written in Pktpit's configuration")


def link_local(host):
    """That Linux makes of the MAC address (RFC 4291, appendix A)."""
    return f"fe80::ff:fe00:{host.number:x}02"


def over_ipv6(topology):
    b, c = topology.b, topology.c
    return {"routes": [
        {"prefix": "203.0.113.0/24", "via": link_local(b), "interface": b.port},
        {"prefix": "198.51.100.0/24", "via": c.ip6},
        {"prefix": "198.51.101.0/24", "next_hops": [{"via": b.ip6, "weight": 3}, {"via": c.ip4}]},
        {"prefix": "192.88.0.0/16", "via": c.behind6},
    ]}


NET = {"configure": over_ipv6}


def in_kernel(net, prefix):
    shown = net.topology.router_namespace.ip("-j", "-4", "route", "show", prefix, "proto", "112").stdout
    return next(iter(json.loads(shown)), None)


def crosses(net, destination, host, gateway_mac):
    """The frame that leaves: to the neighbour's MAC address, IPv4, one hop further."""
    frame = bytes(delivered(net.a, host, dst=destination, ttl=64))
    assert frame[:6].hex(":") == gateway_mac and frame[6:12].hex(":") == host.router_mac
    assert frame[12:14] == b"\x08\x00"
    header = ipv4_header(frame)
    assert header[8] == 63 and checksum(header) == 0


@requirement("RFC 8950: packets to an IPv4 prefix leave to the MAC address of its IPv6 next hop, link-local or not")
@pytest.mark.parametrize("prefix, destination, label", [("203.0.113.0/24", "203.0.113.9", "b"), ("198.51.100.0/24", "198.51.100.9", "c"),
                                                        ("192.88.0.0/16", "192.88.7.7", "c")])
def test_leaves_to_the_ipv6_neighbour(net, prefix, destination, label):
    host = getattr(net, label)
    arrives(net.a, host, destination)
    crosses(net, destination, host, host.mac)
    shown = net.router.json("show", "route", destination)
    assert (shown["prefix"], shown["verdict"]) == (prefix, "forwarded")
    assert ":" in shown["adjacency"]["via"]


@requirement("RFC 8950: the kernel has them, too, as `via inet6`; several next hops may be of both families")
def test_installed_in_the_kernel(net):
    b, c = net.b, net.c
    for prefix in ("203.0.113.0/24", "198.51.100.0/24", "192.88.0.0/16", "198.51.101.0/24"):  # a port whose link comes up late: its routes, too
        wait_for(lambda prefix=prefix: in_kernel(net, prefix), f"{prefix} in the kernel")
    wait_for(lambda: len(in_kernel(net, "198.51.101.0/24").get("nexthops", [])) == 2, "both next hops in the kernel")
    assert in_kernel(net, "203.0.113.0/24")["via"] == {"family": "inet6", "host": link_local(b)}
    assert in_kernel(net, "198.51.100.0/24")["via"] == {"family": "inet6", "host": c.ip6}
    assert in_kernel(net, "192.88.0.0/16")["via"] == {"family": "inet6", "host": c.ip6}, "as what it resolves to"
    hops = in_kernel(net, "198.51.101.0/24")["nexthops"]
    assert sorted((hop.get("gateway") or hop["via"]["host"], hop["weight"]) for hop in hops) == sorted([(c.ip4, 1), (b.ip6, 3)])
    assert not [one for one in net.router.json("show", "drift")["drift"] if one["kind"] == "kernel route"]


@requirement("the router's own traffic takes the same way: a host behind an IPv6 next hop pings the router")
def test_own_traffic(net):
    net.b.namespace.ip("address", "replace", "203.0.113.77/32", "dev", "lo")
    net.b.namespace.run("ping", "-c", "2", "-W", "30", "-I", "203.0.113.77", net.b.router_ip4)


@requirement("RFC 8950: by hand as `via inet6`, beside an interface; a reload takes nothing of it away")
def test_by_hand(net):
    net.router.route("add", "100.64.0.0/10", "via", "inet6", link_local(net.c), "dev", net.c.port)
    arrives(net.a, net.c, "100.64.0.1")
    wait_for(lambda: (in_kernel(net, "100.64.0.0/10") or {}).get("via") == {"family": "inet6", "host": link_local(net.c)}, "in the kernel")
    net.router.reload()
    assert goes_to(net, "100.64.0.1") == "c"
    net.router.route("replace", "100.64.0.0/10", "via", net.b.ip6)
    arrives(net.a, net.b, "100.64.0.1")
    net.router.route("del", "100.64.0.0/10")
    wait_for(lambda: in_kernel(net, "100.64.0.0/10") is None, "gone from the kernel")
    assert goes_to(net, "100.64.0.1") is None


@requirement("RFC 8950: an interface without an IPv4 address carries IPv4; its ICMP errors go the same way")
def test_link_without_ipv4(build_net):
    net = build_net(start=False)
    c = net.c
    config = net.router.config
    config["interfaces"][c.port]["addresses"] = [f"{c.router_ip6}/64"]
    for route in config["routes"]:
        if route["prefix"] == f"198.18.{c.number}.0/24":
            route["next_hops"] = [{"via": c.ip6}]
    net.router.write()
    net.router.start()
    arrives(net.a, c, c.behind4)
    crosses(net, c.behind4, c, c.mac)
    mark = token()
    c.send(udp4(c, net.a, mark, dst="192.0.2.1"))  # no route to it
    error = icmp_answer(c, mark)
    assert bytes(error)[12:14] == b"\x08\x00" and bytes(error)[34:36] == b"\x03\x00"


@requirement("an IPv6 prefix over an IPv4 gateway is refused with its place, and all stays as it was")
def test_ipv6_over_ipv4_is_refused(net):
    config = {**net.router.config, "routes": [*net.router.config["routes"], {"prefix": "2001:db8:ccc::/48", "via": net.b.ip4}]}
    done = net.router.apply(config, check=False)
    net.router.write()
    assert done.returncode == 1
    assert f"gateway \"{net.b.ip4}\" is IPv4, but prefix 2001:db8:ccc::/48 is IPv6" in done.stdout + done.stderr
    assert f"/routes/{len(config['routes']) - 1}/via" in done.stdout + done.stderr
    assert goes_to(net, "203.0.113.9") == "b"


@requirement("RFC 8950 without IPv4 addresses on the links: ICMP errors come from the loopback's address, else from 192.0.0.8 (RFC 7600)")
@pytest.mark.xdp("a link without IPv4 addresses is the same on all")
def test_errors_without_addresses_on_the_links(build_net):
    def unnumbered(topology):
        return {"interfaces": {host.port: {"addresses": [f"{host.router_ip6}/64"]} for host in topology.hosts},
                "routes": [{"prefix": f"203.0.{112 + host.number}.0/24", "via": host.ip6} for host in topology.hosts]}

    net = build_net(configure=unnumbered, settle=False)
    arrives(net.a, net.b, "203.0.114.9")

    def error_from():
        mark = token()
        net.a.send(udp4(net.a, net.b, mark, src="203.0.113.9", dst="203.0.114.9", ttl=1))
        return bytes(icmp_answer(net.a, mark))[26:30]

    assert error_from() == bytes([192, 0, 0, 8])
    net.topology.router_namespace.ip("address", "add", "192.0.2.254/32", "dev", "lo")
    wait_for(lambda: error_from() == bytes([192, 0, 2, 254]), "errors come from the loopback's address")
