# SPDX-License-Identifier: BSD-3-Clause
"""The daemon holds no right that it does not need, and does all its work with those that it has left."""

import copy
import os
import pwd
import re
import signal
from pathlib import Path

import pytest
from lib.packets import icmp_answer, token, udp4, wait_for_crossing
from lib.pktpit_router import DAEMON, DATAPLANE, TOOL, inline_only, sanitized
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("the daemon is Pktpit's")

USER = "nobody"
ACCOUNT = pwd.getpwnam(USER)
NET_ADMIN, NET_RAW, PERFMON, BPF = 12, 13, 38, 39
XDP = {NET_ADMIN, NET_RAW, PERFMON, BPF}
ALLOWED = {"xdp": XDP, "dpdk": XDP, "model": {NET_ADMIN, NET_RAW}}[DATAPLANE]


# Where the limit of locked memory cannot be lifted (a container without CAP_SYS_RESOURCE), this one stays as well.
IPC_LOCK = 14


def is_locked_memory_limited(pid="self"):
    return re.search(r"^Max locked memory\s+(\S+)", Path(f"/proc/{pid}/limits").read_text(), re.M)[1] != "unlimited"


def capabilities(mask):
    return {number for number in range(64) if int(mask, 16) >> number & 1}


def threads(pid):
    """{thread: {field: value}} of each thread's status."""
    return {task.name: dict(re.findall(r"^(\w+):[ \t]*(.*)$", (task / "status").read_text(), re.M))
            for task in Path(f"/proc/{pid}/task").iterdir()}


def daemon_pid(router):
    """Of the daemon itself: `nice` and `nsenter` have become it."""
    return router.json("show", "version")["pid"]


def assert_has_given_up(router, uid):
    pid = daemon_pid(router)
    found = threads(pid)
    assert found
    allowed = ALLOWED | {IPC_LOCK} if is_locked_memory_limited(pid) else ALLOWED
    for fields in found.values():
        for what in ("CapEff", "CapPrm", "CapBnd"):
            assert capabilities(fields[what]) <= allowed, f"{fields['Name']}: {what} {fields[what]}"
        assert capabilities(fields["CapInh"]) == capabilities(fields["CapAmb"]) == set()
        assert fields["NoNewPrivs"] == "1"
        assert fields["Seccomp"] == ("0" if sanitized() else "2"), fields["Name"]
        assert set(fields["Uid"].split()) == {str(uid)}, fields["Uid"]
        assert uid == 0 or set(fields["Gid"].split()) == {str(ACCOUNT.pw_gid)}
        assert uid == 0 or set(fields["Groups"].split()) <= {str(ACCOUNT.pw_gid)}, "none of root's groups"


def assert_nothing_was_refused(router):
    assert "is not on the allow-list" not in router.log()


@pytest.fixture
def unprivileged(build_net):
    """A router whose daemon has become another user."""
    routers = []

    def build(**options):
        net = build_net(start=False, **options)
        net.router.move_into_the_open(USER)
        net.router.start()
        routers.append(net.router)
        net.topology.settle(net.router)
        return net

    yield build
    for router in routers:
        assert_nothing_was_refused(router)


@requirement("as root, each thread has the capabilities that its dataplane needs and no others, NoNewPrivs and a seccomp filter; "
             "with split ports' workers, too")
@pytest.mark.parametrize("forwarding", ["inline", "split"])
def test_root_gives_up_what_it_does_not_need(build_net, forwarding):
    net = build_net(start=False)
    if DATAPLANE == "xdp":
        net.router.set_forwarding(forwarding)
    net.start()
    assert_has_given_up(net.router, 0)
    assert_nothing_was_refused(net.router)


@requirement("--user and \"user\": each thread is the user's, of its groups alone, with the same few capabilities")
@pytest.mark.parametrize("how", ["option", "configuration"])
def test_the_daemon_becomes_the_user(build_net, how):
    net = build_net(start=False)
    net.router.move_into_the_open(USER if how == "option" else None)
    if how == "configuration":
        net.router.config["user"] = USER
    net.start()
    assert_has_given_up(net.router, ACCOUNT.pw_uid)
    assert net.router.run_folder.stat().st_uid == ACCOUNT.pw_uid
    if DATAPLANE == "xdp":
        assert net.router.pins.stat().st_uid == ACCOUNT.pw_uid
    assert_nothing_was_refused(net.router)


@requirement("a user who does not exist, or whom only root could become, is refused with a reason, and nothing is touched")
def test_a_wrong_user_is_refused(build_net):
    net = build_net(start=False)
    refused = net.topology.router_namespace.run(DAEMON, "--config", net.router.file, "--user", "nosuchuser", check=False)
    assert refused.returncode == 1 and 'there is no user "nosuchuser"' in refused.stderr
    net.router.move_into_the_open()
    refused = net.topology.router_namespace.run("setpriv", f"--reuid={USER}", f"--regid={ACCOUNT.pw_gid}", "--clear-groups",
                                                DAEMON, "--config", net.router.file, "--user", "daemon", check=False)
    assert refused.returncode == 1 and "cannot give up privileges" in refused.stderr, refused.stderr
    assert not net.router.pins.exists()


@requirement("as the service manager starts it (prepared by root, then the user with ambient capabilities alone): it forwards")
@pytest.mark.xdp("the unit is for it")
def test_started_as_the_user_with_ambient_capabilities(build_net):
    net = build_net(start=False)
    net.router.move_into_the_open(USER)
    environment = {**os.environ, "RUNTIME_DIRECTORY": str(net.router.run_folder)}
    net.topology.router_namespace.run(DAEMON, "--config", net.router.file, "--user", USER, "--prepare", env=environment)
    some = "+bpf,+net_admin,+net_raw,+perfmon"
    if is_locked_memory_limited():
        some += ",+ipc_lock"
    net.router.launch(before=("setpriv", f"--reuid={USER}", "--regid=" + str(ACCOUNT.pw_gid),
                              "--clear-groups", f"--inh-caps=-all,{some}", f"--ambient-caps=-all,{some}",
                              f"--bounding-set=-all,{some}", "--no-new-privs"))
    net.router.wait_ready()
    net.topology.settle(net.router)
    assert_has_given_up(net.router, ACCOUNT.pw_uid)
    assert_nothing_was_refused(net.router)


@requirement("as an unprivileged user, a reload adds a port, changes an MTU and takes both back; ICMP errors go out")
def test_reload_as_an_unprivileged_user(unprivileged):
    net = unprivileged()
    config = copy.deepcopy(net.router.config)
    without = copy.deepcopy(config)
    without["routes"] = [route for route in config["routes"] if ".3." not in route["prefix"] and ":3:" not in route["prefix"]]
    del without["interfaces"]["p3"]
    net.router.apply(without)
    net.router.apply(config)
    wait_for_crossing(net.a, net.c)
    config["interfaces"]["p2"]["mtu"] = 1400
    net.router.apply(config)
    assert net.router.ports()["p2"]["mtu"] == 1400
    mark = token()
    net.a.send(udp4(net.a, net.b, mark + bytes(1440), flags="DF"))
    assert icmp_answer(net.a, mark).getlayer("ICMP").code == 4
    net.router.apply()


@requirement("as an unprivileged user, switches below /proc/sys/net are set, and put back at the end")
def test_switches_as_an_unprivileged_user(unprivileged):
    net = unprivileged()
    namespace = net.topology.router_namespace
    forwarding = lambda: namespace.run("cat", "/proc/sys/net/ipv6/conf/p1/forwarding", check=False).stdout.strip()  # noqa: E731
    assert forwarding() == "1"
    net.router.process.send_signal(signal.SIGTERM)
    assert net.router.process.wait(DEADLINE) == 0
    assert "cannot be set" not in net.router.log()
    if DATAPLANE == "xdp":
        assert forwarding() == "0"


@requirement("as an unprivileged user, VLAN interfaces come and go with a reload")
def test_vlans_as_an_unprivileged_user(unprivileged):
    net = unprivileged()
    config = copy.deepcopy(net.router.config)
    config["interfaces"]["office"] = {"parent": "p1", "vlan": [100], "addresses": ["192.0.2.1/25"], "mtu": 1400}
    net.router.apply(config)
    assert "192.0.2.1/25" in str(net.router.json("show", "ports"))
    net.router.apply()
    assert "192.0.2.1/25" not in str(net.router.json("show", "ports"))


@requirement("as an unprivileged user, packets can be traced and captured")
def test_trace_and_capture_as_an_unprivileged_user(unprivileged, tmp_path):
    net = unprivileged()
    for words in (("trace", "--count", 1), ("capture", "--count", 1, "--write", tmp_path / "capture.pcapng")):
        before = net.router.log().count("packets are observed: ")
        process = net.topology.router_namespace.start(TOOL, "--socket", net.router.socket, *words)
        wait_for(lambda: net.router.log().count("packets are observed: ") > before, "the daemon observes")  # noqa: B023
        wait_for_crossing(net.a, net.b)
        assert process.wait(DEADLINE) == 0


@requirement("as an unprivileged user, a daemon that is started again adopts what a killed one has left, also one of root's: "
             "nothing is lost")
@pytest.mark.parametrize("first", [USER, None])
@inline_only
def test_restart_as_an_unprivileged_user(build_net, stream, first):
    net = build_net(start=False)
    net.router.move_into_the_open(first)
    net.start()
    running = stream(net.a, net.b, rate=20000)
    net.router.kill()
    running.flows_again(3000)
    net.router.user = USER
    net.router.start()
    running.flows_again(3000)
    assert_has_given_up(net.router, ACCOUNT.pw_uid)
    assert_nothing_lost(running.finish())
    assert_nothing_was_refused(net.router)
