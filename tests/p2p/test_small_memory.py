# SPDX-License-Identifier: BSD-3-Clause
"""Payload memories with fewer slots than the NICs' rings would take: shared out, or refused before a port is dead."""

import json

import pytest
from lib.configuration import configuration
from lib.pktpit_router import INSTANCE
from lib.scan import Memory
from lib.topology import PORTS
from lib.traffic import assert_all_right, exchange

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux knows no peer memory")
FRAMES = 1_000


@requirement("four NICs forward with a payload memory that is smaller than their rings, all of them P2P")
@pytest.mark.parametrize("memory, largest", [("small", 1514), ("small-jumbo", 9014)], ids=["1 MiB", "4 MiB, MTU 9000"])
def test_shared_out(bench, machine, routers, report, seed, memory, largest):
    router = routers.want(machine, memory, bench.few)
    router.settle()
    for ingress in range(PORTS):
        burst = bench.few.burst(FRAMES // PORTS, f"{seed} {memory} p{ingress}", ports=[ingress], largest=largest)
        # As many as fit into the smaller of the two rings that a frame waits in.
        outcome = exchange(machine.wires, burst, window=32)
        report.row(f"{memory}, from p{ingress}", outcome, Memory(machine.ram).payloads(burst))
        assert_all_right(outcome, FRAMES // PORTS)
        assert Memory(machine.ram).payloads(burst) == 0
    assert "would be enough" in router.log(), "what is too small is said at the start"


@requirement("a payload memory that cannot be shared out is refused at the start, with what is needed")
def test_refused(bench, machine, routers):
    routers.stop()
    wanted = configuration("small-jumbo", bench.few.name)
    wanted["vfio"]["payload_memory"]["size_mib"] = 1
    machine.guest.run(f"printf %s '{json.dumps(wanted)}' >/etc/pktpit/refused.json")
    status, said = machine.guest.run("pktpitd --config /etc/pktpit/refused.json 2>&1", check=False)
    assert status == 1 and "/vfio/payload_memory" in said, said
    assert "113 slots of 9216 bytes for the payloads of 4 ports" in said, said
    assert "at least 64 a port: 3 MiB" in said, said
    assert machine.guest.run(f"[ -e /run/pktpit/{INSTANCE}.sock ]", check=False)[0] != 0, "it runs nevertheless"
