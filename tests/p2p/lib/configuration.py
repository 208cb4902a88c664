# SPDX-License-Identifier: BSD-3-Clause
"""The guest router's configuration files."""

import json
from copy import deepcopy

from lib.routes import NEXT_HOPS, host_address, host_mac
from lib.topology import IVSHMEM, IVSHMEM_BAR, NVME, ONE_SWITCH, PORTS, text_mac
from lib.traffic import SENDER

BAR = {"kind": "pci_bar", "pci": IVSHMEM, "bar": IVSHMEM_BAR}
# Where payloads wait, and what else is set in `vfio`.
MEMORIES = {
    "ivshmem": {"payload_memory": BAR},
    "cmb": {"payload_memory": {"kind": "nvme_cmb", "pci": NVME}},
    "hugepages": {"payload_memory": {"kind": "hugepages"}},
    "bounce": {"payload_memory": BAR},
    "jumbo": {"payload_memory": BAR, "slot_bytes": 9216},
    "peer": {"payload_memory": BAR, "peer": {}},
    "small": {"payload_memory": {**BAR, "size_mib": 1}},
    "small-jumbo": {"payload_memory": {**BAR, "size_mib": 4}, "slot_bytes": 9216},
}
POLLING = {"hugepages": "busy", "bounce": "interrupt"}  # adaptive with the others
BOUNCED_PORT = 3  # of "bounce": takes its payloads to and from main memory, the others do not
JUMBO_MTU = 9000
PEER_TABLE_MIB = 8


def configuration(memory, world, layout=ONE_SWITCH):
    """`layout`: where NICs and ivshmem are."""
    made = {
        "dataplane": "vfio",
        "instance": "p2p",
        "interfaces": {f"p{port}": {"pci": layout.nics[port],
                                    "addresses": [f"{host_address(4, port, 1)}/24", f"{host_address(6, port, 1)}/64"]}
                       for port in range(PORTS)},
        "vfio": deepcopy(MEMORIES[memory]),
        "workers": {"polling": POLLING.get(memory, "adaptive")},
        "routes_files": [{"path": f"{world}{family}.txt",
                          "next_hops": {str(hop.number): hop.address(family) for hop in NEXT_HOPS}} for family in (4, 6)],
        "neighbours": [{"address": address, "mac": text_mac(mac), "interface": f"p{port}"}
                       for address, mac, port in stations()],
    }
    if made["vfio"]["payload_memory"].get("pci") == IVSHMEM:
        made["vfio"]["payload_memory"]["pci"] = layout.ivshmem
    if memory == "bounce":
        made["interfaces"][f"p{BOUNCED_PORT}"]["payload"] = "bounce"
    if memory == "peer":
        made["fib"] = {"table_memory_mib": PEER_TABLE_MIB}  # the image lies in the BAR
    if memory in ("jumbo", "small-jumbo"):
        for interface in made["interfaces"].values():
            interface["mtu"] = JUMBO_MTU
    return made


def stations():
    """(address, MAC, port) of everybody on the links: next hops and senders. Known beforehand: no frame ever waits."""
    for family in (4, 6):
        for hop in NEXT_HOPS:
            yield hop.address(family), hop.mac, hop.port
        for port in range(PORTS):
            yield host_address(family, port, SENDER), host_mac(port, SENDER), port


def text(memory, world):
    return json.dumps(configuration(memory, world), indent=2)
