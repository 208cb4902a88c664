# SPDX-License-Identifier: BSD-3-Clause
"""Reloads that open NICs again, under load: VFIO takes and gives them while the daemon lives."""

import json

import pytest
from lib.configuration import BOUNCED_PORT, configuration
from lib.pktpit_router import SHOW
from lib.topology import PORTS
from lib.traffic import Load, assert_all_right, exchange, wait_until_free

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux forwarding has no daemon")
FRAMES = 1_000
SMALL_MTU = 1400


@pytest.fixture(scope="module")
def router(bench, machine, routers):
    """One daemon for all of them: each reload finds what the one before has left."""
    made = routers.want(machine, "ivshmem", bench.few)
    made.settle()
    machine.forget_messages()
    yield made
    reload(made, configuration("ivshmem", bench.few.name))


def reload(router, wanted, check=True):
    router.guest.run(f"printf %s '{json.dumps(wanted)}' >{router.file}")
    return router.guest.run(f"{SHOW} reload", check=check)


def ports_up(router):
    return {port["name"] for port in router.show("ports")["ports"] if port["up"]}


def wait_up(router, names):
    carriers = " ".join(f"/sys/class/net/{name}/carrier" for name in sorted(names))
    router.guest.wait_for(f"[ $(cat {carriers} 2>/dev/null | grep -c 1) = {len(names)} ]", "the ports are up")
    router.guest.wait_for(f"[ $({SHOW} show ports --json | grep -c '\"up\": *true') -ge {len(names)} ]", "the daemon has seen the links")
    router.settled = False
    router.settle()


def changed(bench, what):
    made = configuration("ivshmem", bench.few.name)
    interfaces = made["interfaces"]
    if what == "MTU of all":
        for interface in interfaces.values():
            interface["mtu"] = SMALL_MTU
    if what == "payload":
        interfaces[f"p{BOUNCED_PORT}"]["payload"] = "bounce"
    return made


def forwards(router, machine, bench, seed, report, name, ports=range(PORTS)):
    options = {"ports": ports, "wanted": lambda egress: egress in ports, "largest": SMALL_MTU}
    wait_until_free(machine.wires, bench.few.burst(20, f"{seed} {name} free", **options))
    burst = bench.few.burst(FRAMES, f"{seed} {name}", **options)
    outcome = exchange(machine.wires, burst)
    report.row(name, outcome)
    assert_all_right(outcome, FRAMES)
    assert not machine.iommu_faults()


@requirement("a reload that opens ports again under load works, and so does the one that puts them back")
@pytest.mark.parametrize("what", ["MTU of all", "payload"])
def test_opened_again(router, machine, bench, seed, report, what):
    for wanted, name in ((changed(bench, what), f"reload: {what}"), (changed(bench, None), f"reload: {what}, back")):
        with Load(machine.wires, bench.few.burst(500, f"{seed} load {name}", largest=SMALL_MTU)):
            reload(router, wanted)
        wait_up(router, wanted["interfaces"])
        forwards(router, machine, bench, seed, report, name)


@requirement("a port that a reload has removed comes back by the next one")
def test_removed_and_added(router, machine, bench, seed, report):
    without = changed(bench, None)
    del without["interfaces"]["p2"]
    without["neighbours"] = [one for one in without["neighbours"] if one["interface"] != "p2"]
    with Load(machine.wires, bench.few.burst(500, f"{seed} load removed", largest=SMALL_MTU)):
        reload(router, without)
    assert ports_up(router) == {"p0", "p1", "p3"}
    forwards(router, machine, bench, seed, report, "reload: p2 removed", ports=[0, 1, 3])
    with Load(machine.wires, bench.few.burst(500, f"{seed} load added", largest=SMALL_MTU)):
        reload(router, changed(bench, None))
    wait_up(router, {f"p{port}" for port in range(PORTS)})
    forwards(router, machine, bench, seed, report, "reload: p2 back")


@requirement("a reload that is refused behind the opening of a port leaves all as it was")
def test_refused(router, machine, bench, seed, report):
    reload(router, changed(bench, None))
    wait_up(router, {f"p{port}" for port in range(PORTS)})
    before = router.show("config")
    refused = changed(bench, "MTU of all")
    refused["interfaces"]["p2"]["pci"] = "0000:00:00.0"  # the host bridge
    with Load(machine.wires, bench.few.burst(500, f"{seed} load refused", largest=SMALL_MTU)):
        status, said = reload(router, refused, check=False)
    assert status != 0 and "/interfaces/p2/pci" in said, said
    wait_up(router, {f"p{port}" for port in range(PORTS)})
    assert router.show("config") == before
    forwards(router, machine, bench, seed, report, "reload: refused")
