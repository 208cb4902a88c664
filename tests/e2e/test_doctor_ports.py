# SPDX-License-Identifier: BSD-3-Clause
"""`pktpit doctor FILE` and `pktpit check FILE` about ports that are Linux devices: what of this machine stands in their way."""

import json

import pytest
from lib.pktpit_router import TOOL

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux has no doctor"), pytest.mark.xdp("ports that are Linux devices")]


def asked(net, *words):
    """Exit status, and what it says as JSON; no daemon runs."""
    done = net.router.namespace.run(TOOL, *words, net.router.file, "--json", check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def of_ports(report):
    """The findings but those about the kernel, which test_kernel_support.py holds against what it has."""
    return [finding for finding in report["findings"] if finding["where"] != "kernel"]


def codes(report):
    return {(finding["code"], finding["where"]) for finding in of_ports(report)}


def exit_status(report):
    severities = {finding["severity"] for finding in report["findings"]}
    return 2 if "blocker" in severities else 1 if "hindrance" in severities else 0


@requirement("the doctor says which ports no redirect reaches, why, and what to do")
def test_no_redirects(build_net):
    net = build_net(start=False)
    status, report = asked(net, "doctor")
    assert (status, of_ports(report)) == (exit_status(report), [])
    told = {part["name"]: part["here"] for part in report["kernel"]["parts"]}["redirect_targets"]
    assert report["ports"] == [{"name": name, "there": True, "takes_redirects": told or None} for name in ("p1", "p2", "p3")]
    if not told:
        assert status == 1 and "redirects_unknown" in {finding["code"] for finding in report["findings"]}
        pytest.skip("the rest needs a kernel that says which devices take redirects (Linux 6.3)")
    net.b.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    status, report = asked(net, "doctor")
    assert status == 1 and codes(report) == {("no_redirects", "p2")}
    assert "ethtool -K DEVICE gro on" in of_ports(report)[0]["what"]
    assert [port["takes_redirects"] for port in report["ports"]] == [True, False, True]
    told = net.router.namespace.run(TOOL, "doctor", net.router.file, check=False)
    assert told.returncode == 1 and "hindrance: p2: its device takes no redirected frames" in told.stdout


@requirement("the doctor says which port is refused: a device that is not there, generic mode where VLAN tags are hidden")
def test_ports_that_cannot_work(build_net):
    net = build_net(start=False)
    net.router.config["interfaces"]["p1"]["xdp_mode"] = "generic"
    net.router.config["interfaces"]["nowhere"] = {"addresses": ["10.99.0.1/24"]}
    net.router.write()
    status, report = asked(net, "doctor")
    assert status == 2 and codes(report) == {("hidden_vlan_tags", "p1"), ("no_device", "nowhere")}
    del net.router.config["interfaces"]["nowhere"]
    net.router.config["interfaces"]["p1"]["generic_vlan"] = "accept"
    net.router.write()
    status, report = asked(net, "doctor")
    assert status == 1 and codes(report) == {("hidden_vlan_tags", "p1")}


@requirement("where Linux is to forward without a daemon, doctor and check say that its forwarding is off")
def test_kernel_forwarding(build_net):
    net = build_net(start=False, config={"heartbeat": {"on_daemon_loss": "kernel"}})
    router = net.topology.router_namespace

    def switched(ipv4, ipv6):
        router.sysctl({"net/ipv4/ip_forward": ipv4, "net/ipv6/conf/all/forwarding": ipv6})
        _, doctor = asked(net, "doctor")
        status, check = asked(net, "check")
        assert status == 0, "it is only a warning"
        said = [finding["what"] for finding in doctor["findings"] if finding["code"] == "kernel_forwarding_off"]
        warned = [warning["message"] for warning in check["warnings"] if warning["where"] == "/heartbeat/on_daemon_loss"]
        assert said == warned
        return [what.split(" is 0")[0] for what in said]

    assert switched(0, 0) == ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"]
    assert switched(1, 0) == ["net/ipv6/conf/all/forwarding"]
    assert switched(1, 1) == []
    net.router.config["heartbeat"] = {}
    net.router.write()
    assert switched(0, 0) == []
