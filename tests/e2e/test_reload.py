# SPDX-License-Identifier: BSD-3-Clause
"""A new configuration is applied whole or not at all, and no packet on a route that stays is lost over it."""

import copy
import json
import signal

import pytest
from lib.packets import goes_to, wait_for_crossing
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("configuration is Pktpit's own")


def changed(net, change):
    config = copy.deepcopy(net.router.config)
    change(config)
    return config


@pytest.fixture(autouse=True)
def original_afterwards(net):
    yield
    net.router.write()
    net.router.reload(net.router.file)  # by its name: the daemon stays with the file that it was told last


def generation(net):
    return net.router.json("show", "version")["generation"]


@requirement("a good file is applied: routes come, go and change, with nothing lost on those that stay")
def test_good_file_is_applied_without_loss(net, stream):
    running = stream(net.a, net.b)
    before = generation(net)
    for via in (net.b.ip4, net.c.ip4, net.b.ip4):
        net.router.apply(changed(net, lambda config: config["routes"].append({"prefix": "203.0.113.0/24", "via": via})))
        assert goes_to(net, "203.0.113.5") == ("b" if via == net.b.ip4 else "c")
        running.flows_again(2000)
    net.router.apply()
    assert goes_to(net, "203.0.113.5") is None
    assert generation(net) == before + 4
    assert_nothing_lost(running.finish())


def bad_route(**route):
    return lambda config: config["routes"].append(route)


BAD = [
    pytest.param(lambda config: config.update(interfaces={"p1": {"addresses": ["10.1.0.1"]}}), "/interfaces/p1/addresses/0", id="address_without_length"),
    pytest.param(lambda config: config["interfaces"].update(p9={"addresses": []}), "/interfaces/p9", id="absent_interface"),
    pytest.param(lambda config: config["interfaces"]["p2"].update(addresses=["10.1.0.9/24"]), "/interfaces/p2/addresses/0", id="overlapping_address"),
    pytest.param(bad_route(prefix="203.0.113.0/24", via="10.1.0.1"), "/via", id="next_hop_is_the_router_itself"),
    pytest.param(bad_route(prefix="203.0.113.7/24", via="10.2.0.2"), "/prefix", id="host_bits"),
    pytest.param(bad_route(prefix="198.18.2.0/24", via="10.3.0.2"), "/routes/6", id="duplicate"),
    pytest.param(bad_route(prefix="203.0.113.0/24", via=7), "/via", id="wrong_type"),
    pytest.param(lambda config: config.update(colour="blue"), "colour", id="unknown_key"),
    pytest.param(lambda config: config.update(routes_files=[{"path": "absent.txt", "next_hops": {"*": "10.2.0.2"}}]), "absent.txt", id="absent_routes_file"),
]


@requirement("a bad file is refused whole, every error with its JSON pointer, and nothing changes")
@pytest.mark.parametrize("change, named", BAD)
def test_bad_file_is_refused_and_nothing_changes(net, change, named):
    config = changed(net, change)
    config["routes"].append({"prefix": "203.0.114.0/24", "via": "10.2.0.2"})  # good by itself: must not be applied either
    net.router.write(config)
    before, running = generation(net), net.router.json("show", "config")
    done = net.router.reload(check=False)
    assert done.returncode == 1
    assert named in done.stdout + done.stderr
    assert (generation(net), net.router.json("show", "config")) == (before, running)
    assert (goes_to(net, "203.0.114.5"), goes_to(net, net.b.behind4)) == (None, "b")


@requirement("broken JSON is refused with line and column")
def test_broken_json_is_refused(net):
    net.router.file.write_text('{\n  "interfaces": {,}\n}')
    done = net.router.reload(check=False)
    assert done.returncode == 1 and "line 2" in done.stdout + done.stderr
    assert goes_to(net, net.b.behind4) == "b"


@requirement("a file that is good but does not fit (more routes than the FIB holds) is rolled back whole")
def test_file_that_does_not_fit_is_rolled_back(build_net):
    net = build_net(config={"fib": {"table_memory_mib": 1}})
    config = copy.deepcopy(net.router.config)
    config["routes"] += [{"prefix": f"{100 + i // 256}.{i % 256}.1.1/32", "via": "10.2.0.2"} for i in range(1100)]
    net.router.write(config)
    before = net.router.json("show", "routes")["total"]
    done = net.router.reload(check=False)
    assert done.returncode == 1
    assert net.router.json("show", "routes")["total"] == before
    assert (goes_to(net, "100.0.1.1"), goes_to(net, net.b.behind4)) == (None, "b")


@requirement("--dry-run says what would change, and changes nothing")
def test_dry_run(net):
    net.router.write(changed(net, bad_route(prefix="203.0.113.0/24", via="10.2.0.2")))
    before = generation(net)
    done = net.router.reload("--dry-run")
    assert "203.0.113.0/24" in done.stdout
    answer = json.loads(net.router.reload("--dry-run", "--json").stdout)
    assert answer["applied"] is False and any("203.0.113.0/24" in line for line in answer["changes"])
    assert generation(net) == before and goes_to(net, "203.0.113.5") is None


@requirement("SIGHUP applies the file again, as daemons do")
def test_sighup(net):
    net.router.write(changed(net, bad_route(prefix="203.0.113.0/24", via="10.2.0.2")))
    net.router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: goes_to(net, "203.0.113.5") == "b", "the new route works")


@requirement("SIGHUP with a bad file: the daemon says so and goes on as it was")
def test_sighup_with_a_bad_file(net):
    net.router.file.write_text("{")
    size = len(net.router.log())
    net.router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "line 1" in net.router.log()[size:], "the log names the place")
    assert net.router.process.poll() is None and goes_to(net, net.b.behind4) == "b"


@requirement("another file can be named for a reload")
def test_reload_of_another_file(net):
    other = net.router.directory / "other.json"
    other.write_text(json.dumps(changed(net, bad_route(prefix="203.0.113.0/24", via="10.2.0.2"))))
    net.router.reload(other)
    assert goes_to(net, "203.0.113.5") == "b"


@requirement("an interface that leaves the configuration stops forwarding, and forwards again when it is back")
def test_interface_removed_and_added(net):
    def without_p3(config):
        del config["interfaces"]["p3"]
        config["routes"] = [route for route in config["routes"] if "198.18.3" not in route["prefix"] and "db8:3" not in route["prefix"]]

    net.router.apply(changed(net, without_p3))
    assert (goes_to(net, net.c.behind4), goes_to(net, net.b.behind4)) == (None, "b")
    net.router.apply()
    wait_for_crossing(net.a, net.c)


@requirement("an MTU that grows beyond a page: the port's program is taken off and put on again, since drivers decide by it whether they take "
             "one; where the reload is refused, all is as it was")
@pytest.mark.xdp("the program is this dataplane's")
def test_mtu_that_outgrows_a_page(build_net):
    net = build_net(config={"fib": {"table_memory_mib": 1}})

    def link(name):
        return json.loads(net.router.namespace.run("ip", "-json", "link", "show", "dev", name).stdout)[0]

    before = link("p1")["xdp"]["prog"]["id"]
    larger = changed(net, lambda config: config["interfaces"]["p1"].update(mtu=9000))
    crowded = copy.deepcopy(larger)
    crowded["routes"] += [{"prefix": f"{100 + i // 256}.{i % 256}.1.1/32", "via": "10.2.0.2"} for i in range(1100)]
    net.router.write(crowded)
    refused = net.router.reload(check=False)
    assert refused.returncode == 1 and "nothing was changed" in refused.stderr, refused.stderr
    assert link("p1")["mtu"] == 1500
    wait_for_crossing(net.a, net.b)
    wait_for_crossing(net.b, net.a)
    net.router.write(larger)
    net.router.reload()
    assert link("p1")["mtu"] == 9000 and link("p1")["xdp"]["prog"]["id"] != before
    assert next(port for port in net.router.json("show", "ports")["ports"] if port["name"] == "p1")["mode"] == "native"
    wait_for_crossing(net.a, net.b)
    wait_for_crossing(net.b, net.a)


@requirement("a routes file fills the table; a changed one is applied by reload, a broken line refuses it whole")
def test_routes_file(net, tmp_path):
    table = tmp_path / "table.txt"
    table.write_text("".join(f"100.{64 + i // 256}.{i % 256}.0/24 {i % 2 + 1}\n" for i in range(4096)) + "2001:db8:cccc::/48 1\n")
    files = [{"path": str(table), "next_hops": {"1": net.b.ip4, "2": [{"via": net.c.ip4}], "3": net.b.ip6}}]
    table.write_text(table.read_text().replace("2001:db8:cccc::/48 1", "2001:db8:cccc::/48 3"))
    net.router.apply(changed(net, lambda config: config.update(routes_files=files)))
    assert [goes_to(net, to) for to in ("100.64.0.1", "100.64.1.1", "100.79.255.1")] == ["b", "c", "c"]
    assert net.router.json("lookup", "2001:db8:cccc::1")["results"][0]["next_hops"][0]["via"] == net.b.ip6
    table.write_text(table.read_text() + "100.128.0.0/40 1\n")
    done = net.router.reload(check=False)
    assert done.returncode == 1 and "4098" in done.stdout + done.stderr, "the line is named"
    assert goes_to(net, "100.64.1.1") == "c"
    table.write_text("100.64.0.0/24 2\n")
    net.router.reload()
    assert (goes_to(net, "100.64.0.1"), goes_to(net, "100.64.1.1")) == ("c", None)
