# SPDX-License-Identifier: BSD-3-Clause
"""A port that takes its payloads by way of main memory, among ports that do not: it works, it is said, and nobody
else's payload goes there. The daemon sleeps between frames here: interrupts have to wake it."""

import pytest
from lib.configuration import BOUNCED_PORT
from lib.pktpit_router import SHOW
from lib.scan import Memory
from lib.topology import PORTS
from lib.traffic import assert_all_right, exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer memory")
FRAMES = 1_000
DIRECT = [port for port in range(PORTS) if port != BOUNCED_PORT]


@pytest.fixture(scope="module")
def router(bench, machine, routers):
    return routers.want(machine, "bounce", bench.few)


@requirement("payloads between ports that reach the peer memory stay off main memory, whatever other ports do")
def test_direct_ports_stay_direct(router, bench, machine, report, seed):
    burst = bench.few.burst(FRAMES, f"{seed} direct", ports=DIRECT, wanted=lambda egress: egress in DIRECT)
    outcome = exchange(machine.wires, burst)
    ram, peer = Memory(machine.ram).payloads(burst), Memory(machine.peer_memory("ivshmem")).payloads(burst)
    report.row(f"p{BOUNCED_PORT} bounces, between others", outcome, ram, peer)
    assert_all_right(outcome, FRAMES)
    assert ram == 0 and peer > 0


@requirement("a port pair without a way for P2P uses bounce buffers, in either direction")
@pytest.mark.parametrize("direction", ["to", "from"])
def test_bounced_frames_arrive(router, bench, machine, report, seed, direction):
    ports, wanted = (DIRECT, [BOUNCED_PORT]) if direction == "to" else ([BOUNCED_PORT], DIRECT)
    burst = bench.few.burst(FRAMES, f"{seed} {direction}", ports=ports, wanted=lambda egress: egress in wanted)
    outcome = exchange(machine.wires, burst)
    ram = Memory(machine.ram).payloads(burst)
    report.row(f"p{BOUNCED_PORT} bounces, {direction} it", outcome, ram)
    assert_all_right(outcome, FRAMES)
    assert ram > 0, "the search of RAM finds what bounces"


@requirement("`show ports` says which ports bounce")
def test_show_ports_says_so(router):
    payload = {port["name"]: port["nic"]["payload"] for port in router.guest.json(f"{SHOW} show ports --json")["ports"]}
    assert "bounce" in payload[f"p{BOUNCED_PORT}"]
    assert not any("bounce" in payload[f"p{port}"] for port in DIRECT)
