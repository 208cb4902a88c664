# SPDX-License-Identifier: BSD-3-Clause
"""The second day: a change that goes back by itself, going back by hand, what was there before, interfaces with their descriptions."""

import json
import re
import stat
import subprocess

import pytest
from lib.pktpit_router import DAEMON
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("configuration is Pktpit's own"),
              pytest.mark.says_who_decides("a configuration comes back the same way, whatever it says of ports")]


@pytest.fixture
def net(build_net):
    return build_net(count=2)


def write(net, *prefixes):
    """The configuration with these blackholes beside; it is not applied yet."""
    net.router.write({**net.router.config, "routes": net.router.config["routes"] +
                      [{"prefix": prefix, "type": "blackhole"} for prefix in prefixes]})


def has(net, prefix):
    found = net.router.json("show", "routes", "--source", "config", "--within", prefix)
    return any(route["prefix"] == prefix for route in (found["routes"] if isinstance(found, dict) else found))


def blackholes(net, *which):
    config = json.loads(net.router.cli("show", "config", *which).stdout)
    return sorted(route["prefix"] for route in config["routes"] if route.get("type") == "blackhole")


def goes_back(net, *, back_to, tried):
    """Of what was tried, what is kept tells afterwards: a slow machine may come too late to see it in force."""
    wait_for(lambda: "going back to number" in net.router.log() and blackholes(net) == back_to, "it has gone back")
    assert blackholes(net, "--saved", 1) == tried


def configs(net):
    return net.router.json("show", "configs")


@requirement("a commit that nobody confirms goes back by itself; the file stays as it is")
def test_goes_back_by_itself(net):
    write(net, "203.0.113.0/24")
    said = net.router.cli("commit", "--confirm", 2).stdout
    assert "goes back by itself in 2 s" in said
    goes_back(net, back_to=[], tried=["203.0.113.0/24"])
    assert configs(net)["confirm_by"] is None
    late = net.router.cli("confirm", check=False)
    assert late.returncode == 1 and "no configuration waits" in late.stderr
    assert "203.0.113.0/24" in net.router.file.read_text()
    assert "not confirmed: goes back" in net.router.cli("show", "events").stdout


@requirement("one that is confirmed stays")
def test_confirmed_stays(net):
    write(net, "203.0.113.0/24")
    net.router.cli("commit", "--confirm", 600)
    waiting = configs(net)
    assert waiting["confirm_by"] and not waiting["configs"][0]["confirmed"] and blackholes(net) == ["203.0.113.0/24"]
    assert "confirmed" in net.router.cli("confirm").stdout
    assert configs(net)["confirm_by"] is None
    # Another one that goes back meanwhile shows that its time is over.
    write(net, "198.51.100.0/24")
    net.router.cli("commit", "--confirm", 3)
    goes_back(net, back_to=["203.0.113.0/24"], tried=["198.51.100.0/24"])


@requirement("a second commit that waits goes back to what was confirmed last, not to the first; a signal confirms nothing")
def test_two_that_wait(net):
    import signal

    write(net, "203.0.113.0/24")
    net.router.cli("commit", "--confirm", 600)
    reloads = net.router.log().count("reloaded")
    net.router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: net.router.log().count("reloaded") > reloads, "the signal is heard")
    assert configs(net)["confirm_by"]
    write(net, "203.0.113.0/24", "198.51.100.0/24")
    net.router.cli("commit", "--confirm", 2)
    goes_back(net, back_to=[], tried=["198.51.100.0/24", "203.0.113.0/24"])


@requirement("an applied reload, asked for by a client, ends the wait: somebody reaches the router")
def test_a_reload_ends_the_wait(net):
    write(net, "203.0.113.0/24")
    net.router.cli("commit", "--confirm", 600)
    net.router.reload()
    assert configs(net)["confirm_by"] is None and configs(net)["configs"][0]["confirmed"]


@requirement("a daemon that is killed while a commit waits starts with the one before it; unless the file was changed")
@pytest.mark.parametrize("changed", [False, True])
def test_killed_while_it_waits(net, changed):
    write(net, "203.0.113.0/24")
    net.router.cli("commit", "--confirm", 600)
    net.router.kill()
    if changed:
        write(net, "203.0.113.0/24", "198.51.100.0/24")
    net.router.start()
    if changed:
        assert blackholes(net) == ["198.51.100.0/24", "203.0.113.0/24"]
    else:
        assert blackholes(net) == [] and "was never confirmed" in net.router.log()
    assert configs(net)["confirm_by"] is None
    net.router.kill()
    net.router.start()  # the file is no secret: it counts, once its owner has seen what happened
    assert blackholes(net) == (["198.51.100.0/24", "203.0.113.0/24"] if changed else ["203.0.113.0/24"])


@requirement("rollback goes to the one before, or N before; a dry run only says what; the difference is told in words")
def test_rollback(net):
    write(net, "203.0.113.0/24")
    net.router.reload()
    write(net, "203.0.113.0/24", "198.51.100.0/24")
    net.router.reload()
    said = net.router.cli("show", "config", "--diff", 2).stdout
    assert "route 203.0.113.0/24: add" in said and "route 198.51.100.0/24: add" in said
    assert json.loads(net.router.cli("show", "config", "--saved", 1).stdout)["routes"][-1]["prefix"] == "203.0.113.0/24"
    assert "198.51.100.0/24: remove" in net.router.cli("rollback", "--dry-run").stdout
    assert blackholes(net) == ["198.51.100.0/24", "203.0.113.0/24"]
    net.router.cli("rollback")
    assert blackholes(net) == ["203.0.113.0/24"]
    net.router.cli("rollback", 3)
    assert blackholes(net) == []
    gone = net.router.cli("rollback", 99, check=False)
    assert gone.returncode == 1 and "no such configuration" in gone.stderr and "show configs" in gone.stderr
    net.router.cli("rollback", 1, "--confirm", 2)
    goes_back(net, back_to=[], tried=["203.0.113.0/24"])


@requirement("the last 20 are kept, over restarts, in a file that is nobody else's")
def test_twenty_are_kept(net):
    for number in range(25):
        write(net, f"203.0.113.{number}/32")
        net.router.reload()
    kept = configs(net)["configs"]
    assert [one["back"] for one in kept] == list(range(20)) and [one["number"] for one in kept] == list(range(26, 6, -1))
    path = net.router.run_folder / f"{net.router.instance}.configs"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    net.router.kill()
    net.router.start()
    assert configs(net)["configs"] == kept, "the same file is not there twice"
    net.router.cli("rollback", 19)
    assert blackholes(net) == ["203.0.113.5/32"]
    path.write_text("{")
    broken = net.router.cli("rollback", check=False)
    assert broken.returncode == 1 and "not a file of configurations" in broken.stderr and blackholes(net) == ["203.0.113.5/32"]


@requirement("errors of a reload say the line, too, in the answer, at the terminal and in the log; those of form and of meaning at once")
def test_errors_have_lines(net):
    net.router.config["routes"] += [{"prefix": "10.9.0.0/16", "via": "192.0.2.77", "metric": "high"},
                                    {"prefix": "10.8.1.2/16", "type": "blackhole"}]
    net.router.write()
    lines = net.router.file.read_text().splitlines()
    of = {text: 1 + next(i for i, line in enumerate(lines) if text in line) for text in ('"high"', "10.8.1.2/16")}
    refused = net.router.reload(check=False)
    assert refused.returncode == 1
    told = json.loads(net.router.cli("reload", "--json", check=False).stdout)["errors"]
    index = len(net.router.config["routes"])
    for text, where in (('"high"', f"/routes/{index - 2}/metric"), ("10.8.1.2/16", f"/routes/{index - 1}/prefix")):
        assert f"line {of[text]}: {where}" in refused.stderr, refused.stderr
        assert any(one["where"] == where and one["line"] == of[text] for one in told), told
        assert f"line {of[text]}: {where}" in net.router.log()


@requirement("show interfaces: rates, the last flap, the description")
def test_show_interfaces(build_net, stream):
    net = build_net(count=2, configure=lambda topology: {"interfaces": {
        **topology.config()["interfaces"], topology.a.port: {**topology.config()["interfaces"][topology.a.port], "description": "to host a <b>"}}})
    running = stream(net.a, net.b, rate=2000)
    shown = net.router.json("show", "interfaces")
    a, b = shown["ports"]
    assert a["description"] == "to host a <b>" and b["description"] is None
    assert a["rates"]["rx_packets"] > 0 and b["rates"]["tx_packets"] > 0 and a["link_changes"] == {"count": 0, "last": None}
    running.finish()
    assert re.search(rf"{net.a.port} +up .* never +0 +to host a <b>", net.router.cli("show", "interfaces", "--interval", 0.1).stdout)
    net.b.namespace.ip("link", "set", "eth0", "down")
    wait_for(lambda: net.router.json("show", "interfaces", "--interval", 0.1)["ports"][1]["link_changes"]["count"] == 1, "a flap")
    net.b.namespace.ip("link", "set", "eth0", "up")
    wait_for(lambda: net.router.json("show", "interfaces", "--interval", 0.1)["ports"][1]["link_changes"]["count"] == 2, "and back")
    del net.router.config["interfaces"][net.a.port]["description"]
    assert 'description: "to host a <b>" → none' in net.router.apply().stdout


@requirement("exit codes as they are documented: 2 for usage, of the daemon, too")
def test_exit_codes(net):
    def code(*words):
        return subprocess.run([DAEMON, *words], capture_output=True, timeout=DEADLINE).returncode

    assert code() == 2 and code("--no-such-option") == 2
    assert code("--help") == 0 and code("--version") == 0
    assert code("--config", "/no/such/file") == 1
    for words in (["commit", "--confirm", "0"], ["commit", "--confirm", "x"], ["rollback", "x"], ["show", "config", "--diff", "x"]):
        assert net.router.cli(*words, check=False).returncode == 2, words
    assert net.router.cli("show", "config", "--diff", 7, check=False).returncode == 1
