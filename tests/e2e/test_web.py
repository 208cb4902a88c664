# SPDX-License-Identifier: BSD-3-Clause
"""The page to look at, in a real browser: what it shows is what the daemon says, at every width; and what its port refuses."""

import collections
import contextlib
import json
import os
import re
import threading
import time
from pathlib import Path

import pytest
from lib.browser import Browser
from lib.packets import token, udp4
from lib.pktpit_router import BUILD
from lib.stream import assert_nothing_lost
from lib.waiting import wait_for
from lib.web import assert_answered_first, connect, request as ask

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("the page is Pktpit's"), pytest.mark.xdp("one port of each kind; what it shows is the same"),
              pytest.mark.says_who_decides("one port of each kind, in each run")]

PORT = 8080
# Kept as the tests' output.
SCREENSHOTS = Path(os.environ.get("PKTPIT_SCREENSHOTS", BUILD / "tests" / "screenshots"))


def of_each_kind(topology):
    interfaces = topology.config()["interfaces"]
    interfaces[topology.b.port]["forwarding"] = "split"
    interfaces[topology.c.port]["forwarding"] = "auto"
    many = [{"prefix": f"172.{16 + i}.{j}.0/24", "via": topology.b.ip4} for i in range(2) for j in range(100)]
    return {"web": {"listen": f"127.0.0.1:{PORT}"}, "interfaces": interfaces, "routes": many + [
        {"prefix": "203.0.113.0/24", "next_hops": [{"via": topology.b.ip4, "weight": 2}, {"via": topology.c.ip4}]},
        {"prefix": "10.99.0.0/16", "type": "blackhole"}]}


NET = {"configure": of_each_kind}


@pytest.fixture(scope="module")
def browser(net, tmp_path_factory):
    browser = Browser(net.topology.router_namespace, tmp_path_factory.mktemp("chromium"))
    yield browser
    browser.close()


@pytest.fixture
def page(browser):
    """The page, loaded anew and live. Whatever it complained of fails the test."""
    browser.complaints.clear()
    browser.asked.clear()
    browser.look_like(1280)
    browser.go("about:blank")
    browser.go(f"http://127.0.0.1:{PORT}/")
    wait_for(lambda: browser.text("#live-text") == "live", f"the page is live; it says {browser.complaints}")
    yield browser
    assert not browser.complaints, browser.complaints
    assert all(url.startswith((f"http://127.0.0.1:{PORT}/", "about:")) for url in browser.asked), set(browser.asked)


def get(net, path, **more):
    return ask(net.topology.router_namespace, "127.0.0.1", PORT, path, **more)


@requirement("ports with their rates and a minute's curve, verdicts with what each means, FIB memory, shares of split and auto, events")
def test_it_shows_what_the_daemon_says(net, page, stream):
    running = stream(net.a, net.b, rate=2000)
    back = stream(net.c, net.a, rate=500)
    net.a.send(udp4(net.a, net.b, token(), dst="10.99.0.1"))
    for host in net.hosts:
        wait_for(lambda: f"{host.port}" in page.text("#ports"), "each port is there")
    wait_for(lambda: re.search(r"[1-9][\d.]* k?pps", page.text("#total-rx")), "a rate")
    wait_for(lambda: "drop_blackhole" in page.text("#verdicts"), "a drop has its row")
    shown = page.text("#verdicts")
    assert "forwarded" in shown
    assert "rewritten and redirected to the egress port" in shown and "a `blackhole` route matches" in shown
    curves = lambda: page.js("[...document.querySelectorAll('.chart .rx')].map((path) => path.getAttribute('d').split('L').length)")  # noqa: E731
    wait_for(lambda: curves() and max(curves()) > 5, f"curves grow: {curves()}")
    labels = page.js("[...document.querySelectorAll('.chart')].map((chart) => chart.getAttribute('aria-label'))")
    assert any("bit/s received" in label and net.a.port in label for label in labels), labels
    assert "next-hop groups" in page.text("#fib") and "table memory" in page.text("#fib") and "MiB" in page.text("#fib")
    wait_for(lambda: re.search(rf"{net.a.port} \(inline\)\s+100\.0 % port stage", page.text("#shares")), f"shares: {page.text('#shares')}")
    for host, kind in ((net.a, "inline"), (net.b, "split"), (net.c, "auto")):
        assert f"{host.port} ({kind})" in page.text("#shares")
    net.c.namespace.ip("link", "set", "eth0", "down")
    try:
        wait_for(lambda: f"{net.c.port}: down" in page.text("#events"), "an event of the link")
        wait_for(lambda: "down" in page.text("#ports"), "the port is shown as down")
    finally:
        net.c.namespace.ip("link", "set", "eth0", "up")
    wait_for(lambda: "down" not in page.text("#ports"), "the port is up")
    running.finish()
    back.finish()


@requirement("the path of a packet to an address that is typed in, in the words of `pktpit show route`")
def test_the_path_of_a_packet(net, page):
    page.type("#path-address", "203.0.113.7")
    wait_for(lambda: "203.0.113.0/24" in page.text("#path"), "the path is shown")
    shown = page.text("#path")
    said = net.router.cli("show", "route", "203.0.113.7").stdout
    found = re.findall(r"via \S+ dev \S+ weight \d|port \S+, MTU \d+|\S+ → \S+|\d+, 2 next hops", said)
    assert len(found) >= 5, said
    for words in found:
        assert words in shown, f"{words!r} is not in {shown!r}"
    for label in ("address", "prefix", "verdict", "group", "kind", "egress", "ethernet"):
        assert label in shown.lower(), label
    assert page.js("location.hash") == "#to=203.0.113.7"
    page.type("#path-address", "10.99.1.1")
    wait_for(lambda: "drop_blackhole" in page.text("#path"), "a blackhole")
    page.type("#path-address", "192.88.99.1")
    wait_for(lambda: "none: no route" in page.text("#path"), "no route")
    page.type("#path-address", "not an <b>address</b>")
    wait_for(lambda: "expected" in page.text("#path"), "what was expected instead")
    assert page.js("document.querySelectorAll('#path b').length") == 0
    page.complaints[:] = [one for one in page.complaints if "status of 400" not in one]  # the browser notes the refusal


@requirement("routes are searched by prefix, in pages, and by address")
def test_routes_are_searched(net, page):
    page.type("#routes-within", "172.16.0.0/15")
    wait_for(lambda: "200 routes" in page.text("#routes"), "200 routes")
    rows = lambda: page.js("[...document.querySelectorAll('#routes tbody tr td:first-child')].map((cell) => cell.innerText)")  # noqa: E731
    first = rows()
    assert len(first) == 50 and first[0] == "172.16.0.0/24"
    page.js("document.querySelector('#routes button').click()")
    wait_for(lambda: rows() and rows()[0] != first[0], "the next page")
    assert rows()[0] == "172.16.50.0/24"
    page.type("#routes-within", "203.0.113.9")
    wait_for(lambda: rows() == ["203.0.113.0/24"], "those of an address")


def overflowing(page):
    return page.js("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")


@requirement("it is whole on a phone and on a wide screen, light and dark; screenshots are kept")
@pytest.mark.parametrize("name, how", [("wide", {"width": 1280}), ("phone", {"width": 390, "height": 844, "phone": True}),
                                       ("wide-dark", {"width": 1280, "dark": True}),
                                       ("phone-dark", {"width": 390, "height": 844, "phone": True, "dark": True})])
def test_screenshots(net, page, stream, name, how):
    page.look_like(**how)
    streams = [stream(net.a, net.b, rate=3000), stream(net.c, net.a, rate=800), stream(net.b, net.c, rate=1500)]
    page.type("#path-address", "203.0.113.7")
    page.type("#routes-within", "203.0.112.0/20")
    points = "Math.max(0, ...[...document.querySelectorAll('.chart .rx')].map((path) => path.getAttribute('d').split('L').length))"
    wait_for(lambda: page.js(points) > 8, "a curve")
    assert not overflowing(page), "nothing is wider than the screen"
    page.js("scrollTo(0, 0)")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shot = SCREENSHOTS / f"{name}.png"
    page.screenshot(shot)
    assert shot.read_bytes().startswith(b"\x89PNG") and shot.stat().st_size > 20_000
    for running in streams:
        running.finish()


@requirement("who cannot see or has no mouse: names, headings, labels, focus in order, live regions; contrasts of 4.5 to 1")
@pytest.mark.parametrize("dark", [False, True])
def test_it_is_accessible(net, page, dark):
    page.look_like(1280, dark=dark)
    tree = page.call("Accessibility.getFullAXTree")["nodes"]
    role = lambda node: node.get("role", {}).get("value")  # noqa: E731
    named = [node for node in tree if not node.get("ignored") and
             role(node) in ("textbox", "searchbox", "button", "combobox", "image", "region", "table")]
    assert len(named) >= 10
    for node in named:
        assert node.get("name", {}).get("value"), f"a {role(node)} without a name: {node}"
    headings = page.js("[...document.querySelectorAll('h1,h2,h3')].map((one) => one.tagName)")
    assert headings.count("H1") == 1 and headings.count("H2") >= 6
    assert page.js("document.documentElement.lang") == "en" and page.js("!!document.querySelector('main')")
    pale = page.js("""(() => {
      const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
      const rgb = (text) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = text; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data]; };
      const bright = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (node) => { for (; node; node = node.parentElement) { const c = rgb(getComputedStyle(node).backgroundColor); if (c[3] === 255) return c; } return [255, 255, 255]; };
      const found = [];
      for (const node of document.querySelectorAll('body *')) {
        if (![...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim()) || !node.offsetParent || node.closest('.hidden, .skip')) continue;
        const [a, b] = [bright(rgb(getComputedStyle(node).color)), bright(behind(node))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) found.push(`${node.tagName}.${node.className} ${node.textContent.slice(0, 30)}: ${contrast.toFixed(2)}`);
      }
      return found;
    })()""")
    assert not pale, pale


@requirement("the daemon goes and comes back: the page says so, and goes on")
def test_a_restart_is_seen(net, page):
    net.router.kill()
    wait_for(lambda: "no answer since" in page.text("#live-text"), "the page says that nobody answers")
    net.router.start()
    wait_for(lambda: page.text("#live-text") == "live", "it goes on")
    page.complaints[:] = [one for one in page.complaints if "ERR_CONNECTION" not in one and "ERR_EMPTY" not in one]


@requirement("nothing can be changed there: the page and a few of the API's readers, by GET, for this machine; with a strict policy")
def test_its_port_gives_nothing_away(net):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        for path in ("/", "/v1/routes", "/v1/reload", "/v1/lookup"):
            assert get(net, path, method=method, body=b'{"prefix": "192.0.2.0/24", "type": "blackhole"}').status == 405, (method, path)
    for path in ("/v1/config", "/v1/trace", "/v1/capture", "/v1/routes/all", "/v1/reload", "/v1/neighbours", "/metrics", "/../etc/passwd"):
        assert get(net, path).status == 404, path
    assert get(net, "/v1/routes?limit=1000000").status == 400
    for host in ("evil.example", "127.0.0.1.evil.example:8080"):
        for path in ("/", "/v1/routes"):
            assert get(net, path, Host=host).status == 421
    reply = get(net, "/")
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert reply.headers["x-content-type-options"] == "nosniff" and reply.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(r"<script(?![^>]*\bsrc=)|\bstyle=|\bon[a-z]+=|https?://", reply.text), "nothing inline, nothing foreign"
    assert json.loads(get(net, "/v1/verdicts").body)["verdicts"][0]["meaning"]


@requirement("clients that flood, and 16 that say nothing: nothing is lost, the API answers, most are turned away, 50 a second get in")
def test_a_flood(net, stream):
    running = stream(net.a, net.c)
    stopped = threading.Event()
    statuses = collections.Counter()

    def flood():
        while not stopped.is_set():
            with contextlib.suppress(OSError, IndexError):
                statuses[get(net, "/v1/counters", timeout=2).status] += 1

    threads = [threading.Thread(target=flood) for _ in range(12)]
    begin = time.monotonic()
    with contextlib.ExitStack() as held:
        assert_answered_first(net.router, lambda: [held.enter_context(connect(net.topology.router_namespace, "127.0.0.1", PORT))
                                                   for _ in range(16)])
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: statuses[429] >= 100, "100 clients are turned away")
            for _ in range(5):
                net.router.cli("show", "version")
            running.flows_again()
        finally:
            stopped.set()
            for thread in threads:
                thread.join()
    answered, seconds = sum(statuses.values()), time.monotonic() - begin
    assert answered <= 100 + 50 * seconds, f"{statuses} within {seconds:.1f} s"
    assert_nothing_lost(running.finish())
    wait_for(lambda: get(net, "/").status == 200, "afterwards the page is there again")
