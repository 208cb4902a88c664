# SPDX-License-Identifier: BSD-3-Clause
"""VRFs: interfaces with routes of their own, over which the same addresses and prefixes mean something else.

Hosts a and b are in VRF red, c and d in blue, e and f in the default one. On the links of b and d the router has the same
address, 10.77.0.1/24, and a neighbour 10.77.0.2 on each; both have 203.0.113.0/24 behind them, and f has it, too. The host's own packets are
the kernel's, which has no VRF devices here: it answers for addresses that it has once."""

import copy
import struct

import pytest
from conftest import open_net
from lib.namespaces import end
from lib.packets import ICMP, icmp_answer, token, udp4, udp6
from lib.pktpit_router import inline_only
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for
from lib.wire import NothingReceived
from test_fpm import FPM, NEWROUTE, Sender, next_hop4, route4
from test_trace import Observation

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux would need VRF devices"), pytest.mark.not_model("the modelled topology has four ports")]
VRFS = {"a": "red", "b": "red", "c": "blue", "d": "blue", "e": "default", "f": "default"}
BOTH4, BOTH6 = "203.0.113.9", "2001:db8:ffff::9"
LEAKED = "192.0.2.9"
TAG = struct.pack("!HH", 0x8100, 100)


def configure(net):
    """VRFS, what is in both, and leaks; in place of the topology's own routes, which know no VRFs."""
    config = net.router.config
    config["vrfs"] = {"red": {"table": 1001}, "blue": {"table": 1002}}
    config["kernel_routes"] = {"enabled": True, "protocols": ["static"]}
    config["routes"], config["neighbours"] = [], []
    for host in net.hosts:
        vrf = VRFS[host.label]
        config["interfaces"][host.port]["vrf"] = vrf
        config["routes"] += [{"prefix": f"198.18.{host.number}.0/24", "via": host.ip4, "vrf": vrf},
                             {"prefix": f"2001:db8:{host.number}:100::/56", "via": host.ip6, "vrf": vrf}]
    for host in (net.b, net.d):
        interface = config["interfaces"][host.port]
        interface["addresses"] = interface["addresses"] + ["10.77.0.1/24", "2001:db8:77::1/64"]
        config["neighbours"] += [{"address": address, "mac": host.mac, "interface": host.port}
                                 for address in ("10.77.0.2", "2001:db8:77::2")]
        config["routes"] += [{"prefix": "203.0.113.0/24", "via": "10.77.0.2", "vrf": VRFS[host.label]},
                             {"prefix": "2001:db8:ffff::/48", "via": "2001:db8:77::2", "vrf": VRFS[host.label]}]
    config["routes"] += [
        {"prefix": "192.0.2.0/24", "next_hops": [{"via": net.c.ip4, "vrf": "blue"}], "vrf": "red"},
        {"prefix": "198.18.1.0/24", "via": net.a.ip4, "interface": net.a.port, "vrf": "blue"},
        {"prefix": "203.0.113.0/24", "via": net.f.ip4}, {"prefix": "2001:db8:ffff::/48", "via": net.f.ip6},
    ]
    config["interfaces"]["p2.100"] = {"parent": "p2", "vlan": [100], "vrf": "blue", "addresses": ["10.20.0.1/24"]}
    config["neighbours"].append({"address": "10.20.0.2", "mac": net.b.mac, "interface": "p2.100"})
    config["routes"].append({"prefix": "198.51.100.0/24", "via": "10.20.0.2", "vrf": "blue"})
    net.router.write()


def reaches(sender, receiver, destination, **fields):
    """Sends until a packet to the address arrives at `receiver`; the frame."""
    def once():
        mark = token()
        sender.send((udp6 if ":" in destination else udp4)(sender, receiver, mark, dst=destination, **fields))
        try:
            return receiver.receive(mark, 0.3)
        except NothingReceived:
            return None

    return wait_for(once, f"packets from {sender.label} to {destination} arrive at {receiver.label}")


def error_at(sender, destination, **fields):
    """The ICMP error that comes back."""
    def once():
        mark = token()
        sender.send((udp6 if ":" in destination else udp4)(sender, sender, mark, dst=destination, **fields))
        try:
            return icmp_answer(sender, mark, 0.3)
        except NothingReceived:
            return None

    return wait_for(once, f"an error comes back to {sender.label} about {destination}")


def settle(net):
    """Every neighbour is known, within each VRF."""
    for pair in ("ab", "cd", "ef"):
        for one, other in (pair, pair[::-1]):
            sender, receiver = getattr(net, one), getattr(net, other)
            for destination in (receiver.behind4, receiver.behind6):
                reaches(sender, receiver, destination)
    for host in net.hosts:
        host.wire.drain()


def begin(request, directory):
    net = open_net(request, directory, start=False, count=6)
    try:
        configure(net)
        net.router.start()
        settle(net)
    except BaseException:
        net.close()
        raise
    return net


@pytest.fixture(scope="module")
def net(request, tmp_path_factory):
    net = begin(request, tmp_path_factory.mktemp("vrf"))
    yield net
    net.close()


@pytest.fixture
def own_net(request, tmp_path):
    net = begin(request, tmp_path)
    yield net
    net.close()


@pytest.fixture(autouse=True)
def original_afterwards(request):
    yield
    if "net" in request.fixturenames:
        net = request.getfixturevalue("net")
        net.router.apply()


def changed(net, change):
    config = copy.deepcopy(net.router.config)
    change(config)
    net.router.write(config)
    return config


@requirement("the same prefix and the same addresses in two VRFs: packets go by their own interface's")
@pytest.mark.parametrize("destination", [BOTH4, BOTH6])
def test_vrfs_do_not_mix(net, destination):
    for sender, receiver in (("a", "b"), ("c", "d"), ("e", "f")):
        for _ in range(3):
            reaches(getattr(net, sender), getattr(net, receiver), destination)
            others = [host for host in net.hosts if host.label not in (sender, receiver)]
            assert not [host.label for host in others if host.wire.waiting(lambda frame: destination_of(frame) == destination)]


def destination_of(frame):
    import socket

    if frame[12:14] == b"\x08\x00":
        return socket.inet_ntop(socket.AF_INET, frame[30:34])
    return socket.inet_ntop(socket.AF_INET6, frame[38:54]) if frame[12:14] == b"\x86\xdd" else None


@requirement("what one VRF has no route to is unreachable there, whatever others have")
def test_no_route_in_one_vrf(net):
    for sender, destination in ((net.a, net.d.behind4), (net.c, net.b.behind4), (net.e, net.b.behind4), (net.a, net.e.behind4),
                                (net.a, net.d.behind6), (net.e, net.b.behind6)):
        answer = error_at(sender, destination)
        assert answer.dst == sender.mac


@requirement("a next hop leads into another VRF: by the gateway's VRF, and by an interface")
def test_leaks(net):
    reaches(net.a, net.c, LEAKED)
    reaches(net.c, net.a, net.a.behind4)
    error_at(net.e, LEAKED)


@requirement("ICMP errors go back by the VRF that the packet came in by; traceroute sees the router in each")
def test_icmp_errors_leave_by_the_right_vrf(net):
    for host in (net.b, net.d):  # the source is behind both
        answer = error_at(host, "198.18.99.1", src=BOTH4)
        assert answer[ICMP].type == 3 and answer["IP"].dst == BOTH4
        answer = error_at(host, host.behind4, src=BOTH4, ttl=1)
        assert answer[ICMP].type == 11 and answer["IP"].dst == BOTH4
    for sender, receiver in ((net.a, net.b), (net.c, net.d), (net.e, net.f)):
        answer = error_at(sender, receiver.behind4, ttl=1)
        assert answer[ICMP].type == 11 and answer["IP"].src == sender.router_ip4
        answer = error_at(sender, receiver.behind6, hlim=1)
        assert answer["IPv6"].src == sender.router_ip6


@requirement("the router's own address answers in its VRF, and is nobody's in another")
def test_ping_of_the_router(net):
    for host in net.hosts:
        for address in (host.router_ip4, host.router_ip6):
            host.namespace.run("ping", "-c", "1", "-W", "30", address)
    assert error_at(net.a, net.c.router_ip4)[ICMP].type == 3
    assert error_at(net.e, "10.77.0.1")[ICMP].type == 3


@requirement("a VLAN interface is in a VRF of its own, whatever its port's is")
@pytest.mark.not_dpdk("net_af_packet takes tags off and does not say of which protocol they were")
def test_vlan_interface_in_a_vrf(net, mark):
    net.c.send(udp4(net.c, net.b, mark, dst="198.51.100.9"))
    frame = net.b.wire.receive(lambda frame: mark in frame)
    assert frame[12:16] == TAG
    error_at(net.a, "198.51.100.9")
    # What comes in by it is looked up in blue; what comes by its port in red.
    mark = token()
    whole = net.b.frame(udp4(net.b, net.d, mark, src="198.51.100.9", dst=BOTH4))
    net.b.wire.send(whole[:12] + TAG + whole[12:])
    net.d.receive(mark)


@requirement("show vrfs, show routes --vrf, show route --vrf and lookup --vrf say what is so")
def test_shown(net):
    shown = {vrf["name"]: vrf for vrf in net.router.json("show", "vrfs")["vrfs"]}
    assert set(shown) == {"default", "red", "blue"}
    assert (shown["red"]["table"], shown["blue"]["table"]) == (1001, 1002)
    assert shown["red"]["interfaces"] == ["p1", "p2"] and shown["blue"]["interfaces"] == ["p2.100", "p3", "p4"]
    assert shown["default"]["interfaces"] == ["p5", "p6"]
    for vrf, via in (("red", "p2"), ("blue", "p4")):
        routes = {route["prefix"]: route for route in net.router.json("show", "routes", "--vrf", vrf)["routes"]}
        assert routes["203.0.113.0/24"]["next_hops"][0]["interface"] == via
        assert len(routes) <= shown[vrf]["routes"]["ipv4"] + shown[vrf]["routes"]["ipv6"]
        route = net.router.json("show", "route", BOTH4, "--vrf", vrf)
        assert route["prefix"] == "203.0.113.0/24" and route["adjacency"]["interface"] == via
        [result] = net.router.json("lookup", BOTH4, "--vrf", vrf)["results"]
        assert result["prefix"] == "203.0.113.0/24" and result["next_hops"][0]["interface"] == via
    [leak] = [route for route in net.router.json("show", "routes", "--vrf", "red")["routes"] if route["prefix"] == "192.0.2.0/24"]
    assert leak["next_hops"][0]["vrf"] == "blue" and leak["next_hops"][0]["interface"] == "p3"
    for words in ((), ("--vrf", "default")):
        assert net.router.json("lookup", BOTH4, *words)["results"][0]["next_hops"][0]["interface"] == "p6"
        assert not any(route["prefix"] == "192.0.2.0/24" for route in net.router.json("show", "routes", *words)["routes"])
    summary = net.router.json("show", "routes", "summary", "--vrf", "red")
    assert summary["ipv4"]["prefixes"] + summary["ipv6"]["prefixes"] > 0 and summary["ipv4"]["refused"] == 0
    assert summary["ipv4"]["sources"]["config"]["routes"] == 4
    assert "in VRF blue" in net.router.cli("show", "ports").stdout
    assert "red" in net.router.cli("show", "vrfs").stdout and "1001" in net.router.cli("show", "vrfs").stdout
    refused = net.router.cli("show", "routes", "--vrf", "green", check=False)
    assert refused.returncode == 1 and "green" in refused.stdout + refused.stderr


@requirement("trace says in which VRF a packet was looked up, and what it met there")
@pytest.mark.parametrize("sender, receiver, vrf, destination, prefix", [
    ("a", "c", "red", LEAKED, "192.0.2.0/24"), ("c", "d", "blue", BOTH4, "203.0.113.0/24"), ("e", "f", "default", BOTH4, "203.0.113.0/24")])
def test_trace(net, sender, receiver, vrf, destination, prefix):
    sender, receiver = getattr(net, sender), getattr(net, receiver)
    observation = Observation(net.router, "trace", "--json", "--count", 1, "--filter", f"host {destination}", "--port", sender.port)
    try:
        reaches(sender, receiver, destination)
        [packet], _ = observation.packets()
    finally:
        end(observation.process)
    lookup = packet["lookup"]
    assert (lookup["vrf"], lookup["prefix"], lookup["as_the_packet_met"]) == (vrf, prefix, True)
    assert lookup["adjacency"]["port"] == receiver.port
    assert lookup["group"] == net.router.json("show", "route", destination, "--vrf", vrf)["group"]["id"]


def in_kernel(net, *words):
    net.topology.router_namespace.ip("-6" if any(":" in str(word) for word in words) else "-4", "route", *words)


@requirement("the kernel's table of each VRF is followed into it, live, and main into the default one")
@pytest.mark.parametrize("prefix, destination, via", [("100.64.0.0/16", "100.64.1.9", "ip4"), ("2001:db8:cccc::/48", "2001:db8:cccc::9", "ip6")])
def test_kernel_tables_are_followed(net, prefix, destination, via):
    pairs = ((net.a, net.b, "1001"), (net.c, net.d, "1002"), (net.e, net.f, "main"))
    for _, receiver, table in pairs:
        in_kernel(net, "add", prefix, "via", getattr(receiver, via), "table", table, "proto", "static")
    for sender, receiver, _ in pairs:
        reaches(sender, receiver, destination)
    assert net.router.json("show", "route", destination, "--vrf", "blue")["candidates"][0]["source"] == "kernel"
    in_kernel(net, "del", prefix, "table", "1001")
    error_at(net.a, destination)
    for sender, receiver, _ in pairs[1:]:
        reaches(sender, receiver, destination)
    # With its VRF the table is followed no more; with the VRF it is back.
    changed(net, lambda config: config["vrfs"]["blue"].update(table=1003))
    net.router.reload()
    error_at(net.c, destination)
    net.router.apply()
    reaches(net.c, net.d, destination)
    for _, _, table in pairs[1:]:
        in_kernel(net, "del", prefix, "table", table)
    for sender, _, _ in pairs:
        error_at(sender, destination)


def kernel_has(net, table, prefix):
    return prefix in net.topology.router_namespace.ip("route", "show", "table", table, check=False).stdout


@requirement("configured routes stand in the kernel's table of their VRF, and in no other; they go with it, and come back")
def test_installed_in_the_vrfs_table(net):
    expected = {"1001": ("198.18.1.0/24", "192.0.2.0/24"), "1002": ("198.18.3.0/24",), "main": ("198.18.5.0/24",)}
    for table, prefixes in expected.items():
        for prefix in prefixes:
            wait_for(lambda table=table, prefix=prefix: kernel_has(net, table, prefix), f"{prefix} is in table {table}")
    assert not kernel_has(net, "main", "198.18.3.0/24") and not kernel_has(net, "1001", "198.18.3.0/24")
    changed(net, lambda config: config["vrfs"]["blue"].update(table=1003))
    net.router.reload()
    wait_for(lambda: kernel_has(net, "1003", "198.18.3.0/24") and not kernel_has(net, "1002", "198.18.3.0/24"),
             "the routes have moved to the VRF's new table")
    net.router.apply()
    wait_for(lambda: kernel_has(net, "1002", "198.18.3.0/24") and not kernel_has(net, "1003", "198.18.3.0/24"), "and back")


@requirement("routes by hand are of the VRF that they name, are counted there, and survive kill -9")
def test_routes_by_hand(own_net):
    net = own_net
    for receiver, vrf in ((net.b, "red"), (net.d, "blue")):
        net.router.cli("route", "add", "100.65.0.0/16", "via", receiver.ip4, "vrf", vrf, "counters")
    refused = net.router.cli("route", "add", "100.66.0.0/16", "via", net.b.ip4, "vrf", "green", check=False)
    assert refused.returncode == 1 and "no such VRF" in refused.stderr
    reaches(net.a, net.b, "100.65.1.9")
    reaches(net.c, net.d, "100.65.1.9")
    error_at(net.e, "100.65.1.9")
    assert kernel_has(net, "1001", "100.65.0.0/16") and kernel_has(net, "1002", "100.65.0.0/16")

    def counts():
        return {route["vrf"]: route["packets"] for route in net.router.json("show", "counters")["routes"]}

    before = counts()
    assert before["red"] >= 1 and before["blue"] >= 1
    reaches(net.c, net.d, "100.65.1.9")
    wait_for(lambda: counts()["blue"] > before["blue"], "the route of VRF blue has counted")
    assert counts()["red"] == before["red"]
    net.router.kill()
    net.router.start()
    settle(net)
    reaches(net.a, net.b, "100.65.1.9")
    net.router.cli("route", "del", "100.65.0.0/16", "vrf", "red")
    error_at(net.a, "100.65.1.9")
    reaches(net.c, net.d, "100.65.1.9")
    assert not kernel_has(net, "1001", "100.65.0.0/16") and kernel_has(net, "1002", "100.65.0.0/16")


@pytest.mark.xdp("zebra means interfaces by their numbers, the control plane is the same")
@requirement("routes by FPM are of the VRF whose table they are in; a VRF that comes has zebra say its table again")
def test_fpm_of_vrfs(own_net):
    net = own_net
    net.router.apply({**net.router.config, "fpm": FPM})
    numbers = {port["name"]: port["ifindex"] for port in net.router.json("show", "ports")["ports"]}

    def say(sender, prefix, receiver, table):
        number = 1000 + receiver.number
        sender.frame(next_hop4(number, gateway=receiver.ip4, ifindex=numbers[receiver.port]),
                     route4(NEWROUTE, prefix, nexthop_id=number, table=table))

    sender = Sender(net)
    say(sender, "100.67.0.0/16", net.f, 254)
    for receiver, table in ((net.b, 1001), (net.d, 1002)):
        # Of tables above 255 rtm_table says 252, and RTA_TABLE the number.
        say(sender, "100.67.0.0/16", receiver, table)
    reaches(net.a, net.b, "100.67.1.9")
    reaches(net.c, net.d, "100.67.1.9")
    reaches(net.e, net.f, "100.67.1.9")
    assert net.router.json("show", "route", "100.67.1.9", "--vrf", "blue")["candidates"][0]["source"] == "fpm"
    say(sender, "100.68.0.0/16", net.b, 1004)  # nobody's
    wait_for(lambda: net.router.json("show", "fpm")["counters"]["ignored"] == 1, "it was ignored")
    net.router.apply({**net.router.config, "fpm": FPM, "vrfs": {**net.router.config["vrfs"], "green": {"table": 1004}}})
    assert sender.is_closed()
    reaches(net.c, net.d, "100.67.1.9")  # stale, and used
    again = Sender(net)
    say(again, "100.68.0.0/16", net.f, 1004)
    wait_for(lambda: net.router.json("show", "vrfs") and any(vrf["name"] == "green" and vrf["routes"]["ipv4"] for vrf in
                                                            net.router.json("show", "vrfs")["vrfs"]), "VRF green has the route")
    again.close()


@requirement("an ip rule that Pktpit does not obey is in show drift, until it goes")
def test_rule_is_drift(net):
    def rules():
        return [item for item in net.router.json("show", "drift")["drift"] if item["what"] == "rule"]

    assert rules() == []
    net.topology.router_namespace.ip("rule", "add", "from", "10.1.0.0/24", "lookup", "1002", "priority", "77")
    [rule] = wait_for(rules, "the rule is in show drift")
    assert "rule 77: lookup of table 1002" in rule["found"] and not rule["mended_by_reload"]
    net.topology.router_namespace.ip("rule", "del", "priority", "77")
    wait_for(lambda: not rules(), "the rule is gone from show drift")


@requirement("a reload adds a VRF, moves interfaces into it and out again, and removes it; nothing of others is lost")
def test_reload_adds_moves_and_removes(net, stream):
    running = [stream(net.a, net.b), stream(net.e, net.f)]

    def green(config):
        config["vrfs"]["green"] = {"table": 1003}
        config["interfaces"]["p3"]["vrf"] = "green"
        config["routes"] = [{**route, "vrf": "green"} if route.get("via") in (net.c.ip4, net.c.ip6) else route
                            for route in config["routes"]]
        config["routes"].append({"prefix": "203.0.113.0/24", "via": net.c.ip4, "vrf": "green"})

    changed(net, green)
    net.router.reload()
    error_at(net.c, net.d.behind4)
    reaches(net.a, net.b, BOTH4)
    assert [vrf["interfaces"] for vrf in net.router.json("show", "vrfs")["vrfs"] if vrf["name"] == "green"] == [["p3"]]
    net.router.apply()
    reaches(net.c, net.d, BOTH4)
    assert not any(vrf["name"] == "green" for vrf in net.router.json("show", "vrfs")["vrfs"])
    for each in running:
        assert_nothing_lost(each.finish(after=500))


@requirement("the last VRF goes and the first comes, and nothing is lost in the default one")
def test_reload_without_any_vrf_and_back(net, stream):
    running = stream(net.e, net.f)

    def plain(config):
        config["vrfs"] = {}
        del config["interfaces"]["p2.100"]
        for interface in config["interfaces"].values():
            interface.pop("vrf", None)
        config["interfaces"]["p4"]["addresses"] = [f"{net.d.router_ip4}/24", f"{net.d.router_ip6}/64"]
        config["neighbours"] = [one for one in config["neighbours"] if one["interface"] == "p2"]
        config["routes"] = [{"prefix": f"198.18.{host.number}.0/24", "via": host.ip4} for host in net.hosts]
        config["routes"].append({"prefix": "203.0.113.0/24", "via": "10.77.0.2"})

    changed(net, plain)
    net.router.reload()
    reaches(net.a, net.d, net.d.behind4)
    reaches(net.c, net.b, BOTH4)
    net.router.apply()
    error_at(net.a, net.d.behind4)
    reaches(net.c, net.d, BOTH4)
    assert_nothing_lost(running.finish(after=500))


@requirement("a refused reload leaves every VRF as it was")
def test_refused_reload_keeps_all(net, stream):
    before = net.router.json("show", "vrfs"), net.router.json("show", "routes", "--vrf", "red")
    running = stream(net.a, net.b)
    routes = net.router.directory / f"many-{net.router.instance}.txt"
    # More than fits: refused in the middle, when VRFs and interfaces have moved already.
    routes.write_text("".join(f"{i >> 16 & 255 | 64}.{i >> 8 & 255}.{i & 255}.{i * 7 & 255}/32 {i % 9000}\n" for i in range(20000)))

    def too_much(config):
        config["vrfs"]["green"] = {"table": 1003}
        del config["vrfs"]["blue"]
        config["interfaces"] = {name: {**interface, "vrf": "green"} if interface.get("vrf") == "blue" else interface
                                for name, interface in config["interfaces"].items()}
        config["routes"] = [route for route in config["routes"] if route.get("vrf") != "blue" and "192.0.2" not in route["prefix"]]
        config["routes_files"] = [{"path": str(routes), "vrf": "green", "next_hops":
                                   {str(i): {"via": f"10.3.{i >> 8}.{i & 255}", "interface": "p3"} for i in range(3, 9000)
                                    if i & 255 not in (0, 255)} | {"*": net.c.ip4}}]
        config["interfaces"]["p3"]["addresses"] = ["10.3.0.1/16"]

    changed(net, too_much)
    done = net.router.reload(check=False)
    assert done.returncode == 1, done.stdout
    assert (net.router.json("show", "vrfs"), net.router.json("show", "routes", "--vrf", "red")) == before
    reaches(net.c, net.d, BOTH4)
    assert_nothing_lost(running.finish(after=500))


@requirement("kill -9 and restart: packets of each VRF go on by its routes")
@inline_only
def test_kill_9_and_restart_keep_traffic(own_net, stream):
    net = own_net
    running = [stream(net.a, net.b), stream(net.c, net.d)]
    for each in running:
        each.flows_again(1000)
    net.router.kill()
    for each in running:
        each.flows_again(1000)
    reaches(net.a, net.b, BOTH4)
    reaches(net.c, net.d, BOTH4)
    net.router.start()
    for each in running:
        assert_nothing_lost(each.finish(after=1000))
    reaches(net.a, net.b, BOTH4)
    reaches(net.c, net.d, BOTH4)


@requirement("a daemon that starts again, on any dataplane, has its VRFs")
def test_restart(own_net):
    own_net.router.kill()
    own_net.router.start()
    settle(own_net)
    reaches(own_net.a, own_net.b, BOTH4)
    reaches(own_net.c, own_net.d, BOTH4)
    reaches(own_net.e, own_net.f, BOTH4)
