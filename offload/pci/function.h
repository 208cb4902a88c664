// SPDX-License-Identifier: BSD-3-Clause
/// One PCI function, understood: what sysfs and configuration space say of it, as values. Made by PciTree
/// from a snapshot, whose bytes are not trusted. Immutable afterwards; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "offload/pci/address.h"
#include "offload/pci/capabilities.h"
#include "offload/pci/snapshot.h"

namespace pktpit::offload {

/// A base address register that has been given addresses (of sysfs's `resource`).
struct PciBar {
    unsigned index = 0;  ///< 0 to 5: the N of sysfs's resourceN
    uint64_t start = 0;  ///< bus address
    uint64_t bytes = 0;
    bool memory = false;  ///< else I/O ports
    bool prefetchable = false;
    bool is_64bit = false;
    bool operator==(const PciBar&) const = default;
};

/// Device memory that the kernel's p2pdma hands out.
struct P2pMem {
    uint64_t bytes = 0;
    uint64_t available = 0;
    bool published = false;
    bool operator==(const P2pMem&) const = default;
};

struct PciFunction {
    PciAddress address;
    std::optional<PciAddress> parent;  ///< the bridge above; none: on a root bus
    std::string host_bridge;           ///< "pci0000:00"
    uint16_t vendor = 0;
    uint16_t device = 0;
    uint32_t class_code = 0;  ///< class, subclass, programming interface: 0x020000 is an Ethernet NIC
    std::vector<PciBar> bars;
    std::optional<BridgeHeader> bridge;
    std::optional<PcieCapability> pcie;  ///< absent: conventional PCI, or config_complete is false
    std::optional<AcsCapability> acs;
    std::optional<AtsCapability> ats;
    bool config_complete = false;  ///< capabilities could be read (root only)
    bool memory_enabled = false;   ///< answers at its memory BARs
    bool bus_master = false;       ///< may send requests; of a bridge: passes them up
    std::string driver;            ///< kernel driver bound; empty: none
    std::optional<unsigned> iommu_group;
    std::string iommu_type;               ///< of the group's own domain: "DMA", "DMA-FQ", "identity"
    int numa_node = -1;                   ///< -1: unknown
    std::vector<std::string> interfaces;  ///< network interfaces of its kernel driver
    std::optional<PciAddress> physical;   ///< of a virtual function: whose
    std::optional<P2pMem> p2pmem;
    std::vector<PciAddress> children;  ///< below this bridge, ascending

    /// Nothing where the path's last word is no address.
    static std::optional<PciFunction> from(const SnapshotFunction& snapshot);

    [[nodiscard]] bool is_bridge() const { return bridge.has_value(); }
    [[nodiscard]] bool is_ethernet() const { return class_code >> 8 == 0x0200; }
    [[nodiscard]] bool is_nvme() const { return class_code >> 8 == 0x0108; }
    [[nodiscard]] bool is_type(PcieType type) const { return pcie && pcie->type == type; }
    [[nodiscard]] const PciBar* bar(unsigned index) const;
    /// The BAR that payload would go to: the largest memory BAR of at least 1 MiB, prefetchable before not.
    [[nodiscard]] const PciBar* payload_bar() const;
    /// Has memory that payload can wait in: a memory controller (ivshmem), an NVMe with a controller memory
    /// buffer, any other endpoint with a prefetchable BAR of at least 1 MiB.
    [[nodiscard]] bool is_memory_candidate() const;
    /// "8086:10d3"
    [[nodiscard]] std::string ids() const;
    /// What it is, in words: "Ethernet controller", "switch, downstream port", …
    [[nodiscard]] std::string kind() const;
};

}  // namespace pktpit::offload
