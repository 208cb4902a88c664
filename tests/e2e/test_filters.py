# SPDX-License-Identifier: BSD-3-Clause
"""Filters: packets pass an interface, or do not, as its rules say; they change by a reload, all at once; rules count."""

import copy

import pytest
from lib.packets import token, udp4, udp6
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")


def configure(net, filters, **names):
    """`names`: of interfaces, as p1_in="f"."""
    config = copy.deepcopy(net.router.config)
    config["filters"] = filters
    for key, name in names.items():
        port, direction = key.split("_")
        config["interfaces"][port]["filter_" + direction] = name
    net.router.apply(config)


def passes(net, receiver=None, make=udp4, **fields):
    """Whether a packet arrives; False: it is counted as dropped by a filter instead."""
    receiver, mark, before = receiver or net.b, token(), verdict(net, "drop_filter")
    net.a.send(make(net.a, receiver, mark, **fields))

    def decided():
        if receiver.wire.waiting(lambda frame: mark in frame):
            return "arrived"
        return verdict(net, "drop_filter") > before and "counted"

    return wait_for(decided, "the packet arrives, or is counted") == "arrived"


def rule_of(net, name, number):
    for one in net.router.json("show", "filters")["filters"]:
        if one["name"] == name:
            return one["rules"][number] if number is not None else one["unmatched"]
    raise AssertionError(f"no filter {name}")


def verdict(net, name):
    return net.router.counters().get(name, 0)


@pytest.fixture(autouse=True)
def original_afterwards(net):
    yield
    net.router.write()
    net.router.reload(net.router.file)


@requirement("what a rule drops does not leave, is counted with the rule and as a verdict; all else does")
@pytest.mark.parametrize("make", [udp4, udp6])
def test_a_rule_drops(net, make):
    source = net.a.behind4 if make is udp4 else net.a.behind6
    dropped = verdict(net, "drop_filter")
    configure(net, {"f": [{"action": "drop", "source": source, "protocol": "udp"}]}, **{f"{net.a.port}_in": "f"})
    assert not passes(net, make=make)
    assert rule_of(net, "f", 0)["packets"] == 1
    assert verdict(net, "drop_filter") == dropped + 1
    configure(net, {"f": [{"action": "drop", "source": source, "protocol": "tcp"}]}, **{f"{net.a.port}_in": "f"})
    assert passes(net, make=make)
    assert rule_of(net, "f", None)["packets"] >= 1


@requirement("a filter of what leaves is met by that alone")
def test_what_leaves(net):
    configure(net, {"f": [{"action": "drop", "protocol": "udp"}]}, **{f"{net.b.port}_out": "f"})
    assert not passes(net, net.b)
    assert passes(net, net.c)
    assert rule_of(net, "f", 0)["packets"] == 1


@requirement("the first rule that matches decides")
def test_first_match(net):
    allow = {"action": "accept", "destination": net.b.behind4, "protocol": "udp"}
    configure(net, {"f": [allow, {"action": "drop"}]}, **{f"{net.a.port}_in": "f"})
    assert passes(net, net.b)
    assert not passes(net, net.c)
    configure(net, {"f": [{"action": "drop", "protocol": "udp"}, allow]}, **{f"{net.a.port}_in": "f"})
    assert not passes(net, net.b)


@requirement("a set that needs more memory takes the place of a small one, and a small one of that; counters of what stays go on")
def test_many_rules(net):
    kept = [{"action": "drop", "destination": net.c.behind4, "protocol": "udp"}]
    names = {f"{net.a.port}_in": "many", f"{net.c.port}_out": "kept"}
    configure(net, {"many": [], "kept": kept}, **names)
    assert not passes(net, net.c)
    many = [{"action": "drop", "source": f"10.{i >> 8}.{i & 255}.0/24", "protocol": "tcp", "destination_port": i}
            for i in range(10000)] + [{"action": "drop", "destination": net.b.behind4, "protocol": "udp"}]
    configure(net, {"many": many, "kept": kept}, **names)
    assert not passes(net, net.b)
    assert not passes(net, net.c)
    assert rule_of(net, "kept", 0)["packets"] == 2
    assert rule_of(net, "many", 10000)["packets"] == 1
    configure(net, {"many": [], "kept": kept}, **names)
    assert passes(net, net.b)
    assert not passes(net, net.c)
    assert rule_of(net, "kept", 0)["packets"] == 3


@requirement("a wrong filter is refused with its place, and that in force stays")
def test_refused(net):
    configure(net, {"f": [{"action": "drop", "protocol": "udp"}]}, **{f"{net.a.port}_in": "f"})
    config = copy.deepcopy(net.router.config)
    config["filters"] = {"f": [{"action": "drop", "protocol": "gre", "source_port": 1}]}
    refused = net.router.apply(config, check=False)
    assert refused.returncode == 1 and "/filters/f/0/source_port" in refused.stderr
    assert not passes(net)


@requirement("filters go with a reload that has none")
def test_gone(net):
    configure(net, {"f": [{"action": "drop", "protocol": "udp"}]}, **{f"{net.a.port}_in": "f"})
    assert not passes(net)
    net.router.write()
    net.router.reload(net.router.file)
    assert passes(net)
    assert net.router.json("show", "filters")["filters"] == []
