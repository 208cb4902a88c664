# SPDX-License-Identifier: BSD-3-Clause
"""`pktpit trace` and `pktpit capture`: what packets did, as they did it, and ports as fast as before afterwards."""

import json
import re
import signal
import subprocess
import time

import pytest
from lib.namespaces import end, run
from lib.packets import token, udp4, udp6, wait_for_crossing
from lib.pktpit_router import DATAPLANE, FORWARDING, TOOL
from lib.stream import assert_nothing_lost
from lib.waiting import DEADLINE, wait_for
from scapy.layers.l2 import Ether
from scapy.utils import PcapNgReader

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("observation is Pktpit's")

NET = {"config": {"routes": [{"prefix": "203.0.113.0/24", "type": "blackhole"}]}}


class Observation:
    """A trace or capture that is under way when the constructor returns."""

    def __init__(self, router, *words, stdout=subprocess.PIPE):
        self.router = router
        before = router.log().count("packets are observed: ")
        self.process = subprocess.Popen([str(TOOL), "--instance", router.instance, *map(str, words)],
                                        stdout=stdout, stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        wait_for(lambda: router.log().count("packets are observed: ") > before or self.process.poll() is not None, "the daemon observes")

    def finish(self, signal_number=None, status=0):
        if signal_number:
            self.process.send_signal(signal_number)
        try:
            out, err = self.process.communicate(timeout=DEADLINE)
        finally:
            end(self.process)
        assert self.process.returncode == status, err
        return out, err

    def packets(self, signal_number=None):
        """A trace's, and its last line."""
        lines = [json.loads(line) for line in self.finish(signal_number)[0].splitlines()]
        return lines[:-1], lines[-1]["end"]


@pytest.fixture
def observe(net):
    """observe(word, …) begins one of the module's router; ended with the test at the latest."""
    begun = []

    def begin(*words, **options):
        begun.append(Observation(net.router, *words, **options))
        return begun[-1]

    yield begin
    for observation in begun:
        end(observation.process)
    wait_for_end(net.router)


def program_of(router, port):
    """The name of the program at a port, as the kernel has it, and how many instructions it has."""
    while True:
        link = json.loads(router.namespace.run("ip", "-json", "link", "show", "dev", port).stdout)[0]
        shown = run("bpftool", "--json", "prog", "show", "id", link["xdp"]["prog"]["id"], check=False)
        if shown.returncode == 0:  # else it has just been swapped for another
            shown = json.loads(shown.stdout)
            return shown["name"], shown["bytes_xlated"] // 8


def wait_for_end(router):
    def told_last():
        return next(line for line in reversed(router.log().splitlines())
                    if "packets are observed" in line or "forwards; API at" in line)

    wait_for(lambda: "packets are observed:" not in told_last(), "the daemon sees the last client gone")
    if DATAPLANE != "xdp":  # nothing but workers, which have no programs
        return
    wait_for(lambda: all(program_of(router, port)[0] == "port_stage" for port in router.config["interfaces"]
                         if "parent" not in router.config["interfaces"][port]), "the plain programs are back")


def tshark(path, *fields):
    words = [word for field in fields for word in ("-e", field)]
    shown = run("tshark", "-r", path, "-T", "fields", "-E", "separator=|", *words)
    return [tuple(line.split("|")) for line in shown.stdout.splitlines()]


@requirement("a trace shows headers, prefix, next hop, egress and times of a packet that is forwarded")
@pytest.mark.parametrize("family, make", [(4, udp4), (6, udp6)])
def test_trace_forwarded(net, observe, family, make):
    wait_for_crossing(net.a, net.b, make)
    where = net.b.behind4 if family == 4 else net.b.behind6
    trace = observe("trace", "--json", "--count", 1, "--port", "p1", "--filter", f"udp and dst host {where} and dst port 5077")
    mark = token()
    net.a.send(make(net.a, net.b, b"other"), make(net.a, net.b, mark, sport=4321, dport=5077))
    arrived = net.b.receive(mark)
    (packet,), last = trace.packets()
    assert last == {"packets": 1, "lost": 0}
    assert (packet["packet"], packet["port"], packet["verdict"], packet["action"]) == (1, "p1", "forwarded", "forward")
    assert packet["mode"] == FORWARDING if FORWARDING in ("inline", "split") else packet["mode"].startswith("auto")
    assert packet["length"] == len(arrived)
    ip = packet["headers"]["ipv4" if family == 4 else "ipv6"]
    assert (ip["dst"], ip.get("ttl", ip.get("hop_limit")), ip["protocol"]) == (where, 64, "UDP")
    assert packet["headers"]["ports"] == {"src": 4321, "dst": 5077}
    assert packet["headers"]["ethernet"]["src"] == net.a.mac
    lookup = packet["lookup"]
    assert lookup["prefix"] == ("198.18.2.0/24" if family == 4 else "2001:db8:2:100::/56")
    assert (lookup["source"], lookup["interface"], lookup["as_the_packet_met"]) == ("config", "p1", True)
    shown = net.router.json("show", "route", where)
    assert lookup["group"] == shown["group"]["id"]
    assert {name: lookup["adjacency"][name] for name in ("id", "via", "port", "dst_mac", "mtu")} == {
        "id": shown["adjacency"]["id"], "via": net.b.ip4 if family == 4 else net.b.ip6, "port": "p2",
        "dst_mac": net.b.mac, "mtu": 1500}
    egress = packet["egress"]
    assert (egress["port"], egress["length"], egress["headers"]["ethernet"]["dst"]) == ("p2", len(arrived), net.b.mac)
    out = egress["headers"]["ipv4" if family == 4 else "ipv6"]
    assert out.get("ttl", out.get("hop_limit")) == 63
    steps = [step["ns"] for step in packet["steps"]]
    assert steps == sorted(steps) and steps[-1] > 0
    assert abs(packet["time"] - time.time()) < 60


@requirement("for people, every step has its line")
def test_trace_text(net, observe):
    wait_for_crossing(net.a, net.b)
    trace = observe("trace", "--count", 1, "--filter", "udp dst port 5078")
    net.a.send(udp4(net.a, net.b, b"x", dport=5078))
    out, err = trace.finish()
    assert re.search(r"^Packet 1  \d\d:\d\d:\d\d\.\d{6}  p1  .*  forwarded$", out, re.M), out
    for step, text in (("ipv4", f"{net.a.behind4} -> {net.b.behind4}  UDP 4000 -> 5078  ttl 64"),
                       ("lookup", f"{net.b.behind4} matches 198.18.2.0/24 (config)"), ("next hop", f"{net.b.ip4}  dev p2"),
                       ("egress", "p2"), ("verdict", "forwarded"), ("time", "")):
        assert re.search(rf"^  {step} +{re.escape(text)}", out, re.M), f"{step}: {out}"
    assert err == "1 packet traced, 0 lost on the way here\n"


@requirement("drops are shown with their reason, and can be asked for alone")
def test_trace_drops(net, observe):
    wait_for_crossing(net.a, net.b)
    trace = observe("trace", "--json", "--count", 3, "--verdict", "drop", "--filter", "ip")
    broken = bytearray(net.a.frame(udp4(net.a, net.b, b"x")))
    broken[24] ^= 0xFF
    net.a.send(udp4(net.a, net.b, b"forwarded, not shown"))
    net.a.send(udp4(net.a, net.b, b"x", src="127.0.0.1"), udp4(net.a, net.b, b"x", dst="203.0.113.9"))
    net.a.wire.send(bytes(broken))
    packets, _ = trace.packets()
    # One worker and one port stage each keep their order; who comes first is open.
    shown = {packet["verdict"]: packet for packet in packets}
    assert set(shown) == {"drop_martian_source", "drop_blackhole", "drop_ipv4_checksum"}
    assert shown["drop_blackhole"]["lookup"]["prefix"] == "203.0.113.0/24"
    assert shown["drop_blackhole"]["lookup"]["adjacency"]["kind"] == "blackhole"
    for packet in packets:
        assert packet["action"] == "drop" and packet["egress"] is None and packet["meaning"]


@requirement("what the slow path does with a packet is a part of its trace: ICMP errors, waiting for a neighbour")
def test_trace_slow_path(net, observe):
    wait_for_crossing(net.a, net.b)
    wait_for_crossing(net.b, net.a)
    trace = observe("trace", "--json", "--count", 2, "--filter", "udp dst port 5079")
    net.a.send(udp4(net.a, net.b, b"x", ttl=1, dport=5079))
    net.a.send(udp4(net.a, net.b, b"x", dst="10.2.0.77", dport=5079))
    packets, _ = trace.packets()
    shown = {packet["verdict"]: packet for packet in packets}
    assert set(shown) == {"ttl_expired", "no_neighbour"}
    expired = shown["ttl_expired"]["slow_path"]
    assert expired["steps"] == {"icmp4_time_exceeded": 1}
    (sent,) = expired["sent"]
    assert sent["port"] == "p1"
    assert sent["headers"]["icmp"] == {"type": 11, "code": 0}
    assert sent["headers"]["ipv4"]["dst"] == net.a.behind4
    waits = shown["no_neighbour"]["slow_path"]
    assert waits["steps"]["neighbour_queued"] == 1 and waits["sent"] == []


@requirement("a capture has each frame as it came in, as it left, and as it was dropped with the reason as its comment; tshark reads it")
@pytest.mark.not_model("its workers see 128 bytes of a packet")
def test_capture_points(net, observe, tmp_path):
    wait_for_crossing(net.a, net.b)
    path = tmp_path / "all.pcapng"
    capture = observe("capture", "-w", path, "--filter", "udp dst port 5080", "--point", "ingress", "--point", "egress",
                      "--point", "drop", "--count", 5)
    marks = [token() + bytes(300), token() + bytes(1), token()]
    sent = [net.a.frame(udp4(net.a, net.b, marks[0], dport=5080)), net.a.frame(udp4(net.a, net.b, marks[1], dport=5080)),
            net.a.frame(udp4(net.a, net.b, marks[2], dport=5080, dst="203.0.113.9"))]
    net.a.wire.send(*sent)
    left = [bytes(net.b.receive(mark)) for mark in marks[:2]]
    out, err = capture.finish()
    assert err == "5 packets captured, 0 lost on the way here\n"
    assert sorted(bytes(packet) for packet in PcapNgReader(str(path))) == sorted(sent + left)
    frames = tshark(path, "frame.interface_name", "frame.packet_flags_direction", "frame.comment", "frame.len", "ip.ttl")
    blackhole = "drop_blackhole: a `blackhole` route matches"
    inbound, outbound = (next(frame[1] for frame in frames if frame[0] == port) for port in ("p1", "p2"))
    assert inbound != outbound
    assert sorted(frames) == sorted([
        ("p1", inbound, "", str(len(sent[0])), "64"), ("p1", inbound, "", str(len(sent[1])), "64"),
        ("p1", inbound, blackhole, str(len(sent[2])), "64"),
        ("p2", outbound, "", str(len(left[0])), "63"), ("p2", outbound, "", str(len(left[1])), "63")])


@requirement("a capture of drops alone has nothing else, cut to the snaplen, and goes to a pipe as well")
def test_capture_drops_to_a_pipe(net, observe, tmp_path):
    wait_for_crossing(net.a, net.b)
    path = tmp_path / "drops.pcapng"
    with open(path, "wb") as file:
        capture = observe("capture", "-w", "-", "--point", "drop", "--snaplen", "60", "--port", "p1", "--filter", "ip", stdout=file)
    frame = net.a.frame(udp4(net.a, net.b, bytes(500), dst="203.0.113.9"))
    net.a.send(udp4(net.a, net.b, bytes(500)))
    net.a.wire.send(frame)
    net.b.wire.send(net.b.frame(udp4(net.b, net.a, bytes(500), dst="203.0.113.9")))  # another port's
    wait_for(lambda: path.stat().st_size > 200, "a frame is in the file")
    assert capture.finish(signal.SIGINT)[1] == "1 packet captured, 0 lost on the way here\n"
    (packet,) = list(PcapNgReader(str(path)))
    assert bytes(packet) == frame[:60] and packet.wirelen == len(frame)


@requirement("one packet in N is taken at random, in the port stage already")
def test_capture_sample(net, observe, tmp_path):
    wait_for_crossing(net.a, net.b)
    path = tmp_path / "some.pcapng"
    capture = observe("capture", "-w", path, "--point", "ingress", "--sample", 10, "--filter", "udp dst port 5081")
    frame = net.a.frame(udp4(net.a, net.b, b"x", dport=5081))
    for _ in range(20):
        net.a.wire.send(*[frame] * 49)
        net.a.send(udp4(net.a, net.b, (mark := token()), dport=5081))
        net.b.receive(mark)
    capture.finish(signal.SIGINT)
    # 100 are to be expected; fewer than 45 or more than 165 come once in a hundred million times.
    assert 45 <= len(list(PcapNgReader(str(path)))) <= 165


@requirement("while nobody looks, ports run the program without any instruction of observation; and again when a client ends or is killed")
@pytest.mark.xdp("programs")
def test_programs(net, observe, tmp_path):
    plain = {port: program_of(net.router, port) for port in ("p1", "p2", "p3")}
    assert {name for name, _ in plain.values()} == {"port_stage"}
    trace = observe("trace", "--json", "--filter", "udp dst port 1")
    capture = observe("capture", "-w", tmp_path / "x", "--filter", "udp dst port 1")
    for port, (_, instructions) in plain.items():
        name, more = program_of(net.router, port)
        assert name == "port_observed" and more > instructions
    trace.finish(signal.SIGTERM)
    assert program_of(net.router, "p1")[0] == "port_observed", "the other goes on"
    end(capture.process, signal.SIGKILL)
    wait_for_end(net.router)
    assert {port: program_of(net.router, port) for port in plain} == plain
    wait_for_crossing(net.a, net.b)


@requirement("what cannot be observed is refused with the reason, and an older file is left alone")
def test_refusals(net, tmp_path):
    path = tmp_path / "old"
    path.write_text("old")

    def refused(*words):
        process = net.router.cli(*words, check=False)
        assert process.returncode == 1 and process.stdout == ""
        return process.stderr

    text = refused("capture", "-w", path, "--filter", "udp and prot 53")
    assert "--filter" in text and "syntax error" in text and '"udp" is a filter' in text and "character 5" in text
    assert path.read_text() == "old"
    assert "no port \"p9\"" in refused("trace", "--port", "p9")
    assert "nonsense" in refused("trace", "--verdict", "nonsense")
    assert net.router.cli("trace", "--count", "0", check=False).returncode == 2
    errors = json.loads(net.router.cli("trace", "--filter", "ip and", "--json", check=False).stdout)["errors"]
    assert errors[0]["where"] == "--filter"


@requirement("four observe at once; a fifth is told that it cannot, and all others of the API go on")
def test_several_at_once(net, observe):
    traces = [observe("trace", "--json", "--count", 1, "--filter", f"udp dst port {5090 + i}") for i in range(4)]
    refusal = net.router.cli("trace", check=False)
    assert refusal.returncode == 1 and "by 4 clients" in refusal.stderr
    wait_for_crossing(net.a, net.b)
    net.a.send(*(udp4(net.a, net.b, b"x", dport=5090 + i) for i in (3, 1, 0, 2)))
    for i, trace in enumerate(traces):
        (packet,), _ = trace.packets()
        assert packet["headers"]["ports"]["dst"] == 5090 + i


@requirement("under load a capture ends with what was asked for, nothing that is forwarded is lost, and a client that stands still costs nothing but its own frames")
def test_capture_under_load(net, observe, stream, tmp_path):
    running = stream(net.a, net.b, rate=10000)
    path = tmp_path / "load.pcapng"
    still = observe("capture", "-w", tmp_path / "still.pcapng")
    still.process.send_signal(signal.SIGSTOP)
    capture = observe("capture", "-w", path, "--point", "egress", "--port", "p2", "--count", 5000)
    out, err = capture.finish()
    assert err.startswith("5000 packets captured, "), err
    net.router.cli("show", "version")
    running.flows_again(3000)
    still.process.send_signal(signal.SIGCONT)
    running.flows_again(3000)
    still.finish(signal.SIGINT)
    assert_nothing_lost(running.finish())
    packets = list(PcapNgReader(str(path)))
    assert len(packets) == 5000
    assert {packet[Ether].dst for packet in packets} == {net.b.mac}
    wait_for_end(net.router)


@requirement("a capture goes on over a reload that changes ports, and sees the new ones")
@pytest.mark.xdp("ports that change sides")
def test_reload(build_net, tmp_path):
    net = build_net()
    capture = Observation(net.router, "capture", "-w", tmp_path / "x", "--point", "ingress", "--filter", "udp dst port 5085")
    try:
        interfaces = net.router.config["interfaces"]
        kept = interfaces.pop("p3")
        net.router.apply()
        interfaces["p3"] = kept
        interfaces["p1"] = {**interfaces["p1"], "forwarding": "inline" if FORWARDING == "split" else "split"}
        net.router.apply()
        for sender, receiver in ((net.a, net.b), (net.c, net.a)):
            wait_for_crossing(sender, receiver)
            sender.send(udp4(sender, receiver, mark := token(), dport=5085))
            receiver.receive(mark)
        assert program_of(net.router, "p3")[0] == "port_observed"
        _, err = capture.finish(signal.SIGINT)
        assert err.startswith("2 packets captured"), err
        wait_for_end(net.router)
    finally:
        end(capture.process)


@requirement("kill -9 while a capture runs: what can go on forwards, the client is told, and the next daemon puts the plain program in")
@pytest.mark.xdp("programs, and forwarding that outlives the daemon")
def test_kill(build_net, tmp_path):
    net = build_net()
    path = tmp_path / "x"
    capture = Observation(net.router, "capture", "-w", path)
    try:
        assert program_of(net.router, "p1")[0] == "port_observed"
        wait_for(path.exists, "the client has the beginning of its answer")  # else it is told that no answer came
        net.router.kill()
        _, err = capture.finish(status=2)
        assert "the daemon has gone" in err
        wait_for_crossing(net.a, net.b)
        net.router.start()
        wait_for_end(net.router)
        wait_for_crossing(net.a, net.b)
    finally:
        end(capture.process)
