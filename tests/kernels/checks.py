# SPDX-License-Identifier: BSD-3-Clause
"""What of our own tests runs in a guest with each kernel. A guest without KVM takes ten times as long as the machine: a check is here
for what a kernel may do otherwise, and what is the same for all of them (which words a command takes) is not.

A check is a call of pytest: files below tests/e2e, or of ctest: a test program with a filter."""

from dataclasses import dataclass

FORWARDING = ("test_ipv4_forwarding", "test_ipv6_forwarding", "test_vlan")


@dataclass(frozen=True)
class Check:
    """`files`: names of tests/e2e; with `gate` only what gate.py names of them for this way. `chosen`: as pytest's -k."""
    name: str
    files: tuple
    way: str = "inline"
    gate: bool = False
    chosen: str = ""
    workers: int = 0  # 0: one after the other, in one process


@dataclass(frozen=True)
class Compiled:
    """`program`: below the build directory; `chosen`: a filter of googletest's. With few rounds."""
    name: str
    program: str
    chosen: str = "*"


CHECKS = (
    Check("packet path, inline", ("test_ipv4_forwarding", "test_ipv6_forwarding", "test_icmpv4", "test_icmpv6", "test_malformed", "test_local",
                                  "test_paths"), workers=2),
    Check("forwarding, split", FORWARDING, "split"),
    Check("forwarding, auto", FORWARDING, "auto"),
    Check("filters", ("test_filters",)),
    Check("uRPF and rates", ("test_protection",)),
    Check("trace and capture", ("test_trace",)),
    Check("reload", ("test_reload",)),
    Check("kill and adoption", ("test_zero_loss", "test_lifecycle"), chosen="zero_loss or kill or adopt or detach"),
    Check("refused start", ("test_outlives",), gate=True),
    Check("VLAN", ("test_vlan", "test_vlan_apart", "test_vlan_devices")),
    Check("VRF", ("test_vrf", "test_vrf_devices")),
    Check("bonds, bridges, macvlan, dummy", ("test_stacked_devices",)),
    Check("checksums left to a NIC", ("test_partial_checksums",)),
    Check("ports that no redirect reaches", ("test_egress",)),
    # The verifier has every variant of the port stage; random tables and thousands of rules are the machine's own tests'.
    Compiled("every variant loads, and decides as C++ does", "tests/differential/differential_test",
             "-*Random*:Rules/*/2:Rules/*/3:Shapes/*:Workers/*"),
)


def ident_of(check):
    """What pytest calls it."""
    return check.name.replace(" ", "_")
