# SPDX-License-Identifier: BSD-3-Clause
"""What forwards goes on forwarding, whatever fails around it: refused starts, half-made pins, a daemon that ends by a bug.
And nobody else's files or locks decide about it."""

import fcntl
import json
import os
import pty
import signal
import subprocess

import pytest
from lib.namespaces import Namespace, end, run
from lib.packets import token, udp4
from lib.pktpit_router import PINS, SOCKETS, TOOL, PktpitRouter, inline_only
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for
from lib.wire import NothingReceived

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux forwarding has no daemon"), pytest.mark.xdp("outlives its daemon")]


def crosses(net, sender=None, receiver=None):
    mark = token()
    (sender or net.a).send(udp4(sender or net.a, receiver or net.b, mark))
    try:
        return (receiver or net.b).receive(mark, 0.5)
    except NothingReceived:
        return None


def without(config, *ports):
    """The configuration without these ports."""
    return {**config, "interfaces": {name: each for name, each in config["interfaces"].items() if name not in ports}}


def without_routes_by(host, config):
    routes = [route for route in config["routes"] if route["next_hops"][0]["via"] not in (host.ip4, host.ip6)]
    return {**config, "routes": routes}


def ifindex(net, port):
    return json.loads(net.topology.router_namespace.ip("-j", "link", "show", port).stdout)[0]["ifindex"]


def program(namespace, port):
    """Id of the XDP program on the device; None: there is none."""
    return json.loads(namespace.ip("-j", "link", "show", port).stdout)[0].get("xdp", {}).get("prog", {}).get("id")


def files(router):
    """Of the instance in the run directory; its hash seed is for ever, and so are its configurations."""
    return [path for path in router.run_folder.glob(f"{router.instance}.*") if path.suffix not in (".hash_seed", ".configs")]


def programs(net, *ports):
    return [program(net.topology.router_namespace, port) for port in ports or ("p1", "p2", "p3")]


def refused(net, *options, before=()):
    """A start that ends by itself, with words."""
    process = net.router.launch(*options, before=before)
    assert process.wait(DEADLINE) == 1, net.router.log()
    return net.router.log()


# --- a refused start

@requirement("kill -9, then a start that is refused since a further port is another daemon's: what ran before goes on, 0 lost")
@inline_only
def test_start_refused_for_a_busy_port_leaves_the_data_path(build_net, stream, tmp_path_factory):
    net = build_net(start=False)
    whole = net.router.config
    two = without_routes_by(net.c, without(whole, "p3"))
    other = PktpitRouter(net.topology, {key: value for key, value in without(whole, "p1", "p2").items() if key not in ("instance", "routes")},
                         tmp_path_factory.mktemp("other"))
    net.topology.router = net.router
    try:
        other.start()
        net.router.write(two)
        net.router.start()
        net.b.hurry_neighbours("p2")
        wait_for(lambda: crosses(net), "packets cross")
        running = stream(net.a, net.b)
        net.router.kill()
        before, pins = programs(net), sorted(pin.name for pin in net.router.pins.iterdir())
        net.router.write(whole)
        assert "another XDP program is attached" in refused(net)
        assert programs(net) == before and sorted(pin.name for pin in net.router.pins.iterdir()) == pins
        running.flows_again(5000)
        assert end(other.process) == 0
        net.router.start()
        assert_nothing_lost(running.finish(after=5000))
        assert programs(net)[0] != before[0], "the next start succeeds, and takes over"
    finally:
        other.stop()


@requirement("kill -9, then a start whose API socket cannot be made: refused before anything is touched, 0 lost")
@inline_only
def test_start_refused_for_its_socket_leaves_the_data_path(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b)
    net.router.kill()
    before = programs(net)
    net.router.socket.unlink()
    net.router.socket.write_text("in the way")
    assert "in the API socket's place" in refused(net)
    assert programs(net) == before
    running.flows_again(5000)
    net.router.socket.unlink()
    net.router.start()
    assert_nothing_lost(running.finish(after=5000))


@requirement("a start refused after its programs were swapped (the maps cannot be pinned): every port has its former program "
             "back, addresses and switches are as they were, 0 lost, and counters go on")
@inline_only
def test_start_refused_after_the_swap_gives_programs_back(build_net, stream):
    net = build_net(config={"seccomp": False,  # it would see the call that strace injects
                            "routes": [{"prefix": "203.0.113.0/24", "via": "10.2.0.2", "counters": True}]})
    running = stream(net.a, net.b, destination="203.0.113.5")
    abi = net.router.json("show", "version")["abi"]
    net.router.kill()
    before, pins = programs(net), {pin.name for pin in net.router.pins.iterdir()}
    log = refused(net, before=("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2",
                               "-e", "inject=renameat2:error=ENOSPC:when=1+"))
    assert f"v{abi}_fib_image: cannot replace the pin: No space left on device" in log
    assert "took over the running port stage" in log, "it had come so far"
    assert programs(net) == before and {pin.name for pin in net.router.pins.iterdir()} == pins
    running.flows_again(5000)
    net.router.start()
    running.flows_again(5000)
    sent = running.finish()
    assert_nothing_lost(sent)
    route = next(route for route in net.router.json("show", "counters")["routes"] if route["prefix"] == "203.0.113.0/24")
    assert route["packets"] == sent["sent"]


# --- half-made pins

@requirement("kill -9 between a pin and its rename: the next start takes the half-made pin for what it is, 0 lost")
@pytest.mark.parametrize("what", ["link", "map", "both names"])
@inline_only
def test_half_made_pin_is_adopted(build_net, stream, what):
    net = build_net()
    running = stream(net.a, net.b)
    net.router.kill()
    link = net.router.pins / f"port_{ifindex(net, 'p1')}"
    fib_image = next(net.router.pins.glob("v*_fib_image"))
    if what == "link":
        link.rename(f"{link}_incoming")
    elif what == "map":
        fib_image.rename(f"{fib_image}_incoming")
    else:
        run("bpftool", "link", "pin", "pinned", link, f"{link}_incoming")
        run("bpftool", "map", "pin", "pinned", fib_image, f"{fib_image}_incoming")
    running.flows_again(1000)
    net.router.start()
    assert not list(net.router.pins.glob("*_incoming"))
    assert net.router.log().count("took over the running port stage") == 3
    assert "none is adopted" not in net.router.log()
    assert_nothing_lost(running.finish(after=5000))
    assert end(net.router.process) == 0 and not net.router.pins.exists()


# --- a daemon that ends by a bug

@requirement("a daemon that ends by an error of its loop leaves the data path: 0 lost, and the next one takes over")
@inline_only
def test_daemon_that_ends_by_a_bug_leaves_the_data_path(build_net, stream):
    net = build_net(config={"seccomp": False})  # it would see the call that strace injects
    running = stream(net.a, net.b)
    before = programs(net)
    tracer = net.topology.router_namespace.start(
        "strace", "-f", "-qq", "-o", "/dev/null", "-p", net.router.process.pid, "-e", "trace=epoll_wait",
        "-e", "inject=epoll_wait:error=EBADF", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert net.router.process.wait(DEADLINE) == 1
    end(tracer)
    assert "ends by a bug" in net.router.log()
    assert programs(net) == before
    running.flows_again(5000)
    net.router.start()
    assert_nothing_lost(running.finish(after=5000))


# --- locks and folders that are others'

@requirement("the run directory is the daemon's (0750), its lock nobody else's to hold (0600), its state others' not to write")
def test_run_directory_is_private(build_net):
    SOCKETS.mkdir(exist_ok=True)
    SOCKETS.chmod(0o755)
    net = build_net()
    assert SOCKETS.stat().st_mode & 0o777 == 0o750
    assert (SOCKETS / f"{net.router.instance}.lock").stat().st_mode & 0o777 == 0o600
    assert (SOCKETS / f"{net.router.instance}.state").stat().st_mode & 0o777 == 0o640


@requirement("a lock that somebody holds on the folder of the API's socket: the start is refused in words, not waited for, and "
             "what ran before goes on")
@inline_only
def test_foreign_lock_is_not_waited_for(build_net, stream, tmp_path):
    net = build_net()
    running = stream(net.a, net.b)
    net.router.kill()
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        assert "holds a lock" in refused(net, "--socket", tmp_path / "api.sock")
    finally:
        os.close(folder)
    net.router.start()
    assert_nothing_lost(running.finish(after=5000))


def stopped_while_it_starts(net):
    """A start that is held at its programs, and a SIGTERM meanwhile."""
    def loads():
        return "prog_load" in trace.read_text().lower() if trace.exists() else False

    trace = net.router.directory / "trace"
    process = net.router.launch(before=("strace", "-D", "-f", "-qq", "-o", trace, "-e", "trace=bpf",
                                        "-e", "inject=bpf:delay_exit=40ms:when=1+"))
    wait_for(loads, "the daemon loads its programs", interval=0.02)
    process.send_signal(signal.SIGTERM)
    return process.wait(DEADLINE)


@requirement("SIGTERM is heard while the daemon starts: it ends, and has left nothing")
def test_sigterm_during_a_first_start(build_net):
    net = build_net(start=False)
    assert stopped_while_it_starts(net) == 0
    assert "asked to stop" in net.router.log() and "forwards; API at" not in net.router.log()
    assert programs(net) == [None] * 3
    assert not net.router.pins.exists() and not files(net.router)


@requirement("SIGTERM while a restart takes over: it ends, and the earlier data path goes on as it was, 0 lost")
@inline_only
def test_sigterm_during_a_restart(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b)
    net.router.kill()
    before = programs(net)
    assert stopped_while_it_starts(net) == 0
    assert "asked to stop" in net.router.log()
    assert programs(net) == before
    running.flows_again(5000)
    net.router.start()
    assert_nothing_lost(running.finish(after=5000))


@requirement("a pin folder that another user made, or that others may write to, is refused; the daemon's own is 0700")
@pytest.mark.parametrize("owner, mode", [(65534, 0o755), (0, 0o777)])
def test_foreign_pin_folder_is_refused(build_net, owner, mode):
    net = build_net(start=False)
    try:
        PINS.mkdir(mode=0o700, exist_ok=True)
        net.router.pins.mkdir()
        os.chown(net.router.pins, owner, owner)
        net.router.pins.chmod(mode)
        log = refused(net)
        assert str(net.router.pins) in log and "belongs to user" in log
        assert programs(net) == [None] * 3
    finally:
        if net.router.pins.exists():
            net.router.pins.rmdir()
    net.router.start()
    assert net.router.pins.stat().st_mode & 0o7777 == 0o700 and PINS.stat().st_mode & 0o022 == 0


# --- ports that went elsewhere

@requirement("kill -9, a port that is configured no more moves to another namespace: the start succeeds, 0 lost, and takes the port "
             "stage there down")
@inline_only
def test_port_that_moved_away_is_forgotten(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b)
    elsewhere = Namespace(f"{net.topology.number}m")
    try:
        net.router.kill()
        index = ifindex(net, "p3")
        net.topology.router_namespace.ip("link", "set", "p3", "netns", elsewhere.name)
        assert program(elsewhere, "p3")
        net.router.write(without_routes_by(net.c, without(net.router.config, "p3")))
        net.router.start()
        assert "moved to another network namespace" in net.router.log()
        assert not (net.router.pins / f"port_{index}").exists()
        wait_for(lambda: program(elsewhere, "p3") is None, "its port stage is gone")
        assert_nothing_lost(running.finish(after=5000))
    finally:
        elsewhere.delete()


@requirement("a whole data path of another network namespace is not taken over, and goes on")
@inline_only
def test_data_path_of_another_namespace_is_refused(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b)
    elsewhere = Namespace(f"{net.topology.number}m")
    try:
        net.router.kill()
        for port in ("p1", "p2", "p3"):
            elsewhere.ip("link", "add", port, "type", "veth", "peer", "name", f"{port}x")
        home, net.router.namespace = net.router.namespace, elsewhere
        assert "in another network namespace" in refused(net)
        net.router.namespace = home
        net.router.start()
        assert_nothing_lost(running.finish(after=5000))
    finally:
        elsewhere.delete()


# --- neighbours

@requirement("the kernel keeps neighbours that nobody verifies while there is no daemon; the next one takes them over, and has them verified")
@inline_only
def test_neighbours_outlive_the_daemon(build_net, stream):
    net = build_net()
    namespace = net.topology.router_namespace
    running = stream(net.a, net.b)
    net.router.kill()
    for family in (4, 6):
        for port in ("p1", "p2", "p3"):
            path = f"/proc/sys/net/ipv{family}/neigh/{port}"
            assert namespace.run("cat", f"{path}/gc_stale_time").stdout == "86400\n"
            namespace.run("sh", "-c", f"echo 1 > {path}/delay_first_probe_time")
    addresses = {address for host in net.hosts for address in (host.ip4, host.ip6)}

    verified = set()

    def all_verified():
        """Each at some time: on a slow machine the first are stale again before the last are asked."""
        verified.update(one["dst"] for one in json.loads(namespace.ip("-j", "neigh", "show").stdout) if one["state"] == ["REACHABLE"])
        return addresses <= verified

    for host in net.hosts:
        for address in (host.ip4, host.ip6):
            namespace.ip("neigh", "replace", address, "lladdr", host.mac, "dev", host.port, "nud", "stale")
    net.router.start()
    wait_for(all_verified, "all are verified")
    assert_nothing_lost(running.finish(after=5000))


# --- what a clean run puts back

def switches(net, device):
    namespace = net.topology.router_namespace
    paths = (f"ipv6/conf/{device}/forwarding", f"ipv6/conf/{device}/keep_addr_on_down", f"ipv4/neigh/{device}/gc_stale_time",
             f"ipv6/neigh/{device}/gc_stale_time")
    values = namespace.run("cat", *(f"/proc/sys/net/{path}" for path in paths)).stdout
    offload = namespace.run("ethtool", "-k", device).stdout
    return [*values.split(), next(line.split()[1] for line in offload.splitlines() if line.startswith("rx-vlan-offload"))]


@requirement("kill -9, start, clean stop: the devices' switches are what they were before the first start")
@pytest.mark.parametrize("meanwhile", ["nothing", "renamed while it runs", "renamed while nobody runs", "no longer configured"])
def test_switches_are_put_back_after_a_kill(build_net, meanwhile):
    net = build_net(start=False)
    namespace = net.topology.router_namespace
    before = switches(net, "p3")
    net.router.start()
    assert switches(net, "p3") != before
    if meanwhile == "renamed while it runs":
        rename(namespace, "p3", "q3")
        wait_for(lambda: switches(net, "q3") == before, "its switches are put back with its name")
    net.router.kill()
    if meanwhile == "renamed while nobody runs":
        rename(namespace, "p3", "q3")
    name = "q3" if meanwhile.startswith("renamed") else "p3"
    if meanwhile != "nothing":
        net.router.write(without_routes_by(net.c, without(net.router.config, "p3")))
    net.router.start()
    if meanwhile != "nothing":
        assert switches(net, name) == before
    assert end(net.router.process) == 0
    assert switches(net, name) == before
    assert not files(net.router)


def rename(namespace, name, to):
    namespace.ip("link", "set", name, "down")
    namespace.ip("link", "set", name, "name", to, "up")


# --- pktpit detach

def detach(net, *options, **keywords):
    return net.topology.router_namespace.run(TOOL, "--instance", net.router.instance, "detach", *options, check=False, **keywords)


@requirement("`pktpit detach` refuses while a daemon runs the instance, and where there is nothing")
def test_detach_refuses_what_is_not_left(build_net):
    net = build_net()
    done = detach(net, "--yes")
    assert done.returncode == 1 and "another pktpitd runs" in done.stderr
    wait_for(lambda: crosses(net), "packets cross")
    assert end(net.router.process) == 0
    done = detach(net, "--yes")
    assert done.returncode == 1 and "nothing of this instance is pinned" in done.stderr
    done = run(TOOL, "--instance", "../x", "detach", "--yes", check=False)
    assert done.returncode == 2 and "no name of an instance" in done.stderr


@requirement("`pktpit detach` takes down what a killed daemon has left, says what, and puts switches back")
def test_detach_takes_down_what_is_left(build_net):
    net = build_net(start=False)
    before = [switches(net, port) for port in ("p1", "p2", "p3")]
    net.router.start()
    net.router.kill()
    done = detach(net)
    assert done.returncode == 0, done.stdout + done.stderr
    for port in ("p1", "p2", "p3"):
        assert f"{port}: port stage taken down" in done.stdout
    assert programs(net) == [None] * 3
    assert [switches(net, port) for port in ("p1", "p2", "p3")] == before
    assert not net.router.pins.exists() and not files(net.router)


@requirement("`pktpit detach` does not take down what carries packets unless somebody says so: without a terminal it refuses, with "
             "one it asks, --yes says it")
@inline_only
def test_detach_asks_where_packets_flow(build_net, stream):
    net = build_net()
    running = stream(net.a, net.b)
    net.router.kill()
    done = detach(net, stdin=subprocess.DEVNULL)
    assert done.returncode == 1 and "packets still flow" in done.stderr
    assert asked(net, b"n\n") == 1
    assert all(programs(net))
    assert_nothing_lost(running.finish(after=1000))

    running = stream(net.a, net.b)
    assert asked(net, b"y\n") == 0
    assert programs(net) == [None] * 3
    running.abort()

    net.router.start()
    wait_for(lambda: crosses(net), "packets cross")
    running = stream(net.a, net.b)
    net.router.kill()
    done = detach(net, "--yes", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["taken_down"] and told["packets_meanwhile"] > 0
    assert {port["device"] for port in told["ports"]} == {"p1", "p2", "p3"}
    assert programs(net) == [None] * 3
    running.abort()


def asked(net, answer):
    """Exit status of a `pktpit detach` on a terminal."""
    ours, its = pty.openpty()
    try:
        process = net.topology.router_namespace.start(TOOL, "--instance", net.router.instance, "detach", stdin=its,
                                                      stdout=its, stderr=its)
        said = b""
        while b"[y/N]" not in said:
            said += os.read(ours, 1000)
        os.write(ours, answer)
        return process.wait(DEADLINE)
    finally:
        os.close(ours)
        os.close(its)


@requirement("`pktpit detach` by root ends what a daemon of another user has left")
def test_detach_of_another_users_daemon(build_net):
    net = build_net(start=False)
    net.router.move_into_the_open("nobody")
    net.router.start()
    net.router.kill()
    done = net.topology.router_namespace.run("env", f"RUNTIME_DIRECTORY={net.router.run_folder}", TOOL, "--instance",
                                             net.router.instance, "detach", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert programs(net) == [None] * 3
    assert not net.router.pins.exists() and not files(net.router)
