# SPDX-License-Identifier: BSD-3-Clause
"""VLAN tags that the device keeps apart from the frame: what a VLAN device or a bridge at the far end of a veth pair
sends comes so, and what a NIC has that strips tags. Made here by a program at the host's end that moves the tag there."""

import json
import struct
import subprocess

import pytest
from lib.kernel_parts import has_part, need_parts
from lib.namespaces import end, run
from lib.packets import ICMP, IP, Raw, counted, counted_silence, fence, token, udp4, udp6, wait_for_crossing
from lib.pktpit_router import FORWARDING, TOOL
from lib.waiting import DEADLINE, wait_for

requirement = pytest.mark.requirement
pytestmark = [pytest.mark.pktpit("this kernel has no VLAN devices"),
              pytest.mark.xdp("a packet socket and a modelled NIC have the tag in the frame")]

# The tag of a frame goes where skb_vlan_push() puts it: into the skb, not into the frame.
PROGRAM = r"""
static long (*const vlan_push)(void *, unsigned short, unsigned short) = (void *)18;
static long (*const load_bytes)(const void *, unsigned, void *, unsigned) = (void *)26;
__attribute__((section("classifier"), used)) int apart(void *skb) {
    unsigned char type[2], tos = 0;
    if (load_bytes(skb, 12, type, 2)) return 0;
    /* IPv4's TOS, behind the inner tag if there is one, says which tag. */
    if (load_bytes(skb, type[0] == 0x81 ? 19 : 15, &tos, 1) || type[0] == 0x86 || tos < 0xc0) return 0;
    vlan_push(skb, tos & 1 ? 0xa888 : 0x0081, tos & 2 ? 666 : tos & 4 ? 0xe000 : tos & 8 ? 1000 : 100);
    return 0;
}
char copying[] __attribute__((section("license"), used)) = "GPL";
"""
VLAN100, VLAN666, PRIORITY, SERVICE100, STACKED = 0xC0, 0xC2, 0xC4, 0xC1, 0xC9


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("apart")
    (folder / "apart.c").write_text(PROGRAM)
    subprocess.run(["clang", "-O2", "-target", "bpf", "-c", "apart.c", "-o", "apart.o"], cwd=folder, check=True)
    return folder / "apart.o"


def vlans(topology, **settings):
    b = topology.b
    interfaces = topology.config()["interfaces"]
    for interface in interfaces.values():
        interface.update(settings)
    return {
        "interfaces": {
            **interfaces,
            "p2.100": {"parent": "p2", "vlan": [100], "addresses": ["10.20.0.1/24", "2001:db8:20::1/64"]},
            "p2.stack": {"parent": "p2", "vlan": [1000, 7], "vlan_protocol": "802.1ad", "addresses": ["10.21.0.1/24"]},
        },
        "neighbours": [{"address": "10.20.0.2", "mac": b.mac, "interface": "p2.100"},
                       {"address": "10.21.0.2", "mac": b.mac, "interface": "p2.stack"}],
        "routes": [{"prefix": "198.51.100.0/24", "next_hops": [{"via": "10.20.0.2"}]},
                   {"prefix": "198.51.101.0/24", "next_hops": [{"via": "10.21.0.2"}]}],
    }


def program_of(router, port):
    link = json.loads(router.namespace.run("ip", "-json", "link", "show", "dev", port).stdout)[0]
    shown = run("bpftool", "--json", "prog", "show", "id", link["xdp"]["prog"]["id"], check=False)
    return json.loads(shown.stdout)["name"] if shown.returncode == 0 else None  # it has just been swapped


def keep_apart(host, program):
    host.namespace.run("tc", "qdisc", "add", "dev", "eth0", "clsact")
    host.namespace.run("tc", "filter", "add", "dev", "eth0", "egress", "bpf", "da", "obj", program, "sec", "classifier")


@pytest.fixture(scope="module")
def apart(request, program):
    need_parts("vlan_tags")
    net = request.getfixturevalue("net")
    keep_apart(net.b, program)
    return net


NET = {"configure": vlans}


@requirement("a frame of a VLAN that is not configured is not forwarded, wherever its tag is")
def test_unknown_vlan_is_not_forwarded(apart, mark):
    with counted_silence(apart, "host_unknown_vlan", mark):
        apart.b.send(udp4(apart.b, apart.a, mark, tos=VLAN666))


@requirement("the tag's protocol counts, wherever the tag is")
def test_other_protocol_is_not_forwarded(apart, mark):
    with counted_silence(apart, "host_unknown_vlan", mark):
        apart.b.send(udp4(apart.b, apart.a, mark, tos=SERVICE100))


@requirement("VLAN interfaces have their frames: the tag comes off, and one of two as well")
@pytest.mark.parametrize("tos, inner", [(VLAN100, b""), (STACKED, struct.pack("!HH", 0x8100, 7))])
def test_vlan_interface_forwards(apart, tos, inner, mark):
    sent = apart.b.frame(udp4(apart.b, apart.a, mark, tos=tos))
    with counted(apart, "forwarded"):
        apart.b.wire.send(sent[:12] + inner + sent[12:])
        frame = apart.a.wire.receive(lambda frame: mark in frame)
    assert frame[12:14] == b"\x08\x00" and frame[22] == 63


@requirement("a priority tag names no VLAN: the frame is the untagged interface's")
def test_priority_tag(apart, mark):
    apart.b.send(udp4(apart.b, apart.a, mark, tos=PRIORITY))
    assert apart.a.wire.receive(lambda frame: mark in frame)[12:14] == b"\x08\x00"


@requirement("between VLANs of one port the tags are exchanged")
def test_tagged_out(apart, mark):
    apart.b.send(udp4(apart.b, apart.a, mark, dst="198.51.101.9", tos=VLAN100))
    frame = apart.b.wire.receive(lambda frame: mark in frame)
    assert frame[12:20] == struct.pack("!HHHH", 0x88A8, 1000, 0x8100, 7)


@requirement("time exceeded goes back by the VLAN that the packet came from")
def test_error_goes_back_tagged(apart, mark):
    apart.b.send(udp4(apart.b, apart.a, mark, src="198.51.100.9", ttl=1, tos=VLAN100))
    error = apart.b.wire.receive(lambda frame: mark in frame)
    assert error[12:16] == struct.pack("!HH", 0x8100, 100)
    assert error[38] == 11 and error[30:34] == bytes([10, 20, 0, 1])


@requirement("what has no tag is untagged; while packets are observed as well")
def test_untagged_and_observed(apart):
    def both_ways():
        for make in (udp4, udp6):
            mark = token()
            apart.b.send(make(apart.b, apart.a, mark))
            assert apart.a.wire.receive(lambda frame: mark in frame)[12:14] in (b"\x08\x00", b"\x86\xdd")
        mark = token()
        apart.b.send(udp4(apart.b, apart.a, mark, tos=VLAN100))
        apart.a.wire.receive(lambda frame: mark in frame)
        mark = token()
        with counted_silence(apart, "host_unknown_vlan", mark):
            apart.b.send(udp4(apart.b, apart.a, mark, tos=VLAN666))

    both_ways()
    tool = subprocess.Popen([TOOL, "--instance", apart.router.instance, "trace", "--port", "p2", "--json"],
                            stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        wait_for(lambda: program_of(apart.router, "p2") == "port_observed", "p2 is observed")
        both_ways()
    finally:
        end(tool)
    wait_for(lambda: program_of(apart.router, "p2") == "port_stage", "p2 is observed no more")
    both_ways()


@requirement("a frame for the host has its tag where it was: the kernel takes it for the VLAN's, and not for the port's")
def test_frames_for_the_host_are_unchanged(apart):
    def answered(**fields):
        mark = token()
        apart.b.send(IP(src=apart.b.ip4, dst=apart.b.router_ip4, **fields) / ICMP(id=7) / Raw(mark))
        fence(apart)
        return [frame for frame in apart.b.wire.waiting(lambda frame: mark in frame) if frame[34] == 0]

    def taken_by_vlan_device():
        """None: this kernel has no VLAN devices."""
        shown = apart.router.namespace.ip("-s", "-j", "link", "show", "p2.100", check=False)
        return json.loads(shown.stdout)[0]["stats64"]["rx"]["packets"] if shown.returncode == 0 else None

    assert answered(), "untagged, the router answers"
    before = taken_by_vlan_device()
    with counted(apart, "host_local"):
        answers = answered(tos=VLAN100)
    assert not answers if before is None else taken_by_vlan_device() > before, "with the tag lost p2 has it, and answers"
    with counted(apart, "host_unknown_vlan"):
        assert not answered(tos=VLAN666), "no device has the VLAN; with the tag lost p2 would have answered"


@requirement("frames whose tag was beside them leave rightly by the kernel's stack, too, where no redirect reaches the device")
def test_leaves_by_the_stack(apart):
    need_parts("stack_redirects")
    def sent_by(way):
        return {port["sent_by"] for port in apart.router.json("show", "ports")["ports"] if port["name"] in ("p1", "p2")} == {way}

    for host in (apart.a, apart.b):
        host.namespace.run("ethtool", "-K", "eth0", "gro", "off")
    try:
        wait_for(lambda: sent_by("stack"), "p1 and p2 take no redirects")
        mark = token()
        apart.b.send(udp4(apart.b, apart.a, mark, tos=VLAN100))
        frame = apart.a.wire.receive(lambda frame: mark in frame)
        assert frame[12:14] == b"\x08\x00" and frame[22] == 63
        for tos in (0, VLAN100):
            mark = token()
            apart.b.send(udp4(apart.b, apart.a, mark, dst="198.51.101.9", tos=tos))
            assert apart.b.wire.receive(lambda frame: mark in frame)[12:20] == struct.pack("!HHHH", 0x88A8, 1000, 0x8100, 7)
        mark = token()
        with counted_silence(apart, "host_unknown_vlan", mark):
            apart.b.send(udp4(apart.b, apart.a, mark, tos=VLAN666))
        mark = token()
        apart.b.send(IP(src=apart.b.ip4, dst=apart.b.router_ip4) / ICMP(id=7) / Raw(mark))
        apart.b.wire.receive(lambda frame: mark in frame and frame[34] == 0)
    finally:
        for host in (apart.a, apart.b):
            host.namespace.run("ethtool", "-K", "eth0", "gro", "on")
        wait_for(lambda: sent_by("redirect"), "p1 and p2 take redirects again")


@requirement("in generic mode nobody sees such tags: the port is refused with the reason, at the start and by a reload")
@pytest.mark.skipif(FORWARDING != "inline", reason="modes of the port's own program")
def test_generic_mode_is_refused(build_net):
    net = build_net(start=False, configure=lambda topology: vlans(topology, xdp_mode="generic"))
    assert net.router.launch().wait(DEADLINE) == 1
    said = net.router.log()
    assert "/interfaces/p1: not in generic mode" in said and "VLAN tags" in said and '"generic_vlan": "accept"' in said
    for interface in net.router.config["interfaces"].values():
        interface.pop("xdp_mode", None)
    net.start()
    net.router.config["interfaces"]["p1"]["xdp_mode"] = "generic"
    refused = net.router.apply(check=False)
    assert refused.returncode == 1 and "not in generic mode" in refused.stderr
    assert {port["mode"] for port in net.router.json("show", "ports")["ports"]} == {"native"}
    wait_for_crossing(net.a, net.b)


@requirement("\"generic_vlan\": \"accept\": such a port works, and says so, in the log and in `show ports`; a reload may take it back, for later")
@pytest.mark.skipif(FORWARDING != "inline", reason="modes of the port's own program")
def test_generic_mode_warns(build_net):
    net = build_net(configure=lambda topology: vlans(topology, xdp_mode="generic", generic_vlan="accept"))
    wait_for_crossing(net.a, net.b)
    ports = {port["name"]: port for port in net.router.json("show", "ports")["ports"]}
    assert all("VLAN tags" in port["warning"] and "generic mode" in port["warning"] for port in ports.values()), ports
    assert net.router.log().count("VLAN tags") >= 3
    assert "VLAN tags" in net.router.cli("show", "ports").stdout
    del net.router.config["interfaces"]["p1"]["generic_vlan"]
    assert "hidden VLAN tags in generic mode: accept → refuse" in net.router.apply().stdout
    wait_for_crossing(net.a, net.b)
    net.router.kill()
    net.router.start()  # what forwards goes on
    wait_for_crossing(net.a, net.b)


@requirement("in native mode there is nothing to warn of")
def test_native_mode_does_not_warn(apart):
    assert [port["warning"] for port in apart.router.json("show", "ports")["ports"]] == [None] * 3
    assert "VLAN tags" not in apart.router.log()


@requirement("on a kernel where nobody can ask the driver for a tag, the port says so")
def test_native_mode_warns_where_nobody_can_ask(request):
    if has_part("vlan_tags"):
        pytest.skip("this kernel has vlan_tags")
    net = request.getfixturevalue("net")
    for port in net.router.json("show", "ports")["ports"]:
        assert "this kernel does not show VLAN tags" in port["warning"], port
    assert "this kernel does not show VLAN tags" in net.router.log()
