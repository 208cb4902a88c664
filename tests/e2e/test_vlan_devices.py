# SPDX-License-Identifier: BSD-3-Clause
"""VLAN interfaces whose hosts are Linux: with one tag and with two, 802.1Q and 802.1ad outside. The router has a device of the
kernel's for each, answers there, asks for neighbours there, and forwards between them.

Host b is in three VLANs by devices of its own, and has 10.N.0.2 and 2001:db8:N::2 in VLAN N's net. Packets are those of real
stacks: a ping crosses, or it does not."""

import contextlib
import copy
import json
import os
import signal

import pytest
from lib import kernel_devices
from lib.namespaces import end
from lib.packets import wait_for_crossing
from lib.pktpit_router import DATAPLANE
from lib.tcp import assert_transfer
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.not_dpdk("net_af_packet takes tags off and does not say of which protocol they were"),
              pytest.mark.not_model("hosts' tags lie beside the frame")]
pktpit_alone = pytest.mark.pktpit("what the daemon does with devices")

# The net's number; the tags; the type of the outer one; the devices of host b from the outside in.
VLANS = {
    "office": (100, [100], "802.1Q", ["office"]),
    "double": (107, [200, 7], "802.1Q", ["double.s", "double"]),
    "customer": (120, [1000, 20], "802.1ad", ["customer.s", "customer"]),
}
OUTER = {"double": "ppq200.p2", "customer": "ppa1000.p2"}


@pytest.fixture(scope="module", autouse=True)
def devices():
    kernel_devices.need("vlan")


def addresses(name):
    number = VLANS[name][0]
    return [f"10.{number}.0.1/24", f"2001:db8:{number}::1/64"]


def interface(name, **more):
    _, tags, protocol, _ = VLANS[name]
    return {"parent": "p2", "vlan": tags, "vlan_protocol": protocol, "addresses": addresses(name), "mtu": 1400, **more}


def configure(topology, names=tuple(VLANS)):
    join_vlans(topology.b)
    return {"interfaces": {**topology.config()["interfaces"], **{name: interface(name) for name in names}}}


NET = {"configure": configure}


def join_vlans(host):
    """Devices and addresses of host b, and routes to a's net by the router."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 8):  # the port stage sees no tag that lies beside the frame
        host.namespace.run("ethtool", "-K", "eth0", "txvlan", "off", "tx-vlan-stag-hw-insert", "off")
    for name, (number, tags, protocol, devices) in VLANS.items():
        below = "eth0"
        for device, vid, kind in zip(devices, tags, [protocol, "802.1Q"]):
            host.namespace.ip("link", "add", device, "link", below, "type", "vlan", "protocol", kind, "id", vid)
            host.namespace.sysctl({f"net/ipv6/conf/{device}/accept_dad": 0})
            host.namespace.ip("link", "set", device, "up")
            below = device
        host.namespace.batch([f"address add 10.{number}.0.2/24 dev {name}", f"address add 2001:db8:{number}::2/64 dev {name} nodad"])


def answers(namespace, address, *options):
    """Whether a ping comes back; the first ones may wait for neighbours."""
    return namespace.run("ping", "-c", "1", "-W", "1", *options, address, check=False).returncode == 0


def wait_for_answer(namespace, address, *options):
    wait_for(lambda: answers(namespace, address, *options), f"{address} answers {namespace.name}")


def crosses(net, name):
    """Both families: host b reaches the router in the VLAN, the router host b, and hosts a and b each other through it."""
    number = VLANS[name][0]
    for router, b, a in ((f"10.{number}.0.1", f"10.{number}.0.2", net.a.ip4),
                         (f"2001:db8:{number}::1", f"2001:db8:{number}::2", net.a.ip6)):
        wait_for_answer(net.b.namespace, router)
        wait_for_answer(net.topology.router_namespace, b)
        wait_for_answer(net.a.namespace, b)
        # b's default route is by p2: the request says by its source which VLAN the answer takes, and goes by the VLAN itself.
        family = "-6" if ":" in a else "-4"
        net.b.namespace.ip(family, "route", "replace", a, "via", router)
        try:
            wait_for_answer(net.b.namespace, a, "-I", name)
        finally:
            net.b.namespace.ip(family, "route", "del", a, "via", router)


def links(net):
    return {link["ifname"]: link for link in json.loads(net.topology.router_namespace.ip("-json", "-details", "link").stdout)}


def addresses_on(net, device):
    shown = json.loads(net.topology.router_namespace.ip("-json", "address", "show", "dev", device).stdout)
    return {f"{one['local']}/{one['prefixlen']}" for one in shown[0]["addr_info"]}


def is_whole(net, name):
    there = links(net).get(name)
    return there and "UP" in there["flags"] and there["mtu"] == 1400 and set(addresses(name)) <= addresses_on(net, name)


def wait_until_whole(net, *names):
    for name in names:
        wait_for(lambda: is_whole(net, name), f"device {name}, up and with its addresses and MTU")


def drift(net):
    return [(item["where"], item["what"], item["expected"], item["found"]) for item in net.router.json("show", "drift")["drift"]]


@requirement("a VLAN interface with one tag or with two is reached, reaches its hosts, and is forwarded to and from")
@pytest.mark.parametrize("name", VLANS)
def test_crosses(net, name):
    crosses(net, name)


@requirement("hosts that leave checksums to a NIC, as every veth has it: TCP arrives whole into VLANs and out of them")
@pytest.mark.xdp("other dataplanes want real checksums on veth (docs/dpdk.md)")
@pytest.mark.parametrize("name", VLANS)
def test_offloaded_checksums(net, name):
    crosses(net, name)
    number = VLANS[name][0]
    with contextlib.ExitStack() as afterwards:
        for host in (net.a, net.b):
            host.namespace.run("ethtool", "-K", "eth0", "tx", "on")
            afterwards.callback(host.namespace.run, "ethtool", "-K", "eth0", "tx", "off")
        for family, a, router, b in (("-4", net.a.ip4, f"10.{number}.0.1", f"10.{number}.0.2"),
                                     ("-6", net.a.ip6, f"2001:db8:{number}::1", f"2001:db8:{number}::2")):
            net.b.namespace.ip(family, "route", "replace", a, "via", router)
            afterwards.callback(net.b.namespace.ip, family, "route", "del", a, "via", router)
            assert_transfer(net.a.namespace, net.b.namespace, b)


@requirement("RFC 1191, RFC 8201: what is larger than the MTU of the VLAN interface comes back as an error that says it")
@pytest.mark.parametrize("name", VLANS)
def test_mtu(net, name):
    number = VLANS[name][0]
    crosses(net, name)
    net.a.namespace.ip("route", "flush", "cache")  # it may know of the MTU already
    assert answers(net.a.namespace, f"10.{number}.0.2", "-M", "do", "-s", "1372")
    done = net.a.namespace.run("ping", "-c", "1", "-W", "2", "-M", "do", "-s", "1373", f"10.{number}.0.2", check=False)
    assert done.returncode == 1 and "1400" in done.stdout


@requirement("between two VLANs of one port packets cross, with two tags, too")
def test_between_vlans(net):
    wait_for_answer(net.b.namespace, "10.100.0.1")
    wait_for_answer(net.b.namespace, "10.120.0.1", "-I", "office")


@pktpit_alone
@requirement("the kernel has a device for each VLAN interface, with its addresses and MTU, and says whose it is")
def test_devices(net):
    wait_until_whole(net, *VLANS)
    there = links(net)
    for name, (_, tags, protocol, _) in VLANS.items():
        below = OUTER.get(name, "p2")
        for device, vid, kind, parent in [(below, tags[0], protocol, "p2")] * (len(tags) - 1) + \
                                         [(name, tags[-1], "802.1Q" if len(tags) == 2 else protocol, below)]:
            data = there[device]["linkinfo"]
            assert (data["info_kind"], data["info_data"]["id"], data["info_data"]["protocol"]) == ("vlan", vid, kind)
            assert there[device]["link"] == parent
            assert there[device]["ifalias"] == f"pktpit {net.router.instance}"
    assert addresses_on(net, "ppa1000.p2") == set()
    assert drift(net) == []


@pktpit_alone
@requirement("a reload adds VLAN interfaces, changes their tags and removes them; what it has made goes with them")
def test_reload(build_net):
    net = build_net(configure=lambda topology: configure(topology, ["customer"]))
    for name in ("office", "double"):
        net.router.config["interfaces"][name] = interface(name)
    net.router.apply()
    for name in VLANS:
        crosses(net, name)
    # The two change places on the wire; host b follows.
    moved = copy.deepcopy(net.router.config)
    moved["interfaces"]["office"]["vlan"], moved["interfaces"]["customer"]["vlan"] = [101], [1000, 21]
    net.router.apply(moved)
    wait_until_whole(net, *VLANS)
    there = links(net)
    assert [there[name]["linkinfo"]["info_data"]["id"] for name in ("office", "customer")] == [101, 21]
    net.router.apply()
    for name in VLANS:
        crosses(net, name)
    for name in VLANS:
        del net.router.config["interfaces"][name]
    net.router.apply()
    wait_for(lambda: not [name for name, link in links(net).items() if link.get("linkinfo", {}).get("info_kind") == "vlan"],
             "no VLAN device is left")


@pktpit_alone
@requirement("a reload that is refused leaves VLAN interfaces and their devices as they were")
def test_refused_reload(build_net):
    net = build_net(configure=lambda topology: configure(topology, ["office", "customer"]))
    wait_until_whole(net, "office", "customer")
    # It has no native XDP, and is attached after all else.
    net.topology.router_namespace.ip("link", "add", "spare", "link", "p3", "type", "macvlan", "mode", "private")
    config = copy.deepcopy(net.router.config)
    config["interfaces"]["spare"] = {"xdp_mode": "native"}
    config["interfaces"]["double"] = interface("double")
    config["interfaces"]["customer"]["vlan"] = [1000, 21]
    del config["interfaces"]["office"]
    done = net.router.apply(config, check=False)
    assert done.returncode == 1 and "spare" in done.stderr and "nothing was changed" in done.stderr
    wait_until_whole(net, "office", "customer")
    there = links(net)
    assert "double" not in there and "ppq200.p2" not in there
    assert there["customer"]["linkinfo"]["info_data"]["id"] == 20
    for name in ("office", "customer"):
        crosses(net, name)
    assert drift(net) == []


@pktpit_alone
@requirement("devices that are there before the start are used, and are there after the interfaces have gone")
def test_found_devices(build_net):
    net = build_net(start=False, configure=configure)
    router = net.topology.router_namespace
    router.batch(["link add s link p2 type vlan protocol 802.1ad id 1000", "link add customer link s type vlan id 20",
                  "link add office link p2 type vlan id 100"])
    net.start()
    for name in VLANS:
        crosses(net, name)
    assert "ppa1000.p2" not in links(net) and "ifalias" not in links(net)["customer"]
    for name in VLANS:
        del net.router.config["interfaces"][name]
    net.router.apply()
    wait_for(lambda: "double" not in links(net), "what the router has made is gone")
    assert {"s", "customer", "office"} <= set(links(net))


@pktpit_alone
@requirement("VLAN devices outlive the daemon, and the next one takes them over, or removes what it does not want")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_restart(build_net, how):
    net = build_net(configure=configure)
    wait_until_whole(net, *VLANS)
    before = {name: link["ifindex"] for name, link in links(net).items()}
    end(net.router.process, how)
    assert {name: link["ifindex"] for name, link in links(net).items()} == before
    assert set(addresses("customer")) <= addresses_on(net, "customer"), "so that nobody is cut off"
    net.router.start()
    assert {name: link["ifindex"] for name, link in links(net).items()} == before
    for name in VLANS:
        crosses(net, name)
    end(net.router.process, how)
    del net.router.config["interfaces"]["double"]
    net.router.config["interfaces"]["customer"]["vlan"] = [1000, 21]
    net.router.write()
    net.router.start()
    wait_until_whole(net, "office", "customer")
    there = links(net)
    assert "double" not in there and "ppq200.p2" not in there
    assert there["customer"]["linkinfo"]["info_data"]["id"] == 21 and there["office"]["ifindex"] == before["office"]
    crosses(net, "office")


@pktpit_alone
@pytest.mark.xdp("ports of other dataplanes have a tap of the daemon's own")
@requirement("with the device of its port a VLAN's goes, and comes again at once when that is back")
def test_replug(build_net):
    net = build_net(configure=configure)
    wait_until_whole(net, *VLANS)
    net.topology.router_namespace.ip("link", "del", "p2")
    wait_for(lambda: not set(VLANS) & set(links(net)), "they have gone with it")
    net.b.reconnect()
    join_vlans(net.b)
    for name in VLANS:
        crosses(net, name)
    wait_until_whole(net, *VLANS)
    wait_for(lambda: drift(net) == [], "nothing is left to put right")


@pktpit_alone
@requirement("a VLAN device that somebody deletes is said once, is drift, and comes back with a reload")
@pytest.mark.parametrize("name, deleted", [("office", "office"), ("customer", "customer"), ("customer", "ppa1000.p2")])
def test_deleted_device(net, name, deleted):
    crosses(net, name)
    net.topology.router_namespace.ip("link", "del", deleted)
    words = {"office": "VLAN 100 on p2 (802.1Q)", "customer": "VLAN 1000.20 on p2 (802.1ad)"}[name]
    item = (name, "device", words, "absent")
    wait_for(lambda: drift(net) == [item], f"{item} in `show drift`")
    wait_for(lambda: f"{name}: device {words}: absent; somebody else has changed it" in net.router.log(), "it is in the log")
    assert name in net.router.reload().stdout
    crosses(net, name)
    wait_until_whole(net, name)
    wait_for(lambda: drift(net) == [], "nothing is left to put right")


@pktpit_alone
@requirement("a device of a VLAN interface's name that is something else is refused, at a start, at a reload, and while the daemon runs")
@pytest.mark.parametrize("words, found", [
    (("link", "p2", "type", "vlan", "id", "101"), "VLAN 101 on p2 (802.1Q)"),
    (("link", "p2", "type", "vlan", "protocol", "802.1ad", "id", "100"), "VLAN 100 on p2 (802.1ad)"),
    (("link", "p3", "type", "vlan", "id", "100"), "VLAN 100 on p3 (802.1Q)"),
    (("type", "veth", "peer", "name", "other0"), "a veth device")])
def test_other_device(build_net, words, found):
    net = build_net(configure=lambda topology: configure(topology, []))
    router = net.topology.router_namespace
    router.ip("link", "add", "office", *words)
    net.router.config["interfaces"]["office"] = interface("office")
    done = net.router.apply(check=False)
    assert done.returncode == 1 and found in done.stderr and "VLAN 100 on p2 (802.1Q)" in done.stderr
    assert "ip link del office" in done.stderr and "nothing was changed" in done.stderr
    router.ip("link", "del", "office")
    net.router.apply()
    crosses(net, "office")
    # While it runs.
    router.ip("link", "del", "office")
    router.ip("link", "add", "office", *words)
    wait_for(lambda: ("office", "device", "VLAN 100 on p2 (802.1Q)", found) in drift(net), "drift that says what is there")
    wait_for(lambda: f"it is {found}" in net.router.log().split("nothing was changed")[-1], "it is in the log")
    assert addresses_on(net, "office").isdisjoint(addresses("office"))
    assert net.router.reload(check=False).returncode == 1
    # At a start.
    end(net.router.process)
    net.router.write()
    net.router.launch()
    assert net.router.process.wait(60) != 0
    assert found in net.router.log()
    router.ip("link", "del", "office")
    net.router.start()
    crosses(net, "office")
    wait_for_crossing(net.a, net.c)
