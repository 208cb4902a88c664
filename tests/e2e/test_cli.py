# SPDX-License-Identifier: BSD-3-Clause
"""The command-line tool: tables for people, JSON for programs, and exit statuses that scripts can trust."""

import json
import signal
import subprocess

import pytest
from lib.namespaces import Namespace, run
from lib.packets import fence
from lib.pktpit_router import DATAPLANE, ROOT, TOOL, new_instance
from lib.waiting import DEADLINE

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("the tool is Pktpit's")


@requirement("every `show` has a table and, with --json, the answer of the API")
@pytest.mark.parametrize("words, key, named", [
    (("ports",), "ports", "p1"), (("routes",), "routes", "198.18.2.0/24"), (("route", "198.18.2.9"), "candidates", "198.18.2.0/24"),
    (("neighbours",), "neighbours", "02:00:00:00:02:02"), (("counters",), "totals", "forwarded"),
    (("config",), "interfaces", "p1"), (("version",), "version", "0.1.0"),
])
def test_show(net, words, key, named):
    table = net.router.cli("show", *words).stdout
    assert named in table
    assert "\x1b" not in table, "no colours where no terminal is"
    assert key in net.router.json("show", *words)
    assert named in json.dumps(net.router.json("show", *words))


@requirement("the socket can be named by its path as well, and is for its owner and group alone (0660)")
def test_socket(net):
    assert run(TOOL, "--socket", net.router.socket, "show", "version").returncode == 0
    assert net.router.socket.stat().st_mode & 0o777 == 0o660


@requirement("counts in `show` are those of packets that crossed")
def test_counters_count(net):
    before = net.router.counters()["forwarded"]
    fence(net)
    assert net.router.counters()["forwarded"] == before + len(net.hosts)


@requirement("`counters --watch` goes on until it is interrupted")
def test_counters_watch(net):
    process = subprocess.Popen([str(TOOL), "--instance", net.router.instance, "counters", "--watch"],
                               stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        first = process.stdout.readline()
        assert first
        fence(net)
        for _ in range(5):
            assert process.stdout.readline()
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=DEADLINE)


@requirement("without a daemon the tool says which socket it tried, and fails")
def test_no_daemon():
    done = run(TOOL, "--instance", new_instance(), "show", "ports", check=False)
    assert done.returncode == 2 and "/run/pktpit/" in done.stderr


@requirement("what is no command is refused with usage, and --help is not an error")
def test_usage():
    assert "Subcommands:" in run(TOOL, "--help").stdout
    for words in (("frobnicate",), ("show", "nothing"), ("lookup",), ("show", "ports", "--nothing"), ()):
        refused = run(TOOL, *words, check=False)
        assert refused.returncode == 2 and refused.stderr and not refused.stdout, words


@requirement("lookup takes many addresses and answers in their order; what is no address is named")
def test_lookup(net):
    addresses = ["198.18.2.9", "203.0.113.1", "2001:db8:3:100::1", "10.1.0.2"]
    results = net.router.json("lookup", *addresses)["results"]
    assert [result["address"] for result in results] == addresses
    assert [result["prefix"] for result in results] == ["198.18.2.0/24", None, "2001:db8:3:100::/56", "10.1.0.2/32"]
    done = net.router.cli("lookup", "300.1.1.1", check=False)
    assert done.returncode == 1 and "300.1.1.1" in done.stderr


@requirement("lookup --table FILE needs no daemon: arguments or standard input, one line each, - where nothing matches")
def test_lookup_in_a_table(tmp_path):
    table = tmp_path / "table"
    table.write_text("0.0.0.0/1 1\n10.0.0.0/8 2\n10.1.0.0/16 3\n10.1.2.3/32 4\n2001:db8::/32 5\n2001:db8:1::/48 6\n")
    expected = {"10.1.2.3": "10.1.2.3/32 4", "10.1.2.4": "10.1.0.0/16 3", "10.200.0.1": "10.0.0.0/8 2",
                "127.255.255.255": "0.0.0.0/1 1", "200.0.0.1": "-", "2001:db8:1::9": "2001:db8:1::/48 6",
                "2001:db8:2::9": "2001:db8::/32 5", "fe80::1": "-"}
    by_arguments = run(TOOL, "lookup", "--table", table, *expected).stdout.splitlines()
    by_input = run(TOOL, "lookup", "--table", table, input="\n".join(expected) + "\n").stdout.splitlines()
    assert by_arguments == by_input
    assert by_arguments == [f"{address} {answer if answer != '-' else '- -'}" for address, answer in expected.items()]


@requirement("`check` names every error of a file by its JSON pointer, what was found and what was expected; exit 1")
def test_check(net, tmp_path):
    if DATAPLANE == "xdp":  # p1… exist in the router's namespace alone; what other dataplanes have are no devices of Linux
        missing = run(TOOL, "check", net.router.file, check=False)
        assert missing.returncode == 1 and "/interfaces/p1" in missing.stdout
    assert run(TOOL, "check", "--any-interface", net.router.file).returncode == 0
    assert net.topology.router_namespace.run(TOOL, "check", net.router.file).returncode == 0
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps({"interfaces": {"p1": {"addresses": ["10.1.0.1/24", 7], "mtu": "big"}},
                               "routes": [{"prefix": "10.0.0.0/99"}], "colour": 1}))
    done = run(TOOL, "check", bad, check=False)
    assert done.returncode == 1
    for pointer in ("/interfaces/p1/addresses/1", "/interfaces/p1/mtu", "/routes/0/prefix", "/colour"):
        assert pointer in done.stdout, done.stdout


@requirement("every example configuration passes `check` where its devices exist")
def test_examples_pass_check():
    examples = sorted((ROOT / "config" / "examples").glob("*.json"))
    assert examples
    for example in examples:
        namespace = Namespace("example")
        try:
            for number, (name, interface) in enumerate(json.loads(example.read_text())["interfaces"].items()):
                if "parent" not in interface:
                    if "iface=" in interface.get("device", ""):
                        name = interface["device"].split("iface=")[1].split(",")[0]
                    name = interface.get("wire", {}).get("device", name)
                    namespace.ip("link", "add", name, "type", "veth", "peer", "name", f"other{number}")
            namespace.run(TOOL, "check", example)
        finally:
            namespace.delete()


@requirement("show config prints what the daemon would read as the same configuration")
def test_show_config_round_trip(net):
    again = net.router.directory / "again.json"
    again.write_text(json.dumps(net.router.json("show", "config")))
    answer = json.loads(net.router.reload(again, "--dry-run", "--json").stdout)
    assert answer["changes"] == []


