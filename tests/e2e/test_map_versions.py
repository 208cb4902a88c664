# SPDX-License-Identifier: BSD-3-Clause
"""Pinned maps are adopted by a daemon of their own version alone: any other makes fresh ones and says so, and the data
path that runs forwards until its programs are swapped."""

import json
import re

import pytest
from lib.namespaces import run
from lib.pktpit_router import inline_only
from lib.stream import assert_nothing_lost

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux forwarding pins nothing"), pytest.mark.xdp("pinned maps"), inline_only]

MAPS = ("counters", "route_counters", "counted_routes", "fib_image")


def own_version(net):
    return net.router.json("show", "version")["abi"]


def pin(net, name, version=None):
    return net.router.pins / (f"v{version}_{name}" if version else name)


def rename_to(net, found, version):
    """As if the daemon that pinned them were of that version (None: of none); no more than their names says so."""
    for name in MAPS:
        pin(net, name, found).rename(pin(net, name, version))


def map_pins(net):
    return sorted(path.name for path in net.router.pins.iterdir() if not path.name.startswith(("port_", "program_")))


def link_ids(net):
    links = sorted(net.router.pins.glob("port_*"))
    return [json.loads(run("bpftool", "--json", "link", "show", "pinned", path).stdout)["id"] for path in links]


def counted(net):
    """Packets forwarded: of all ports, and by the counted route."""
    shown = net.router.json("show", "counters")
    return shown["totals"]["verdicts"]["forwarded"], shown["routes"][0]["packets"]


def with_counted_route(topology):
    return {"routes": [{"prefix": "198.18.2.0/25", "via": topology.b.ip4, "counters": True}]}


def older_version(net, own):
    rename_to(net, own, own - 1)
    return f"version {own - 1} found, version {own} expected"


def newer_version(net, own):
    rename_to(net, own, own + 1)
    return f"version {own + 1} found, version {own} expected"


def no_version(net, own):
    rename_to(net, own, None)
    return f"no version found, version {own} expected"


def rolled_back_in_between(net, own):
    """A daemon that compares no version has pinned its own beside these."""
    for name in MAPS:
        run("bpftool", "map", "pin", "pinned", pin(net, name, own), pin(net, name))
    return f"no version, version {own} found, version {own} expected"


def died_while_pinning(net, own):
    pin(net, "fib_image", own).unlink()
    return f"version {own} found, but not all of them"


def other_shape(net, own):
    """Somebody forgot to raise the version."""
    target = pin(net, "counters", own)
    target.unlink()
    run("bpftool", "map", "create", target, "type", "percpu_array", "key", "4", "value", "8", "entries", "256",
        "name", "counters")
    return f"version {own} found, but not all of them, or of another shape"


@requirement("maps of another version, or of none, are not adopted: fresh ones, a log line with both versions, counters "
             "that begin anew; links are adopted all the same, and not a packet is lost")
@pytest.mark.parametrize("left", [older_version, newer_version, no_version, rolled_back_in_between, died_while_pinning,
                                  other_shape], ids=lambda left: left.__name__)
def test_maps_that_do_not_fit_are_not_adopted(build_net, stream, left):
    net = build_net(configure=with_counted_route)
    own, links = own_version(net), link_ids(net)
    running = stream(net.a, net.b)
    running.flows_again(5000)
    before = counted(net)
    assert min(before) >= 5000
    net.router.kill()
    words = left(net, own)
    running.flows_again(5000)
    net.router.start()
    running.flows_again(5000)
    result = running.finish()
    assert_nothing_lost(result)
    for now, then in zip(counted(net), before, strict=True):
        assert 5000 <= now <= result["sent"] - then, "what was counted before is not in the new maps"
    assert re.search(re.escape(words) + ".*counters begin anew", net.router.log()), net.router.log()
    assert map_pins(net) == sorted(f"v{own}_{name}" for name in MAPS), "no pin of another version stays"
    assert link_ids(net) == links, "the links are those of before"


@requirement("maps of the same version are adopted without a word, and so are those that replaced others")
def test_maps_that_fit_are_adopted(build_net, stream):
    net = build_net(configure=with_counted_route)
    own = own_version(net)
    running = stream(net.a, net.b)
    net.router.kill()
    older_version(net, own)
    net.router.start()
    running.flows_again(5000)
    before = counted(net)
    net.router.kill()
    net.router.start()
    running.flows_again(5000)
    for now, then in zip(counted(net), before, strict=True):
        assert now >= then + 5000, "counters outlive the daemon"
    assert net.router.log().count("counters begin anew") == 1
    assert_nothing_lost(running.finish())
