# SPDX-License-Identifier: BSD-3-Clause
"""What `pktpit show routes` and its like cost with PKTPIT_ROUTES (200,000) generated routes, of which the Internet has six
times as many. Figures are printed with `pytest -s`."""

import json
import os
import subprocess
import time

import pytest
from lib.asking import Asking, ask, ask_json
from lib.pktpit_router import TOOL
from lib.session import folder

requirement = pytest.mark.requirement
ROUTES = int(os.environ.get("PKTPIT_ROUTES", 200_000))
pytestmark = [pytest.mark.pktpit("about the daemon's API"), pytest.mark.xdp("the control plane's matter: once is enough")]


def configure(topology):
    def table(family, count):
        path = folder() / f"show-routes-ipv{family}.txt"
        with path.open("w") as file:
            subprocess.run([TOOL, "table", "generate", f"-{family}", "--count", str(count)], stdout=file, check=True)
        return str(path)

    return {"routes_files": [{"path": table(4, ROUTES), "next_hops": {"*": topology.b.ip4}},
                             {"path": table(6, ROUTES // 4), "next_hops": {"*": topology.b.ip6}}]}


NET = {"configure": configure}


def resident(net, what="VmRSS"):
    with open(f"/proc/{net.router.process.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what + ":")) / 1024


def show_all(net, file):
    subprocess.run([TOOL, "--socket", net.router.socket, "show", "routes", "--json"], stdout=file, check=True)


@pytest.mark.not_sanitized("AddressSanitizer keeps memory that was given back, to find who uses it")
@requirement("a whole table is shown from one cursor: each route once, in order; the API answers meanwhile, and the daemon is no larger afterwards")
def test_all_routes(net, tmp_path):
    before = resident(net)
    shown = tmp_path / "routes.json"
    with Asking(net.router.socket) as asking, shown.open("w") as file:
        show_all(net, file)
    after = resident(net)
    answer = json.loads(shown.read_text())
    routes = answer["routes"]
    print(f"\n{len(routes)} routes; RSS {before:.0f} → {after:.0f} MiB, most {resident(net, 'VmHWM'):.0f}")
    assert answer["total"] == len(routes) and answer["next"] is None
    assert len({(route["prefix"], route["source"]) for route in routes}) == len(routes) > ROUTES
    assert after < before + 16, f"{before:.0f} MiB before, {after:.0f} MiB after"
    assert asking.seconds and not asking.failed, asking.failed[:3]


@requirement("while a whole table is shown no answer waits for it")
@pytest.mark.measure("the time that answers take, beside those of an idle daemon")
def test_answers_while_all_routes_are_shown(net, tmp_path):
    with Asking(net.router.socket) as idle:
        time.sleep(2)
    with Asking(net.router.socket) as asking, open("/dev/null", "w") as nowhere:
        began = time.monotonic()
        show_all(net, nowhere)
        took = time.monotonic() - began
    print(f"\nall routes in {took:.2f} s; idle: {idle}; meanwhile: {asking}")
    assert max(asking.seconds) <= max(0.1, 5 * max(idle.seconds))


@pytest.mark.not_sanitized("AddressSanitizer keeps memory that was given back, to find who uses it")
@requirement("large pages cost no memory that stays, either; pages and the whole agree")
def test_pages(net):
    before = resident(net)
    after, paged, slowest = "", [], 0.0
    for _ in range(20):
        began = time.monotonic()
        page = ask_json(net.router.socket, f"/v1/routes?family=4&limit=50000{after}")
        slowest = max(slowest, time.monotonic() - began)
        paged += page["routes"]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    whole = [json.loads(line) for line in ask(net.router.socket, f"/v1/routes/all?family=4&limit={len(paged)}").splitlines()
             if line.startswith(b'{"best')]
    assert [route["prefix"] for route in paged] == [route["prefix"] for route in whole][:len(paged)]
    print(f"\npages of 50,000 routes: {slowest:.3f} s the slowest; RSS {before:.0f} → {resident(net):.0f} MiB")
    assert resident(net) < before + 64


@requirement("`show routes summary` and `show next-hop-groups` count all of them, and say so for people, too")
def test_summary_and_groups(net):
    began = time.monotonic()
    summary = net.router.json("show", "routes", "summary")
    took = time.monotonic() - began
    total = ask_json(net.router.socket, "/v1/routes?limit=1")["total"]
    four, six = summary["ipv4"], summary["ipv6"]
    assert sum(source["routes"] for family in (four, six) for source in family["sources"].values()) == total
    for family in (four, six):
        assert family["installed"] + family["unusable"] + family["refused"] == family["prefixes"]
        assert sum(length["prefixes"] for length in family["lengths"]) == family["prefixes"]
    began = time.monotonic()
    groups = net.router.json("show", "next-hop-groups")["groups"]
    print(f"\n{total} routes; summary {took:.2f} s, next-hop groups {time.monotonic() - began:.2f} s")
    of_b = [group for group in groups if any(hop["via"] == net.b.ip4 for hop in group["next_hops"])]
    best = sum(source["best"] for family in (four, six) for source in family["sources"].values())
    assert sum(group["prefixes"] for group in groups) == best and sum(group["prefixes"] for group in of_b) >= four["sources"]["config"]["best"] - 2
    assert of_b[0]["next_hops"][0]["forwards"] and of_b[0]["now"][0]["via"] == net.b.ip4
    assert f"IPv4: {four['prefixes']} prefixes, {four['installed']} installed" in net.router.cli("show", "routes", "summary").stdout
    assert net.b.ip4 in net.router.cli("show", "next-hop-groups").stdout
