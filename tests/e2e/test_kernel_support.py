# SPDX-License-Identifier: BSD-3-Clause
"""What the doctor, a daemon's start and `show version` say of the kernel: all three the same, on any kernel."""

import json
import os
import shutil

import pytest
from lib.namespaces import run
from lib.pktpit_router import DAEMON, TOOL

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("Linux has no doctor"), pytest.mark.xdp("it is about this dataplane")]

# The port that misses one of them says so.
TOLD_BY_PORTS = {"vlan_tags", "stack_redirects"}
ANYBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all", "--")
RIGHTS = "-all,+bpf,+net_admin,+net_raw,+perfmon"
UNIT = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps={RIGHTS}", f"--ambient-caps={RIGHTS}",
        f"--bounding-set={RIGHTS}", "--no-new-privs", "--")


def doctor(net, *before):
    """Exit status, what it says as JSON, and its parts by name; of the configuration, run through the words `before`."""
    done = net.topology.router_namespace.run(*before, net.tool, "doctor", net.router.file, "--json", check=False)
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    return done.returncode, said, {part["name"]: part for part in said["kernel"]["parts"]}


def codes(said):
    return {finding["code"] for finding in said["findings"]}


@pytest.fixture
def net(build_net):
    net = build_net(start=False)
    net.router.move_into_the_open()
    net.router.file.chmod(0o644)
    net.tool = shutil.copy(TOOL, net.router.directory / "pktpit")
    return net


@requirement("of a kernel that pktpitd starts on the doctor misses no need; the findings are what is missing")
@pytest.mark.parametrize("rights", [(), UNIT], ids=["root", "unit"])
def test_doctor(net, rights):
    status, said, parts = doctor(net, *rights)
    assert said["kernel"]["release"] == os.uname().release
    assert {name: part["here"] for name, part in parts.items() if part["needed"]} == \
        {name: True for name, part in parts.items() if part["needed"]}
    missing = {name for name, part in parts.items() if part["here"] is False and part["for"] == "all"}
    assert codes(said) == {"redirects_unknown" if name == "redirect_targets" else f"no_{name}" for name in missing}
    hindered = missing & {"redirect_targets", "jit", "jit_unhardened"}
    assert status == (1 if hindered else 0)
    text = net.topology.router_namespace.run(net.tool, "doctor", net.router.file, check=False).stdout
    assert text.startswith(f"LINUX {os.uname().release} ") and "\nxdp_frags " in text


@requirement("an ordinary user is told what is not known to him, and nothing that is not so")
def test_without_rights(net):
    _, _, known = doctor(net)
    status, said, parts = doctor(net, *ANYBODY)
    for name, part in parts.items():
        assert part["here"] in (None, known[name]["here"]), name
        assert part["here"] is not None or part["detail"], name
    assert parts["capabilities"]["here"] is None
    (note,) = [finding for finding in said["findings"] if finding["code"] == "kernel_unknown"]
    assert note["severity"] == "note" and "CAP_BPF" in note["what"]
    assert status < 2
    whole = net.topology.router_namespace.run(*ANYBODY, net.tool, "doctor", "--json", check=False)
    assert json.loads(whole.stdout)["kernel"]["release"] == os.uname().release


@requirement("with the unit's rights nothing but what the kernel keeps from it is unknown, in the machine's own namespace, too")
def test_with_the_units_rights(net):
    done = run(*UNIT, net.tool, "doctor", "--json", check=False)
    assert done.stdout, done.stderr
    parts = {part["name"]: part for part in json.loads(done.stdout)["kernel"]["parts"]}
    unknown = {name for name, part in parts.items() if part["here"] is None}
    # The kernel lets nobody but root read net.core.bpf_jit_harden; there may be no device to try the tags with.
    assert unknown <= {"jit_unhardened", "vlan_tags", "locked_memory", "vlan_devices", "vrf_devices"}


@requirement("a need that is missing: the doctor says so with the exit status 2, and a start is refused in its words")
def test_missing_need(net):
    hidden = ("unshare", "--mount", "sh", "-c", 'umount /sys/fs/bpf && exec "$@"', "sh")
    status, said, parts = doctor(net, *hidden)
    assert status == 2 and parts["bpffs"]["here"] is False
    (finding,) = [finding for finding in said["findings"] if finding["severity"] == "blocker"]
    assert finding["code"] == "no_bpffs" and "mount -t bpf bpf /sys/fs/bpf" in finding["remedy"]
    assert said["summary"] == "no port can work on this kernel"
    refused = net.topology.router_namespace.run(*hidden, DAEMON, "--config", net.router.file, check=False,
                                                env={**os.environ, "RUNTIME_DIRECTORY": str(net.router.run_folder)})
    assert refused.returncode == 1 and f"Linux {os.uname().release} lacks a BPF file system at /sys/fs/bpf" in refused.stderr


@requirement("a daemon says what it does without: `show version` all of it, its log each thing once that no port tells of")
def test_daemon(net):
    net.start()
    _, _, parts = doctor(net)
    missing = {name: part for name, part in parts.items() if part["here"] is False and part["for"] == "all"}
    kernel = net.router.json("show", "version")["kernel"]
    assert kernel["release"] == os.uname().release
    assert {one["name"]: one for one in kernel["fallbacks"]} == \
        {name: {key: part[key] for key in ("name", "what", "since", "instead")} for name, part in missing.items()}
    text = net.router.cli("show", "version").stdout
    assert f"\nLinux {os.uname().release}\n" in text
    for part in missing.values():
        assert f"  no {part['what']}" in text
    lines = [line for line in net.router.log().splitlines() if f"Linux {os.uname().release} has no " in line]
    assert len(lines) == len(missing.keys() - TOLD_BY_PORTS)
    for name in missing.keys() - TOLD_BY_PORTS:
        assert sum(missing[name]["what"] in line for line in lines) == 1


@requirement("a configuration with VRFs and split ports asks for more")
def test_asked_for_by_the_configuration(net):
    _, said, parts = doctor(net)
    assert not codes(said) & {"no_vrf_devices", "no_vlan_devices", "no_transmit_budget"}
    net.router.config["vrfs"] = {"red": {"table": 100}}
    net.router.set_forwarding("split")
    net.router.write()
    _, said, parts = doctor(net)
    for name in ("vrf_devices", "transmit_budget"):
        assert (f"no_{name}" in codes(said)) == (parts[name]["here"] is False)
