# SPDX-License-Identifier: BSD-3-Clause
"""Start, stop, kill -9, restart: forwarding outlives the daemon, and a clean stop leaves nothing."""

import contextlib
import copy
import json
import signal
import tempfile
import time
from pathlib import Path

import pytest
from lib.namespaces import end, run
from lib.packets import both_ways, counted, delivered, token, udp4, udp6
from lib.pktpit_router import DAEMON, TOOL, PktpitRouter, inline_only
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux forwarding has no daemon")


def crosses(net, make=udp4):
    return delivered(net.a, net.b, make)


def has_xdp(net, port="p1"):
    link = json.loads(net.topology.router_namespace.ip("-j", "link", "show", port).stdout)[0]
    return "xdp" in link


@requirement("kill -9 under load loses nothing on known routes; a restart adopts, and loses and reorders nothing")
@pytest.mark.parametrize("family", [4, 6])
@inline_only
def test_kill_9_and_restart_lose_nothing(build_net, stream, family):
    net = build_net()
    running = stream(net.a, net.b, family=family, rate=30000)
    before = net.router.counters()["forwarded"]
    net.router.kill()
    running.flows_again(5000)
    net.router.start()
    assert_nothing_lost(running.finish(after=5000))
    assert net.router.counters()["forwarded"] >= before + 10000, "counters outlive the daemon"


@requirement("killed and restarted again and again under load: still nothing lost")
@inline_only
def test_repeated_kills_lose_nothing(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b, rate=20000)
    for _ in range(5):
        net.router.kill()
        net.router.start()
        running.flows_again(2000)
    assert_nothing_lost(running.finish())


@requirement("a restart reconciles what it finds with a configuration that has changed meanwhile")
@inline_only
def test_restart_reconciles_with_a_changed_configuration(build_net, stream):
    net = build_net(config={"routes": [{"prefix": "203.0.113.0/24", "via": "10.2.0.2"}]})
    running = stream(net.a, net.b)
    net.router.kill()
    config = copy.deepcopy(net.router.config)
    config["routes"] = [route for route in config["routes"] if route["prefix"] != "203.0.113.0/24"]
    config["routes"].append({"prefix": "203.0.114.0/24", "via": "10.3.0.2"})
    net.router.write(config)
    net.router.start()
    delivered(net.a, net.c, dst="203.0.114.5")
    assert net.router.json("lookup", "203.0.113.5")["results"][0]["prefix"] is None
    assert_nothing_lost(running.finish())


@requirement("a daemon that was killed can be restarted while no packet of an unknown neighbour is being resolved: "
             "what was pending is not needed to go on")
def test_unknown_neighbours_work_again_after_a_restart(build_net):
    net = build_net()
    net.router.kill()
    mark = token()
    net.a.send(udp4(net.a, net.b, mark, dst="10.2.0.99"))  # nobody there to resolve it
    net.router.start()
    net.b.namespace.ip("address", "add", "10.2.0.98/24", "dev", "eth0")
    assert delivered(net.a, net.b, dst="10.2.0.98").dst == net.b.mac


@requirement("SIGTERM: a clean stop leaves no program, no pin and no socket behind")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.xdp("test_dpdk.py has its own")
def test_clean_stop_leaves_nothing(build_net, how):
    net = build_net()
    assert has_xdp(net) and net.router.pins.exists() and net.router.socket.exists()
    assert end(net.router.process, how) == 0
    assert not any(has_xdp(net, port) for port in ("p1", "p2", "p3"))
    assert not net.router.pins.exists() and not net.router.socket.exists()


@requirement("--detach, or SIGUSR2: the data path stays when the daemon stops, and the next one adopts it")
@inline_only
@pytest.mark.parametrize(("option", "how"), [("--detach", signal.SIGTERM), (None, signal.SIGUSR2)], ids=["option", "signal"])
def test_detach_leaves_the_data_path_running(build_net, stream, option, how):
    net = build_net(start=False)
    net.router.start(*([option] if option else []))
    net.topology.settle(net.router)
    running = stream(net.a, net.b)
    assert end(net.router.process, how) == 0
    assert "the data path goes on without the daemon" in net.router.log()
    assert has_xdp(net) and net.router.pins.exists()
    running.flows_again(2000)
    net.router.start()
    assert_nothing_lost(running.finish(after=2000))
    assert end(net.router.process, signal.SIGTERM) == 0
    assert not has_xdp(net)


@requirement("a second daemon of the same instance is refused, and the first goes on")
def test_second_daemon_of_the_same_instance_is_refused(build_net):
    net = build_net()
    second = PktpitRouter(net.topology, net.router.config, net.router.directory / "..", instance=net.router.instance)
    process = second.launch()
    assert process.wait(DEADLINE) == 1
    assert net.router.instance in second.log()
    assert crosses(net) and net.router.cli("show", "version").returncode == 0


@requirement("a second daemon with another name on the same ports is refused, and the first goes on")
@pytest.mark.xdp("programs on devices")
def test_second_daemon_on_the_same_ports_is_refused(build_net, tmp_path_factory):
    net = build_net()
    config = {key: value for key, value in net.router.config.items() if key != "instance"}
    second = PktpitRouter(net.topology, config, tmp_path_factory.mktemp("second"))
    try:
        assert second.launch().wait(DEADLINE) == 1
        assert "p1" in second.log()
        assert not second.pins.exists() and not second.socket.exists(), "the refused daemon leaves nothing"
    finally:
        second.stop()
    assert crosses(net) and has_xdp(net)


@requirement("without bpffs the daemon says so, and what to do")
@pytest.mark.xdp("bpffs")
def test_missing_bpffs(build_net):
    net = build_net(start=False)
    script = 'umount -l /sys/fs/bpf; exec "$@"'
    process = net.router.launch(before=("unshare", "--mount", "sh", "-c", script, "sh"))
    assert process.wait(DEADLINE) == 1
    assert "bpf" in net.router.log() and "mount" in net.router.log()
    assert not has_xdp(net)


@requirement("without privileges the daemon says what it lacks")
@pytest.mark.xdp("asks for the program")
def test_no_privileges(build_net):
    net = build_net(start=False)
    as_nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--")
    with tempfile.TemporaryDirectory() as directory:  # pytest's own directories are closed to others
        file = Path(directory) / "config.json"
        file.write_text(net.router.file.read_text())
        Path(directory).chmod(0o755)
        file.chmod(0o644)
        assert net.topology.router_namespace.run(*as_nobody, TOOL, "check", file).returncode == 0, "it can read the file"
        done = net.topology.router_namespace.run(*as_nobody, DAEMON, "--config", file, check=False)
    said = (done.stdout + done.stderr).lower()
    assert done.returncode == 1
    assert any(word in said for word in ("cap_", "privilege", "not permitted", "permission", "root")), said
    assert not has_xdp(net)


@requirement("an absent or unreadable configuration file, or one with errors, ends the start with exit status and words")
@pytest.mark.parametrize("content, named", [(None, "No such file"), ("{", "line 1"), ('{"interfaces": {"nosuch0": {}}}', "nosuch0")])
def test_bad_configuration_at_the_start(tmp_path, content, named):
    file = tmp_path / "config.json"
    if content is not None:
        file.write_text(content)
    done = run(DAEMON, "--config", file, check=False)
    assert done.returncode == 1
    assert named in done.stdout + done.stderr


@requirement("systemd is told when the daemon is ready (sd_notify)")
@pytest.mark.xdp("asks for the program")
def test_readiness_is_notified(build_net, tmp_path):
    import os
    import socket
    net = build_net(start=False)
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(DEADLINE)
        os.environ["NOTIFY_SOCKET"] = str(path)
        try:
            net.router.launch()
        finally:
            del os.environ["NOTIFY_SOCKET"]
        assert b"READY=1" in listener.recv(1000)
    assert net.router.cli("show", "version").returncode == 0, "ready means that it answers"
    assert has_xdp(net)


@requirement("xdp_mode generic works, and `show ports` says so")
@pytest.mark.xdp("XDP modes")
def test_generic_mode_by_configuration(build_net):
    def generic(topology):
        return {"interfaces": {name: {**interface, "xdp_mode": "generic", "generic_vlan": "accept"}
                               for name, interface in topology.config()["interfaces"].items()}}

    net = build_net(configure=generic)
    assert {port["mode"] for port in net.router.json("show", "ports")["ports"]} == {"generic"}
    with counted(net, "forwarded", 2):
        assert crosses(net) and crosses(net, udp6)


def macvlan_instead_of(host, router):
    """The host's port becomes a macvlan on the veth: a device type without native XDP."""
    router.batch([f"link set {host.port} down", f"link set {host.port} name under",
                  "link set under address 02:00:00:00:fe:01 up",
                  f"link add {host.port} link under address {host.router_mac} type macvlan mode private"])
    router.sysctl({f"net/ipv6/conf/{host.port}/accept_dad": 0})
    router.ip("link", "set", host.port, "up")


@requirement("a device that refuses native XDP is driven in generic mode where hidden VLAN tags are accepted, and the log says so; native ports reach it")
@pytest.mark.xdp("XDP modes")
def test_generic_mode_where_native_is_refused(build_net):
    net = build_net(start=False)
    macvlan_instead_of(net.b, net.topology.router_namespace)
    assert net.router.launch().wait(DEADLINE) == 1
    assert "/interfaces/p2: not in generic mode (native mode is refused: " in net.router.log()
    net.router.config["interfaces"]["p2"]["generic_vlan"] = "accept"
    net.router.write()
    net.router.start()
    assert net.router.ports()["p2"]["mode"] == "generic"
    assert "generic" in net.router.log()
    both_ways(net.a, net.b)
    both_ways(net.a, net.c)


@requirement("where native is demanded and refused, the start fails in words")
@pytest.mark.xdp("XDP modes")
def test_native_mode_demanded_and_refused(build_net):
    def native(topology):
        interfaces = topology.config()["interfaces"]
        return {"interfaces": {**interfaces, "p2": {**interfaces["p2"], "xdp_mode": "native"}}}

    net = build_net(start=False, configure=native)
    macvlan_instead_of(net.b, net.topology.router_namespace)
    assert net.router.launch().wait(DEADLINE) == 1
    assert "p2" in net.router.log() and "native" in net.router.log()
    assert not has_xdp(net), "the ports that had been attached are free again"


@requirement("libxdp's dispatcher where the kernel refuses freplace: a plain bpf_link instead, said aloud")
@pytest.mark.xdp("the dispatcher")
def test_dispatcher_falls_back_to_a_plain_link(build_net):
    net = build_net(config={"xdp": {"dispatcher": True}})
    attached = {port["attach"] for port in net.router.json("show", "ports")["ports"]}
    assert attached in ({"link"}, {"dispatcher"})
    assert ("dispatcher" in net.router.log()) == (attached == {"link"})
    assert crosses(net)


@requirement("stopped by SIGTERM in the middle of a stream of errors it still stops, and in order")
def test_stops_under_a_storm_of_errors(build_net, stream):
    net = build_net()
    storm = stream(net.a, net.b, rate=5000)
    frame = net.a.frame(udp4(net.a, net.b, bytes(20), dst="203.0.113.5"))
    for _ in range(50):
        with contextlib.suppress(OSError):  # the veth's ring is full: it is a storm
            net.a.wire.send(*[frame] * 50)
        time.sleep(0.002)
    assert end(net.router.process) == 0
    assert not net.router.pins.exists()
    storm.abort()
