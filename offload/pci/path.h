// SPDX-License-Identifier: BSD-3-Clause
/// The way of DMA requests from one PCI function to another, and whether P2P DMA goes that way. Asked by the
/// `vfio` dataplane for each port and payload memory when it starts, and by `pktpit doctor`. Pure: knows only
/// the tree it is handed; any thread.
///
/// A path has a direction: `from` sends the requests (a NIC that writes payload to the memory, or reads it
/// from there), `to` answers. Both ingress and egress NIC are `from`; a memory never asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "offload/pci/finding.h"
#include "offload/pci/tree.h"

namespace pktpit::offload {

/// From the worst to the best.
enum class P2pWay : uint8_t {
    none,          ///< one of the two is not there
    host_bridges,  ///< from one host bridge to another: over the link between the sockets
    root_complex,  ///< between root ports (or integrated devices) of one host bridge
    root_port,     ///< up to the root port above both and down again
    same_bus,      ///< both on one conventional PCI bus
    same_switch,   ///< turns round in a PCIe switch
    same_device,   ///< functions of one device
};
std::string_view to_string(P2pWay way);  ///< "same switch", …

struct PciPath {
    PciAddress from;
    PciAddress to;
    P2pWay way = P2pWay::none;
    bool redirected = false;       ///< ACS sends requests up that could have turned round earlier
    std::vector<PciAddress> hops;  ///< functions passed, `from` and `to` included; each address once or, with
                                   ///< redirection, on the way up and down
    std::optional<PciAddress> turn;  ///< where it turns round: upstream port, root port, bridge; absent: host
                                     ///< bridge, or within one device
    std::string why;                 ///< the verdict in words, without the findings
    Findings findings;               ///< of the way itself, links, payload sizes and IOMMU

    /// Can P2P be used? Ways through a root complex count where an IOMMU maps them; no register says whether
    /// the hardware passes them on.
    bool possible = false;
    /// Without leaving device, bus or switch.
    [[nodiscard]] bool direct() const { return way >= P2pWay::same_bus; }
};

/// The path's way, links and IOMMU. Says nothing about drivers, BARs and other functions in the IOMMU group.
PciPath find_path(const PciTree& tree, PciAddress from, PciAddress to);

/// A NIC that the router drives itself: its driver, bus mastering.
Findings examine_nic(const PciFunction& nic);
/// A payload memory: the BAR (absent: payload_bar()), its size of at least `bytes`, its windows, its driver.
Findings examine_memory(const PciTree& tree, const PciFunction& memory, std::optional<unsigned> bar = {},
                        uint64_t bytes = 1 << 20);
/// VFIO hands out IOMMU groups, not functions: what else is in the groups of `taken` (the router's ports and
/// memories), and still has a kernel driver.
Findings examine_groups(const PciTree& tree, const std::vector<PciAddress>& taken);

/// What the dataplane wants to know.
struct P2pVerdict {
    P2pWay way = P2pWay::none;
    bool possible = false;  ///< if not: bounce buffers
    bool direct = false;    ///< without going through a root port or root complex
    std::string why;        ///< one line; the first blocker if there is one
};

/// find_path() and examine_memory() in one answer.
P2pVerdict p2p_verdict(const PciTree& tree, PciAddress nic, PciAddress memory, unsigned bar);

}  // namespace pktpit::offload
