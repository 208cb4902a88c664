# SPDX-License-Identifier: BSD-3-Clause
"""Auto ports: the port stage decides about the busiest destinations, the control loop about all others.

The next hops are static neighbours on one wire, told apart by their MAC addresses (sinks.cpp). What is right is said
by a longest-prefix match of this file's own, which shares nothing with the router."""

import bisect
import http.client
import itertools
import json
import lzma
import random
import signal
import socket
import struct
import subprocess
import time
from collections import defaultdict
from pathlib import Path

import pytest
from lib.namespaces import end
from lib.packets import delivered, udp4, udp6, wait_for_crossing
from lib.pktpit_router import TOOL, real_data
from lib.stream import assert_none_lost, assert_nothing_lost
from lib.tools import compiled
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("who decides is Pktpit's own affair"), pytest.mark.xdp("auto ports"),
              pytest.mark.says_who_decides("each port has its own way")]

FIRST_NEXT_HOP = 16  # 10.2.0.16 and on; a next hop's number is its id and this


# What is right


class NaiveTable:
    """A longest-prefix match as its definition says: one dictionary a length."""

    def __init__(self, entries):
        """Of (net, length, value)."""
        self.lengths = defaultdict(dict)
        for net, length, value in entries:
            self.lengths[length][net >> (32 - length)] = value

    def match(self, address):
        for length in sorted(self.lengths, reverse=True):
            value = self.lengths[length].get(address >> (32 - length))
            if value is not None:
                return value
        return None


def number_of(address):
    return struct.unpack("!I", socket.inet_aton(address))[0]


def text_of(number):
    return socket.inet_ntoa(struct.pack("!I", number))


def parse_prefix(text):
    net, length = text.split("/")
    return number_of(net), int(length)


def forwardable(net):
    """May packets to it be forwarded at all, and is it none of this test's own nets?"""
    first = net >> 24
    return first not in (0, 10, 127) and first < 224 and net >> 16 not in (0xa9fe, 0xc612)


@pytest.fixture(scope="session")
def internet(tmp_path_factory):
    """The full table as a file of `prefix id` lines: the real one, else one generated after it."""
    path = tmp_path_factory.mktemp("table") / "internet.txt"
    if real := real_data("internet-ipv4-2026-06.txt.xz"):
        path.write_bytes(lzma.decompress(real.read_bytes()))
    else:
        with path.open("w") as file:
            subprocess.run([TOOL, "table", "generate", "-4"], stdout=file, check=True)
    entries = []
    for line in path.read_text().splitlines():
        prefix, next_hop = line.split()
        entries.append((*parse_prefix(prefix), int(next_hop)))
    return path, entries


def next_hop_address(number):
    return f"10.2.0.{number}"


def with_table(path, ids, count, **more):
    """Routes of the file by next hops of these ids, among static neighbours behind p2, by number."""
    return {
        "routes_files": [{"path": str(path), "next_hops": {
            str(one): [{"via": next_hop_address(FIRST_NEXT_HOP + one), "interface": "p2"}] for one in ids}}],
        "neighbours": [
            {"address": next_hop_address(number), "interface": "p2", "mac": f"02:aa:00:00:{number >> 8:02x}:{number & 255:02x}"}
            for number in range(FIRST_NEXT_HOP, FIRST_NEXT_HOP + count)],
        **more,
    }


def start(build_net, config, forwarding="auto", whole=False, count=2):
    """`whole`: where the table fits, as it does in most tests here, nothing is to be learnt."""
    net = build_net(start=False, config={"offload": {"whole_table": whole}, **config}, count=count)
    net.router.set_forwarding(forwarding)
    net.start()
    return net


def offload(net):
    return net.router.json("show", "offload")


# Traffic


class Sinks:
    """Traffic from host a to all next hops behind host b, running from construction on."""

    def __init__(self, tool, directory, net, destinations, kind="zipf", packets=0, rate=150000, window=240, log=None):
        file = Path(directory) / "destinations"
        file.write_bytes(b"".join(struct.pack("=II", address, next_hop) for address, next_hop in destinations))
        words = [tool, net.a.namespace.path, "eth0", net.a.mac, net.a.router_mac, net.b.namespace.path, "eth0", file, kind,
                 packets, rate, window, *([log] if log else [])]
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, start_new_session=True)
        assert self.process.stdout.readline() == "running\n"

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def result(self):
        output, _ = self.process.communicate(timeout=4 * DEADLINE)
        return json.loads(output)


@pytest.fixture
def sinks(tmp_path):
    running = []

    def begin(net, destinations, **options):
        running.append(Sinks(compiled("sinks"), tmp_path, net, destinations, **options))
        return running[-1]

    yield begin
    for one in running:
        end(one.process)


def decided(net):
    """Packets of p1 so far that its stage has decided about itself, and that it has split."""
    [port] = [port for port in offload(net)["ports"] if port["name"] == "p1"]
    return port["inline_packets"], port["split_packets"]


def share_after(net, seconds, packets):
    """Share of p1's packets that its stage decides about itself, over a second, after this time and at least so many
    packets: what is popular is learnt from packets, and a busy machine sends fewer."""
    goal = sum(decided(net)) + packets
    time.sleep(seconds)  # what is required is a share after a time
    wait_for(lambda: sum(decided(net)) >= goal, interval=0.05)
    before = decided(net)
    time.sleep(1)
    here, split = (now - then for now, then in zip(decided(net), before))
    assert here + split > 1000, "hardly any traffic"
    return here / (here + split)


def best_share(entries, addresses, budget):
    """What the best blocks of addresses with one next hop can decide about, of packets to addresses by their rank,
    Zipf(1.0), if everything is known beforehand."""
    firsts, next_hops, around = [0], [None], []  # where the next hop changes, and to what

    def changes(first, next_hop):
        if firsts[-1] == first:
            next_hops[-1] = next_hop
        else:
            firsts.append(first)
            next_hops.append(next_hop)

    def leave():
        last = around.pop()[0]
        changes(last + 1, around[-1][1] if around else None)

    for net, length, next_hop in sorted(entries):
        while around and around[-1][0] < net:
            leave()
        changes(net, next_hop)
        around.append((net | (1 << 32 - length) - 1, next_hop))
    while around:
        leave()
    kept = [at for at in range(len(firsts)) if at == 0 or next_hops[at] != next_hops[at - 1]]
    firsts = [firsts[at] for at in kept] + [1 << 32]
    shares = defaultdict(float)
    for rank, address in enumerate(addresses, 1):
        after = bisect.bisect_right(firsts, address)
        first, last = firsts[after - 1], firsts[after] - 1
        bits = next(bits for bits in range(24, -1, -1)
                    if address >> bits << bits >= first and address | (1 << bits) - 1 <= last)
        shares[address >> bits, bits] += 1 / rank
    return sum(sorted(shares.values(), reverse=True)[:budget]) / sum(shares.values())


# Tests

# Of what is possible with 16,384 blocks, in 3 s: so the real table of June 2026, whose best blocks decide about 92.3 % of the
# packets, is asked for the 85 % that are required, and a generated one with smaller blocks for as much of what it allows.
LEARNT = 0.925


def start_zipf(build_net, internet):
    """A router with the full table, its destinations with the next hop that is right, and the share that is possible."""
    path, entries = internet
    oracle = NaiveTable(entries)
    chosen = random.Random(11)
    population = []
    for net, length, _ in chosen.sample([entry for entry in entries if forwardable(entry[0])], 65536):
        address = net | (chosen.getrandbits(32 - length) if length < 32 else 0)
        population.append((address, FIRST_NEXT_HOP + oracle.match(address)))
    ids = sorted({next_hop for _, _, next_hop in entries})
    assert FIRST_NEXT_HOP + ids[-1] < 255
    # A worker without a CPU for 20 ms costs what lies in its rings (test_stopped.py): it is not what is asked here.
    net = start(build_net, with_table(path, ids, ids[-1] + 1, heartbeat={"worker_ms": 0}))
    assert offload(net)["budget"] == 16384
    return net, population, lambda: best_share(entries, [address for address, _ in population], 16384)


@requirement("the full table, 16,384 entries, Zipf(1.0): each of 400,000 packets by the right next hop, before and after a change of what is "
             "popular, while destinations are learnt and forgotten")
def test_zipf(build_net, sinks, internet):
    net, population, _ = start_zipf(build_net, internet)
    traffic = sinks(net, population, packets=400_000, rate=200_000)
    wait_for(lambda: offload(net)["entries"] > 1000, what="busy destinations are promoted")
    traffic.say("shuffle")
    result = traffic.result()
    state = offload(net)
    assert (result["sent"], result["received"], result["wrong"]) == (400_000, 400_000, 0), result
    assert 1000 < state["entries"] <= 16384


@requirement("the full table, 16,384 entries, Zipf(1.0): 85 % inline within 3 s of the start and of a change of what is popular")
@pytest.mark.measure("a share within seconds")
def test_zipf_share(build_net, sinks, internet):
    net, population, best = start_zipf(build_net, internet)
    traffic = sinks(net, population, packets=2_000_000, rate=200_000)  # 10 s, however fast the machine
    shares = [share_after(net, 3, 200_000)]
    traffic.say("shuffle")
    shares.append(share_after(net, 3, 200_000))
    traffic.result()
    state, possible = offload(net), best()
    print(f"shares inline: {shares[0]:.3f} 3 s after the start, {shares[1]:.3f} 3 s after a change, of {possible:.3f} that are possible; "
          f"{state['entries']} entries, {state['promoted']['total']} promoted, {state['evicted']['total']} evicted")
    assert min(shares) >= LEARNT * possible, (shares, possible)
    assert LEARNT * possible >= 0.85 or not real_data("internet-ipv4-2026-06.txt.xz"), possible


class Api(http.client.HTTPConnection):
    """The daemon's API by one connection, for many requests in a row."""

    def __init__(self, path):
        super().__init__("localhost", timeout=DEADLINE)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)

    def prefix_of(self, address):
        self.request("GET", f"/v1/lookup?address={address}")
        answer = self.getresponse()
        text = answer.read()
        assert answer.status == 200, text
        return json.loads(text)["results"][0]["prefix"]


class KernelUpdates:
    """Routes put into the router's kernel as a routing daemon would, in batches."""

    def __init__(self, net):
        self.net, self.api, self.batches, self.announced = net, Api(net.router.socket), 0, set()

    def apply(self, updates):
        """Returns when the router forwards by all of them."""
        lines = []
        for _, next_hop, where, length in updates:
            prefix = f"{text_of(where)}/{length}"
            if next_hop is not None:
                self.announced.add(prefix)
                lines.append(f"route replace {prefix} via {next_hop_address(FIRST_NEXT_HOP + next_hop)} dev p2 proto bird")
            elif prefix in self.announced:
                self.announced.remove(prefix)
                lines.append(f"route del {prefix} proto bird")
        # Changes arrive in order: when the last is there, all are.
        last = f"100.64.{self.batches >> 8}.{self.batches & 255}"
        self.batches += 1
        lines.append(f"route replace {last}/32 via {next_hop_address(FIRST_NEXT_HOP)} dev p2 proto bird")
        self.net.topology.router_namespace.batch(lines)
        wait_for(lambda: self.api.prefix_of(last) == f"{last}/32", "the router has followed the kernel", interval=0.002)


SECONDS = 150  # of the updates, a tenth of which the replay takes


def read_updates(entries):
    """(seconds since the first, next hop's id or None, net, length), of the real trace, else generated flaps."""
    updates = []
    if path := real_data("bgp-updates-ipv4-2016-08.txt.xz"):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            when, kind, prefix, next_hop = line.split()
            updates.append((int(when), int(next_hop) if kind == "a" else None, *parse_prefix(prefix)))
    else:
        chosen = random.Random(5)
        nets = [(net, length) for net, length, _ in chosen.sample(entries, 1600)]
        for second in range(300):
            updates += [(second, chosen.randrange(20) if chosen.random() < 0.7 else None, *chosen.choice(nets))
                        for _ in range(chosen.choice((20, 60, 400)))]
    first = updates[0][0]
    return [(when - first, next_hop, net, length) for when, next_hop, net, length in updates if forwardable(net)]


class RightNextHops:
    """Which next hop was right for each destination, and when: the base table, over which updates lie."""

    def __init__(self, base, updates, destinations):
        self.updated = {}  # (net, length) -> next hop
        self.inside = defaultdict(list)
        self.lengths = sorted({length for _, _, _, length in updates}, reverse=True)
        nets = {(net, length) for _, _, net, length in updates}
        self.history = []  # by destination: lists of (from when, next hop), and until when
        self.base = []
        self.addresses = destinations
        for index, address in enumerate(destinations):
            for length in self.lengths:
                net = address >> (32 - length) << (32 - length)
                if (net, length) in nets:
                    self.inside[net, length].append(index)
            at = next((length for length in sorted(base.lengths, reverse=True)
                       if address >> (32 - length) in base.lengths[length]), -1)
            self.base.append((at, base.lengths[at][address >> (32 - at)] if at >= 0 else None))
            self.history.append([[0, float("inf"), self.base[-1][1]]])

    def now(self, index):
        address = self.addresses[index]
        base_length, base_hop = self.base[index]
        for length in self.lengths:
            if length < base_length:
                break
            hop = self.updated.get((address >> (32 - length) << (32 - length), length))
            if hop is not None:
                return hop
        return base_hop

    def update(self, net, length, next_hop, began, done):
        """The change became visible at some time between the two."""
        if next_hop is None:
            self.updated.pop((net, length), None)
        else:
            self.updated[net, length] = next_hop
        for index in self.inside[net, length]:
            right = self.now(index)
            history = self.history[index]
            if history[-1][2] != right:
                history[-1][1] = done
                history.append([began, float("inf"), right])

    def was_right(self, index, next_hop, sent, received):
        history = self.history[index]
        last = bisect.bisect_right(history, received, key=lambda entry: entry[0])
        for begin, until, right in reversed(history[:last]):
            if until < sent:
                return False
            if right == next_hop:
                return True
        return False


@requirement("real route changes at ten times their speed or less, on the full table, while traffic flows: no packet leaves by a "
             "next hop that was at no time right while it was under way")
def test_churn(build_net, sinks, internet, tmp_path):
    path, entries = internet
    base = NaiveTable(entries)
    updates = [update for update in read_updates(entries) if update[0] < SECONDS]
    ids = sorted({next_hop for _, _, next_hop in entries})
    # Where changes happen, and beside it: in the prefix that changes and in the one around it.
    chosen = random.Random(3)
    nets = sorted({(net, length) for _, _, net, length in updates})
    addresses = []
    for _ in range(4096):
        net, length = chosen.choice(nets)
        wider = max(8, length - chosen.choice((0, 0, 0, 1, 2)))
        addresses.append(((net | chosen.getrandbits(32 - length)) if length == wider or length == 32 else
                          (net >> (32 - wider) << (32 - wider) | chosen.getrandbits(32 - wider))))
    right = RightNextHops(base, updates, addresses)
    # A name and a place for each next hop of the table and of the updates.
    most = max(ids[-1], max(next_hop or 0 for _, next_hop, _, _ in updates)) + 1
    assert FIRST_NEXT_HOP + most < 255
    net = start(build_net, with_table(path, ids, most, icmp={"rate": 1000},
                                      kernel_routes={"enabled": True, "protocols": ["bird"], "preference": 5}))
    log = tmp_path / "log"
    traffic = sinks(net, [(address, 0) for address in addresses], kind="uniform", rate=20_000, window=10**9, log=log)
    wait_for(lambda: offload(net)["entries"] > 500, "busy destinations are promoted")
    kernel = KernelUpdates(net)
    began = time.monotonic()
    for when, batch in itertools.groupby(updates, key=lambda update: update[0]):
        batch = list(batch)
        wait = when / 10 - (time.monotonic() - began)
        if wait > 0:
            time.sleep(wait)
        start_time = time.monotonic_ns()
        kernel.apply(batch)
        done_time = time.monotonic_ns()
        for _, next_hop, where, length in batch:
            right.update(where, length, next_hop, start_time, done_time)
    took = time.monotonic() - began
    state = offload(net)
    traffic.say("stop")
    traffic.result()
    wrong = []
    packets = 0
    for index, number, sent, received in struct.iter_unpack("=IIQQ", log.read_bytes()):
        packets += 1
        if not right.was_right(index, number - FIRST_NEXT_HOP, sent, received):
            wrong.append((text_of(addresses[index]), number - FIRST_NEXT_HOP, sent, received, right.history[index][-4:]))
    changes = sum(len(history) - 1 for history in right.history)
    port = next(port for port in state["ports"] if port["name"] == "p1")
    share = port["inline_packets"] / (port["inline_packets"] + port["split_packets"])
    print(f"{len(updates)} updates in {took:.1f} s ({updates[-1][0] / took:.1f} times their speed), {changes} changes of what is "
          f"right; {packets} packets, {share:.3f} inline; {state['invalidated']['total']} blocks invalidated, "
          f"{state['promoted']['total']} promoted")
    assert not wrong, f"{len(wrong)} of {packets}: {wrong[:3]}"
    assert packets > 10_000 and changes > 1000 and state["invalidated"]["total"] > 100, (packets, changes, state)


def blocks_of(net):
    return {entry["prefix"] for entry in net.router.json("show", "offload", "--entries")["entries"]}


@requirement("a busy flow comes to be forwarded inline, without loss and in order; show offload says so")
@pytest.mark.parametrize("family", [4, 6])
def test_stream(build_net, stream, family):
    net = start(build_net, {})
    running = stream(net.a, net.b, family=family, rate=20000)
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.95, "nearly all is inline")
    behind = "198.18.2." if family == 4 else "2001:db8:2:100::"
    assert any(block.startswith(behind) for block in blocks_of(net))
    assert_nothing_lost(running.finish(after=5000))
    text = net.router.cli("show", "offload").stdout
    assert "of 16384 entries, hit rate" in text and "auto" in text
    assert behind in net.router.cli("show", "offload", "--entries").stdout


@requirement("a reload changes inline, split and auto into each other and loses nothing of what is under way")
def test_reload(build_net, stream):
    net = start(build_net, {}, forwarding="inline")
    running = stream(net.a, net.b, rate=10000)
    for wanted in ("auto", "split", "auto", "inline", "auto"):
        net.router.config["interfaces"]["p1"]["forwarding"] = wanted
        net.router.apply()
        assert {port["name"]: port["forwarding"] for port in offload(net)["ports"]}["p1"] == wanted
        running.flows_again(3000)
    assert_none_lost(running.finish())


@requirement("a smaller budget by a reload evicts what is too much; 0 entries are split")
def test_budget(build_net, stream):
    net = start(build_net, {})
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: offload(net)["entries"] > 0, "something is promoted")
    net.router.config["offload"] = {"fib_entries": 0}
    net.router.apply()
    state = offload(net)
    assert (state["entries"], state["budget"]) == (0, 0)
    running.flows_again(5000)
    assert running.finish()["lost"] == 0
    assert offload(net)["entries"] == 0


@requirement("the daemon dies: an auto port forwards on, all of it; the next daemon takes over and promotes again")
def test_kill_and_restart(build_net, stream):
    net = start(build_net, {})
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.9, "nearly all is inline")
    net.router.kill()
    running.flows_again(3000)
    for make in (udp4, udp6):
        wait_for_crossing(net.b, net.a, make)  # hardly hot
    net.router.start()
    running.flows_again(3000)
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.9, "nearly all is inline again")
    result = running.finish()
    assert result["lost"] <= 1024, f"more than what lay in the dead daemon's rings: {result}"


@requirement("the daemon stands still: what is hot is forwarded on")
def test_stopped_daemon(build_net, stream):
    net = start(build_net, {})
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.99, "all is inline")
    net.router.process.send_signal(signal.SIGSTOP)
    try:
        running.flows_again(5000)
    finally:
        net.router.process.send_signal(signal.SIGCONT)
    assert_nothing_lost(running.finish())


@requirement("a table that fits is held whole: every packet is decided by the stage from the first one on, in order; a table that "
             "outgrows the stages is learnt from, and held whole again when it has shrunk")
@pytest.mark.parametrize("family", [4, 6])
def test_whole_table(build_net, stream, family):
    net = start(build_net, {"offload": {"fib_entries": 64}})
    wait_for(lambda: offload(net)["whole_table"], "the whole table is held")
    before = decided(net)[1]
    running = stream(net.a, net.b, family=family, rate=20000)
    running.flows_again(5000)
    state = offload(net)
    assert decided(net)[1] == before, "the control loop has decided"
    assert 0 < state["entries"] < 56 and state["promoted"]["total"] == 0
    assert "entries: the whole table, hit rate" in net.router.cli("show", "offload").stdout
    # Routes that are no one's destination make it outgrow the stages, and shrink again.
    few = net.router.config["routes"]
    net.router.config["routes"] = few + [{"prefix": f"100.64.{number}.0/24", "type": "blackhole"} for number in range(64)]
    net.router.apply()
    wait_for(lambda: not offload(net)["whole_table"], "it is held whole no more")
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.99, "what is busy is held")
    net.router.config["routes"] = few
    net.router.apply()
    wait_for(lambda: offload(net)["whole_table"], "it is held whole again")
    assert_nothing_lost(running.finish(after=5000))


@requirement("whole tables are for those who want them, by a reload")
def test_whole_table_by_reload(build_net, stream):
    net = start(build_net, {}, whole=True)
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: offload(net)["whole_table"] and offload(net)["hit_rate"] == 1, "all is decided by the stage")
    for whole, entries, held in ((False, 16384, False), (True, 16384, True), (True, 0, False)):
        net.router.config["offload"] = {"whole_table": whole, "fib_entries": entries}
        net.router.apply()
        wait_for(lambda: offload(net)["whole_table"] == held, f"whole table: {held}")  # noqa: B023
        running.flows_again(3000)
    assert running.finish()["lost"] == 0


@requirement("a counted route's counter is the same however its packets are decided about")
def test_counted_route(build_net, stream):
    net = start(build_net, {})
    net.router.config["routes"] = [{**route, "counters": route["prefix"] == "198.18.2.0/24"}
                                   for route in net.router.config["routes"]]
    net.router.apply()
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: (offload(net)["hit_rate"] or 0) > 0.9, "nearly all is inline")
    result = running.finish()
    assert_nothing_lost(result)
    counted = next(route for route in net.router.json("show", "counters")["routes"] if route["prefix"] == "198.18.2.0/24")
    assert counted["packets"] == result["sent"]


@requirement("a more specific route under a hot block takes effect at once, and its end too; the host's addresses stay its own")
def test_routes_under_a_block(build_net, stream):
    net = start(build_net, {}, count=3)
    running = stream(net.a, net.b, rate=10000)
    wait_for(lambda: any(block.startswith("198.18.2.") for block in blocks_of(net)), "the stream's block is installed")
    for _ in range(20):
        net.router.route("add", "198.18.2.9/32", "via", net.c.ip4)
        delivered(net.a, net.c, dst="198.18.2.9")
        net.router.route("del", "198.18.2.9/32")
        delivered(net.a, net.b, dst="198.18.2.9")
    assert running.finish()["lost"] == 0
    net.a.namespace.run("ping", "-c", "2", "-W", "30", net.b.router_ip4)
