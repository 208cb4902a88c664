# SPDX-License-Identifier: BSD-3-Clause
"""/metrics: what it tells, to whom, to Prometheus itself, and what clients that never read can do to the router."""

import contextlib
import json
import re
import subprocess
from urllib.parse import quote

import pytest
from lib.asking import ask
from lib.namespaces import end, run
from lib.packets import delivered, token, udp4
from lib.pktpit_router import ROOT
from lib.stream import assert_nothing_lost
from lib.summing import Job, address_of, give_addresses, group
from lib.waiting import DEADLINE, wait_for
from lib.web import assert_answered_first, connect, request

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("metrics are Pktpit's"), pytest.mark.xdp("one port of each kind; what they tell is the same"),
              pytest.mark.says_who_decides("one port of each kind, in each run")]

PORT = 9100
RULES = ROOT / "packaging" / "prometheus" / "pktpit.rules.yml"
DASHBOARD = ROOT / "packaging" / "grafana" / "pktpit.json"
METRICS = {"metrics": {"listen": f"127.0.0.1:{PORT}"}}


def with_everything(topology):
    """A port that is split, so that there are workers, FPM, and a group that is added for."""
    return {**METRICS, "routes": [{"prefix": "203.0.113.0/24", "type": "blackhole"}], "interfaces": {**topology.config()["interfaces"],
                                      topology.b.port: {**topology.config()["interfaces"][topology.b.port], "forwarding": "split"}},
            "fpm": {"listen": "127.0.0.1:2620"},
            "aggregation": {"groups": {"job1": group(give_addresses(topology, 1))}}}


NET = {"configure": with_everything}


def scrape(net, **headers):
    return request(net.topology.router_namespace, "127.0.0.1", PORT, "/metrics", **headers)


def samples(text):
    """{name: {labels: value}}, labels as they are written."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = re.fullmatch(r"([a-zA-Z0-9_:]+)(?:\{(.*)\})? (\S+)", line).groups()
            found.setdefault(name, {})[labels or ""] = float(value)
    return found


def by_labels(series, **labels):
    return sum(value for text, value in series.items() if all(f'{name}="{wanted}"' in text for name, wanted in labels.items()))


@requirement("the text is Prometheus' format, well named, and each family has its help: promtool says so")
def test_promtool_finds_nothing(net):
    text = scrape(net).text
    checked = run("promtool", "check", "metrics", input=text, check=False)
    assert checked.returncode == 0 and not checked.stdout and not checked.stderr, checked.stdout + checked.stderr
    assert ask(net.router.socket, "/metrics").decode().count("# TYPE") == text.count("# TYPE"), "the API's socket has the same"


@requirement("what it counts is what `show` counts, zeros included, and it grows by what is sent")
def test_the_numbers_are_the_daemons(net):
    before = samples(scrape(net).text)
    for _ in range(10):
        delivered(net.a, net.b)
    net.a.send(udp4(net.a, net.b, token(), dst="192.88.99.1"))  # no route
    port = net.a.port

    def grown():
        after = samples(scrape(net).text)
        return after if by_labels(after["pktpit_port_verdicts_total"], port=port, verdict="no_route") else None

    after = wait_for(grown, "the packet without a route is counted")
    shown = net.router.json("show", "counters")["ports"][port]
    for name, member in (("receive_packets", "rx_packets"), ("receive_bytes", "rx_bytes"), ("transmit_packets", "tx_packets")):
        assert by_labels(after[f"pktpit_port_{name}_total"], port=port) <= shown[member]
    verdicts = before["pktpit_port_verdicts_total"]
    forwarded = dict(port=port, verdict="forwarded", action="forward")
    assert by_labels(after["pktpit_port_verdicts_total"], **forwarded) - by_labels(verdicts, **forwarded) >= 10
    assert f'port="{port}",verdict="drop_ipv4_checksum",action="drop"' in verdicts, "a verdict that never came is 0, not absent"
    assert by_labels(after["pktpit_fib_prefixes"]) > 0 and by_labels(after["pktpit_rib_routes"], source="config") == 7
    used, room = after["pktpit_fib_used"], after["pktpit_fib_capacity"]
    assert used.keys() == room.keys() and all(used[part] <= room[part] for part in used)
    assert by_labels(after["pktpit_loop_turn_seconds_count"]) > 0 and by_labels(after["pktpit_loop_longest_turn_seconds"]) > 0


@requirement("aggregation: chunks, who repeats, who is last, refusals by reason, as `show aggregation` says")
def test_sums_are_counted(net):
    workers = [(host, address_of(host, 0)) for host in net.topology.hosts]
    job = Job(workers, rounds=3, elements=362 * 50, lose=0.02, duplicate=0.02)
    try:
        job.finish()
    finally:
        job.close()
    shown = net.router.json("show", "aggregation")["groups"]["job1"]
    assert shown["chunks"] == 150

    def told():
        found = samples(scrape(net).text)
        return found if by_labels(found["pktpit_aggregation_chunks_total"], group="job1") == 150 else None

    found = wait_for(told, "a reading that is younger than the job")  # they are a quarter of a second old at most
    for worker in shown["workers"]:
        labels = {"group": "job1", "worker": worker["address"]}
        assert by_labels(found["pktpit_aggregation_worker_packets_total"], **labels) == worker["packets"] >= 150
        assert by_labels(found["pktpit_aggregation_worker_repeated_total"], **labels) == worker["again"] > 0
        assert by_labels(found["pktpit_aggregation_worker_last_total"], **labels) == worker["last"]
    assert by_labels(found["pktpit_aggregation_worker_last_total"]) == 150
    assert by_labels(found["pktpit_aggregation_answers_total"]) == shown["answered"] > 0
    assert 'group="job1",reason="key"' in found["pktpit_aggregation_drops_total"], "a reason that never came is 0, not absent"


@requirement("latencies of workers are histograms: buckets grow, the last is all, and so is the count")
def test_latencies_are_histograms(net):
    for _ in range(20):
        delivered(net.b, net.a)  # by the split port
    port = net.b.port

    def told():
        found = samples(scrape(net).text)
        return found if by_labels(found["pktpit_port_latency_seconds_count"], port=port) >= 20 else None

    found = wait_for(told, "the worker's packets are counted")
    buckets = [value for labels, value in found["pktpit_port_latency_seconds_bucket"].items() if f'port="{port}"' in labels]
    assert buckets == sorted(buckets) and buckets[-1] == by_labels(found["pktpit_port_latency_seconds_count"], port=port)
    assert 0 < by_labels(found["pktpit_port_latency_seconds_sum"], port=port) < 10


@requirement("each metric that is exported is documented, and each that is documented is exported")
def test_metrics_are_documented(net):
    page = (ROOT / "docs" / "metrics.md").read_text()
    families = set(re.findall(r"^# TYPE (\S+)", scrape(net).text, re.M))
    documented = set(re.findall(r"^\| `((?:pktpit|process)_[a-z0-9_]+)", page, re.M))
    assert documented - families == {"pktpit_nic_statistic", "pktpit_route_packets_total", "pktpit_route_bytes_total"}
    assert families <= documented, families - documented


MINUTES = 30  # of virtual time, longer than each alert's `for` and its window


def always(value):
    return f"{value:f}+0x{MINUTES}"


def grows(each_minute):
    return f"0+{each_minute}x{MINUTES}"


ONCE_LATE = "0+0x25 1+0x3"
# What a router is like when the alert is to fire, for one thing that it names: {(metric, labels): value by the minute}.
ALERTS = {
    "PktpitDown": {("up", ""): always(0)},
    "PktpitRestarted": {("process_start_time_seconds", ""): "1+0x24 2 3 4 4"},
    "PktpitPortDown": {("pktpit_port_up", 'port="p3"'): always(0)},
    "PktpitDrops": {("pktpit_port_receive_packets_total", 'port="p1"'): grows(6000),
                    ("pktpit_port_verdicts_total", 'port="p1",verdict="drop_blackhole"'): grows(120)},
    "PktpitFibAlmostFull": {("pktpit_fib_used", 'part="buckets"'): always(0.95),
                            ("pktpit_fib_capacity", 'part="buckets"'): always(1)},
    "PktpitFibMemoryAlmostFull": {("pktpit_fib_table_used_bytes", ""): always(0.95),
                                  ("pktpit_fib_table_capacity_bytes", ""): always(1)},
    "PktpitReloadRefused": {("pktpit_config_last_reload_successful", ""): always(0)},
    "PktpitNetlinkDrops": {("pktpit_netlink_drops_total", ""): ONCE_LATE},
    "PktpitKernelRoutesIncomplete": {("pktpit_kernel_routes_complete", ""): always(0)},
    "PktpitFpmDisconnected": {("pktpit_fpm_connected", ""): always(0)},
    "PktpitWorkerStandsStill": {("pktpit_port_stand_ins_total", 'port="p2"'): ONCE_LATE},
    "PktpitLoopSlow": {("pktpit_loop_turn_seconds_sum", ""): grows(54)},
    "PktpitSlotsLost": {("pktpit_worker_slots", 'worker="0",state="lost"'): always(1)},
}
# The same below each threshold.
HEALTHY = {
    ("process_start_time_seconds", ""): "1+0x24 2 3 3 3",
    ("pktpit_port_receive_packets_total", 'port="p1"'): grows(6000),
    ("pktpit_port_verdicts_total", 'port="p1",verdict="drop_blackhole"'): grows(30),
    ("pktpit_fib_used", 'part="buckets"'): always(0.85), ("pktpit_fib_capacity", 'part="buckets"'): always(1),
    ("pktpit_fib_table_used_bytes", ""): always(0.85), ("pktpit_fib_table_capacity_bytes", ""): always(1),
    ("pktpit_loop_turn_seconds_sum", ""): grows(42),
    ("pktpit_fpm_connected", ""): always(1),  # nobody is here
}


@requirement("each alert fires for a router that is as it says, after its time, and for no healthy one: promtool moves the clock; "
             "the router's metrics and labels are those that it exports")
def test_alerts(net, tmp_path):
    exported = {"up": {"": 1.0}, **samples(scrape(net).text)}

    def series_of(state):
        values = {(name, labels): always(value) for name, each in exported.items() for labels, value in each.items()}
        for (name, labels), value in (HEALTHY | state).items():
            [key] = [(name, one) for one in exported[name] if set(labels.split(",")) - {""} <= set(one.split(","))]
            values[key] = value
        # Prometheus keeps `instance` for its own label.
        return [{"series": re.sub(r"\binstance=", "exported_instance=", f"{name}{{{labels and labels + ','}job=\"pktpit\"")
                 + ',instance="router"}', "values": value} for (name, labels), value in values.items()]

    def fires(state, alerts):
        firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
        return {"interval": "1m", "input_series": series_of(state), "promql_expr_test": [
            {"expr": firing, "eval_time": f"{MINUTES - 2}m",
             "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in alerts]}]}

    tests = [fires({}, []), *(fires(state, [alert]) for alert, state in ALERTS.items())]
    (tmp_path / "alerts.test.yml").write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    checked = run("promtool", "test", "rules", tmp_path / "alerts.test.yml", check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert set(re.findall(r"- alert: (\w+)", RULES.read_text())) == set(ALERTS)
    run("promtool", "check", "config", "--syntax-only", RULES.parent / "prometheus.yml")


@pytest.fixture
def prometheus(net, tmp_path):
    """Debian's Prometheus in the router's namespace, asking every second."""
    (tmp_path / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{RULES}]
scrape_configs:
  - job_name: pktpit
    static_configs: [{{targets: ["127.0.0.1:{PORT}"]}}]
""")
    namespace = net.topology.router_namespace
    with open(tmp_path / "log", "wb") as log:
        process = namespace.start("prometheus", f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data",
                                  "--web.listen-address=127.0.0.1:9090", stdout=log, stderr=subprocess.STDOUT)

    def ask_prometheus(path):
        reply = request(namespace, "127.0.0.1", 9090, "/api/v1/" + path, Connection="close")
        assert reply.status == 200, f"{path}: {reply.text}"
        return reply.json["data"]

    try:
        wait_for(lambda: request(namespace, "127.0.0.1", 9090, "/-/ready", Connection="close").status == 200, "Prometheus is ready", interval=0.2)
        yield ask_prometheus
    finally:
        end(process)


def answer_to(prometheus, expression):
    """The samples that are numbers: a ratio of nothing is none."""
    return [one["metric"] for one in prometheus(f"query?query={quote(expression)}")["result"] if one["value"][1] != "NaN"]


@requirement("Prometheus itself scrapes it, and has an answer to each query of the dashboard, with the labels of its legend")
def test_prometheus_answers_the_dashboard(net, prometheus):
    dashboard = json.loads(DASHBOARD.read_text())
    wanted = [(target["expr"], set(re.findall(r"{{(\w+)}}", target["legendFormat"])))
              for panel in dashboard["panels"] for target in panel.get("targets", ())]
    wanted += [(found[1], {found[2]}) for variable in dashboard["templating"]["list"] if variable["type"] == "query"
               for found in [re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])]]
    assert len(wanted) > 25 and ("pktpit_build_info", {"instance"}) in wanted

    def answer(expression):
        """Of what is asked about, there is some all the while: packets that pass, are dropped, and need the daemon."""
        net.a.send(udp4(net.a, net.b), udp4(net.a, net.b, dst="203.0.113.1"), udp4(net.a, net.b, ttl=1))
        net.b.send(udp4(net.b, net.a))
        return answer_to(prometheus, expression)

    for expression, labels in wanted:
        asked = expression.replace("$__rate_interval", "30s").replace("$instance", ".*").replace("$port", ".*")
        answered = wait_for(lambda: answer(asked), f"an answer to {asked}", interval=0.2)
        assert all(labels <= metric.keys() for metric in answered), (asked, labels, answered)


@requirement("Prometheus evaluates each alert: none is active for a healthy router; a port that is down, a reload that is refused, drops "
             "and a zebra that has gone make theirs active, and what is mended ends them")
def test_prometheus_alerts(net, prometheus):
    def rules():
        [group_of_rules] = prometheus("rules")["groups"]
        return {rule["name"]: rule for rule in group_of_rules["rules"]}

    def active():
        return {name for name, rule in rules().items() if rule["state"] != "inactive"}

    def zebra():
        return connect(net.topology.router_namespace, "127.0.0.1", 2620)

    with zebra():
        wait_for(lambda: answer_to(prometheus, 'up{job="pktpit"} == 1'), "up is 1", interval=0.2)
        before = rules()
        assert before.keys() == ALERTS.keys()

        def healthy():
            now = rules()
            return not active() and all(rule["health"] == "ok" and rule["lastEvaluation"] != before[name]["lastEvaluation"]
                                        for name, rule in now.items())
        wait_for(healthy, f"all are evaluated, and none is active: {rules()}", interval=0.2)
    namespace = net.c.namespace
    namespace.ip("link", "set", "eth0", "down")
    assert net.router.apply({**net.router.config, "routes": "none"}, check=False).returncode == 1

    def all_active():
        net.a.send(*[udp4(net.a, net.b, dst="203.0.113.1")] * 20)
        return active() >= {"PktpitPortDown", "PktpitReloadRefused", "PktpitDrops", "PktpitFpmDisconnected"}

    try:
        wait_for(all_active, "the alerts are active", interval=0.2)
    finally:
        namespace.ip("link", "set", "eth0", "up")
        net.router.apply()
    with zebra():
        wait_for(lambda: not active() & {"PktpitPortDown", "PktpitReloadRefused", "PktpitFpmDisconnected"}, "they are no longer active", interval=0.2)


@requirement("100 clients that ask and never read, and 100 that say nothing: nothing is lost, the API answers, and Prometheus again soon")
@pytest.mark.parametrize("said", [b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", b"", b"GET /metrics HTTP/1.1\r\nHo"])
def test_clients_that_never_read(net, stream, said):
    running = stream(net.a, net.c)
    with contextlib.ExitStack() as held:
        def come(count):
            clients = [held.enter_context(connect(net.topology.router_namespace, "127.0.0.1", PORT)) for _ in range(count)]
            for client in clients:
                client.sendall(said)
            return clients

        assert_answered_first(net.router, lambda: come(16))  # as many as one address may hold
        come(84)
        net.router.cli("show", "version")
        running.flows_again()

        def answered():
            with contextlib.suppress(OSError, AssertionError, IndexError):
                return scrape(net).status == 200
        wait_for(answered, "a client that reads is answered beside them", interval=0.2)
    assert_nothing_lost(running.finish())


@requirement("only GET of /metrics is there, for a request that is for this machine")
def test_nothing_else_is_there(net):
    namespace = net.topology.router_namespace
    before = net.router.json("show", "version")["generation"]
    ask_port = lambda *words, **more: request(namespace, "127.0.0.1", PORT, *words, **more)  # noqa: E731
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert ask_port("/metrics", method=method, body=b"{}").status == 405, method
    for path in ("/", "/v1/version", "/v1/routes", "/v1/config", "/v1/reload", "/metrics/../v1/config"):
        assert ask_port(path).status == 404, path
    assert ask_port("/v1/reload", method="POST", body=b"{}").status == 405
    for host in ("localhost", "LOCALHOST:9100", "127.0.0.1", "192.0.2.1:80", "[::1]:9100"):
        assert scrape(net, Host=host).status == 200, host
    for host in ("evil.example", "evil.example:9100", "127.0.0.1.evil.example", "localhost.evil.example", "[::1", "127.0.0.1:x", ""):
        assert scrape(net, Host=host).status == 421, host
    assert scrape(net, Host=None).status in (400, 421)
    assert scrape(net).headers["content-type"].startswith("text/plain; version=0.0.4")
    assert net.router.json("show", "version")["generation"] == before


@requirement("who is not in /metrics/from is refused; a name of /metrics/hosts is known; a reload changes both, and ends it")
def test_who_may_ask(build_net):
    net = build_net(count=2, config={"metrics": {"listen": f"0.0.0.0:{PORT}", "from": ["192.0.2.99/32"]}})
    ask_from_a = lambda **more: request(net.a.namespace, net.a.router_ip4, PORT, "/metrics", **more)  # noqa: E731
    assert ask_from_a().status == 403
    net.router.config["metrics"] = {"listen": f"0.0.0.0:{PORT}", "from": [f"{net.a.ip4}/32"], "hosts": ["router.example.net"]}
    net.router.apply()
    wait_for(lambda: ask_from_a().status == 200, "a may ask")
    assert ask_from_a(Host="Router.example.net:9100").status == 200
    assert ask_from_a(Host="other.example.net").status == 421
    assert request(net.b.namespace, net.b.router_ip4, PORT, "/metrics").status == 403
    del net.router.config["metrics"]
    net.router.apply()

    def closed():
        try:
            ask_from_a()
        except ConnectionRefusedError:
            return True
    wait_for(closed, "the port is closed")


@requirement("a port that somebody has: the reload is refused, says where and what, and changes nothing; at the start, too")
def test_a_port_that_is_taken(build_net):
    import socket

    net = build_net(count=2)
    with net.topology.router_namespace.entered():
        taken = socket.create_server(("127.0.0.1", PORT))
    with taken:
        net.router.config.update(METRICS)
        refused = net.router.apply(check=False)
        assert refused.returncode != 0 and "/metrics/listen" in refused.stderr and "ss -lntp" in refused.stderr, refused.stderr
        dry = net.router.reload("--dry-run", check=False)
        assert dry.returncode != 0 and "/metrics/listen" in dry.stderr
        assert net.router.json("show", "version")["generation"] == 1 and "metrics" not in net.router.json("show", "config")
        told = samples(ask(net.router.socket, "/metrics").decode())
        assert told["pktpit_config_last_reload_successful"][""] == 0 and told["pktpit_config_reloads_total"]['result="refused"'] == 1
        net.router.kill()
        net.router.launch()
        assert net.router.process.wait(DEADLINE) == 1
        assert "/metrics/listen" in net.router.log()
    net.router.start()
    assert scrape(net).status == 200
