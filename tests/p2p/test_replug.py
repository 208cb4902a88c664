# SPDX-License-Identifier: BSD-3-Clause
"""A NIC that is taken out while frames flow, and put back."""

import pytest
from lib.scan import Memory
from lib.topology import NIC_ADDRESSES, PORTS
from lib.traffic import assert_all_right, exchange, flood, wait_until_free
from guests.waiting import wait_for

requirement = pytest.mark.requirement
pytestmark = pytest.mark.pktpit("Linux forwarding has no daemon")
FRAMES = 500
OUT = 2


def up(router):
    return {port["name"] for port in router.show("ports")["ports"] if port["up"]}


@requirement("a NIC that is taken out is absent, the others forward, and when it is put back it forwards again, with no restart")
def test_taken_out_and_put_back(bench, machine, routers, report, seed):
    router = routers.want(machine, "ivshmem", bench.few)
    router.settle()
    everybody = {f"p{port}" for port in range(PORTS)}
    others = [port for port in range(PORTS) if port != OUT]
    for time in ("once", "twice"):
        flood(machine.wires, bench.few.burst(FRAMES, f"{seed} {time} flood"))
        machine.guest.run(f"echo 1 >/sys/bus/pci/devices/{NIC_ADDRESSES[OUT]}/remove")
        wait_for(lambda: up(router) == everybody - {f"p{OUT}"}, "the port is absent")
        wait_until_free(machine.wires, bench.few.burst(20, f"{seed} {time} free", ports=others, wanted=lambda egress: egress != OUT))
        burst = bench.few.burst(FRAMES, f"{seed} {time} without", ports=others, wanted=lambda egress: egress != OUT)
        outcome = exchange(machine.wires, burst)
        report.row(f"p{OUT} taken out {time}", outcome)
        assert_all_right(outcome, FRAMES)

        machine.guest.run("echo 1 >/sys/bus/pci/rescan")
        wait_for(lambda: up(router) == everybody, "the port is there again")
        router.settled = False
        router.settle()
        wait_until_free(machine.wires, bench.few.burst(20, f"{seed} {time} all free"))
        burst = bench.few.burst(FRAMES, f"{seed} {time} back")
        outcome = exchange(machine.wires, burst)
        ram = Memory(machine.ram).payloads(burst)
        report.row(f"p{OUT} put back {time}", outcome, ram)
        assert_all_right(outcome, FRAMES)
        assert ram == 0, "its payloads go NIC to NIC as before"
