// SPDX-License-Identifier: BSD-3-Clause
/// What configuration space says of a function, as values: PCIe capability, ACS, ATS, bridge windows. Parsed
/// from untrusted bytes; what is not there is absent, what is reserved is 0. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "offload/pci/config_space.h"

namespace pktpit::offload {

/// Device/Port Type (PCIe Base 5.0, section 7.5.3.2).
enum class PcieType : uint8_t {
    endpoint = 0,
    legacy_endpoint = 1,
    root_port = 4,
    upstream_port = 5,
    downstream_port = 6,
    pcie_to_pci = 7,
    pci_to_pcie = 8,
    integrated_endpoint = 9,
    event_collector = 10,
};
std::string_view to_string(PcieType type);

/// A link's speed and width; zeros where unknown.
struct PcieLink {
    double gigatransfers = 0;  ///< GT/s per lane: 2.5, 5, 8, 16, 32, 64
    unsigned lanes = 0;
    [[nodiscard]] bool known() const { return gigatransfers > 0 && lanes > 0; }
    bool operator==(const PcieLink&) const = default;
};

struct PcieCapability {
    PcieType type = PcieType::endpoint;
    uint8_t port_number = 0;
    unsigned mps_supported = 128;  ///< largest payload the function can be set to, bytes
    unsigned mps = 128;            ///< Max_Payload_Size set, bytes
    unsigned mrrs = 512;           ///< Max_Read_Request_Size set, bytes; endpoints only
    PcieLink max_link;
    PcieLink link;  ///< as trained

    static std::optional<PcieCapability> parse(const ConfigSpace& config);
    bool operator==(const PcieCapability&) const = default;
};

/// Access Control Services: what a downstream port, a root port or a function of a multi-function device does
/// with requests to its peers (PCIe Base 5.0, sections 6.12 and 7.7.8).
struct AcsCapability {
    static constexpr uint16_t source_validation = 1 << 0;
    static constexpr uint16_t translation_blocking = 1 << 1;
    static constexpr uint16_t request_redirect = 1 << 2;
    static constexpr uint16_t completion_redirect = 1 << 3;
    static constexpr uint16_t upstream_forwarding = 1 << 4;
    static constexpr uint16_t egress_control = 1 << 5;
    static constexpr uint16_t direct_translated = 1 << 6;

    uint16_t supported = 0;      ///< of the bits above
    uint16_t enabled = 0;        ///< of the bits above
    uint32_t egress_vector = 0;  ///< ports (or functions) 0 to 31 that peers may not be reached at

    static std::optional<AcsCapability> parse(const ConfigSpace& config);
    [[nodiscard]] bool is_on(uint16_t bit) const { return enabled & bit; }
    bool operator==(const AcsCapability&) const = default;
};

/// Address Translation Services: the function can ask the IOMMU itself and then send translated requests
/// (PCIe Base 5.0, section 10.5.1).
struct AtsCapability {
    bool enabled = false;
    static std::optional<AtsCapability> parse(const ConfigSpace& config);
    bool operator==(const AtsCapability&) const = default;
};

/// Addresses that a bridge passes down; closed (empty) where the limit is below the base.
struct BridgeWindow {
    uint64_t base = 1;
    uint64_t limit = 0;  ///< last address
    [[nodiscard]] bool contains(uint64_t start, uint64_t bytes) const {
        return bytes > 0 && base <= start && start <= limit && bytes - 1 <= limit - start;
    }
    bool operator==(const BridgeWindow&) const = default;
};

/// A type 1 header (PCI-to-PCI Bridge Architecture 1.2, section 3.2.5).
struct BridgeHeader {
    uint8_t secondary_bus = 0;
    uint8_t subordinate_bus = 0;
    BridgeWindow memory;
    BridgeWindow prefetchable;

    static std::optional<BridgeHeader> parse(const ConfigSpace& config);
    bool operator==(const BridgeHeader&) const = default;
};

}  // namespace pktpit::offload
