# SPDX-License-Identifier: BSD-3-Clause
"""Ports that are devices on other devices: bonds, bridges, macvlan; and dummy devices. Host c is behind each of them, and what
crosses is pings of real stacks."""

import json

import pytest
from lib import kernel_devices
from lib.namespaces import Namespace
from lib.waiting import wait_for
from test_vlan_devices import wait_for_answer

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the kernel router sets up no such devices"), pytest.mark.xdp("ports that are devices of Linux")]
NET4, NET6 = "10.88.0", "2001:db8:88"


class Far:
    """A namespace with veth pairs into the router's namespace: l0, l1 there, eth0, eth1 here."""

    def __init__(self, topology, count=1):
        self.namespace = Namespace(f"{topology.number}far")
        topology.far = self
        for number in range(count):
            here = f"eth{number}"
            self.namespace.ip("link", "add", here, "type", "veth", "peer", "name", f"l{number}", "netns", topology.router_namespace.name)
            self.namespace.run("ethtool", "-K", here, "gro", "on", "tx", "off", "tso", "off", "gso", "off")
            topology.router_namespace.run("ethtool", "-K", f"l{number}", "tx", "off", "tso", "off", "gso", "off")
            self.namespace.ip("link", "set", here, "up")
            topology.router_namespace.ip("link", "set", f"l{number}", "up")

    def address(self, device):
        self.namespace.sysctl({f"net/ipv6/conf/{device}/accept_dad": 0})
        self.namespace.batch([f"link set {device} up", f"address add {NET4}.2/24 dev {device}", f"address add {NET6}::2/64 dev {device} nodad",
                              f"route replace default via {NET4}.1"])
        self.namespace.batch([f"route replace default via {NET6}::1"], ("-6",))


def port(**more):
    return {"addresses": [f"{NET4}.1/24", f"{NET6}::1/64"], **more}


def with_port(topology, name, **more):
    return {"interfaces": {**topology.config()["interfaces"], name: port(**more)}}


def crosses(net):
    far = net.topology.far.namespace
    for router, there, here in ((f"{NET4}.1", f"{NET4}.2", net.a.ip4), (f"{NET6}::1", f"{NET6}::2", net.a.ip6)):
        wait_for_answer(far, router)
        wait_for_answer(net.topology.router_namespace, there)
        wait_for_answer(net.a.namespace, there)
        wait_for_answer(far, here)


@pytest.fixture
def build(build_net):
    nets = []

    def with_far(configure, **options):
        nets.append(build_net(configure=configure, **options))
        return nets[-1]

    yield with_far
    for net in nets:
        net.topology.far.namespace.delete()


def bonded(topology, mode):
    kernel_devices.need("bond")
    far, router = Far(topology, 2), topology.router_namespace
    for namespace, members in ((router, ("l0", "l1")), (far.namespace, ("eth0", "eth1"))):
        namespace.ip("link", "add", "bond0", "type", "bond", "mode", mode, "miimon", "100")
        for member in members:
            namespace.batch([f"link set {member} down", f"link set {member} master bond0"])
        namespace.ip("link", "set", "bond0", "up")
    far.address("bond0")


@requirement("a bond is a port: its members carry what is forwarded, and when one fails the other does")
def test_active_backup(build):
    def configure(topology):
        bonded(topology, "active-backup")
        return with_port(topology, "bond0", generic_vlan="accept")

    net = build(configure)
    crosses(net)
    router, far = net.topology.router_namespace, net.topology.far.namespace

    def active(namespace):
        return json.loads(namespace.ip("-json", "-details", "link", "show", "bond0").stdout)[0]["linkinfo"]["info_data"].get("active_slave")

    for _ in range(2):
        first = active(router)
        other = {"l0": "l1", "l1": "l0"}[first]
        far.ip("link", "set", {"l0": "eth0", "l1": "eth1"}[first], "down")
        wait_for(lambda: active(router) == other, "the other member takes over")
        crosses(net)
        far.ip("link", "set", {"l0": "eth0", "l1": "eth1"}[first], "up")
        wait_for(lambda: "LOWER_UP" in json.loads(router.ip("-json", "link", "show", first).stdout)[0]["flags"], "the first is back")
    assert net.router.json("show", "drift")["drift"] == []


@requirement("a bond whose member is exchanged goes on, with its port stage")
def test_exchanged_member(build):
    def configure(topology):
        bonded(topology, "active-backup")
        return with_port(topology, "bond0", generic_vlan="accept")

    net = build(configure)
    crosses(net)
    net.topology.router_namespace.batch(["link set l0 nomaster", "link set l0 down", "link set l0 master bond0"])
    net.topology.router_namespace.batch(["link set l1 nomaster", "link set l1 down", "link set l1 master bond0"])
    crosses(net)


def bridge(topology):
    kernel_devices.need("bridge")
    Far(topology).address("eth0")
    topology.router_namespace.batch(["link add br0 type bridge", "link set l0 master br0", "link set br0 up"])
    return "br0"


def macvlan(topology):
    kernel_devices.need("macvlan")
    Far(topology).address("eth0")
    topology.router_namespace.batch(["link add mac0 link l0 type macvlan mode private", "link set mac0 up"])
    return "mac0"


@requirement("a bridge or a macvlan device, of which no program sees VLAN tags, is refused with what to do about it")
@pytest.mark.parametrize("make", [bridge, macvlan])
def test_generic_device_is_refused(build, make):
    names = []

    def configure(topology):
        names.append(make(topology))
        return {}

    net = build(configure)
    net.router.config["interfaces"][names[0]] = port()
    done = net.router.apply(check=False)
    assert done.returncode == 1 and "generic_vlan" in done.stderr and names[0] in done.stderr


@requirement("a bridge or a macvlan device is a port in generic mode where tagged frames are said not to come")
@pytest.mark.parametrize("make", [bridge, macvlan])
def test_generic_device(build, make):
    net = build(lambda topology: with_port(topology, make(topology), generic_vlan="accept"))
    crosses(net)
    assert net.router.json("show", "drift")["drift"] == []


@requirement("a dummy device is a port: its address answers, and what is sent out of it is gone as with Linux")
def test_dummy(build_net):
    kernel_devices.need("dummy")

    def configure(topology):
        topology.router_namespace.batch(["link add dummy0 type dummy", "link set dummy0 up"])
        return with_port(topology, "dummy0", generic_vlan="accept")

    net = build_net(configure=configure)
    wait_for_answer(net.a.namespace, f"{NET4}.1")
    wait_for_answer(net.a.namespace, f"{NET6}::1")
    assert net.a.namespace.run("ping", "-c", "1", "-W", "1", f"{NET4}.2", check=False).returncode == 1
    wait_for_answer(net.a.namespace, net.b.ip4)
