// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/capabilities.h"

#include <array>

namespace pktpit::offload {
namespace {

constexpr uint8_t pcie_id = 0x10;
constexpr uint16_t acs_id = 0x000d;
constexpr uint16_t ats_id = 0x000f;

/// Max_Payload_Size and Max_Read_Request_Size share the coding; 6 and 7 are reserved.
unsigned payload_bytes(unsigned code) {
    return code <= 5 ? 128U << code : 128U;
}

double gigatransfers(unsigned code) {
    constexpr std::array speeds = {0.0, 2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
    return code < speeds.size() ? speeds[code] : 0.0;
}

PcieLink link_of(uint32_t link_register) {
    return {gigatransfers(link_register & 0xf), link_register >> 4 & 0x3f};
}

}  // namespace

std::string_view to_string(PcieType type) {
    switch (type) {
        case PcieType::endpoint:
            return "endpoint";
        case PcieType::legacy_endpoint:
            return "legacy endpoint";
        case PcieType::root_port:
            return "root port";
        case PcieType::upstream_port:
            return "switch, upstream port";
        case PcieType::downstream_port:
            return "switch, downstream port";
        case PcieType::pcie_to_pci:
            return "PCIe-to-PCI bridge";
        case PcieType::pci_to_pcie:
            return "PCI-to-PCIe bridge";
        case PcieType::integrated_endpoint:
            return "root complex integrated endpoint";
        case PcieType::event_collector:
            return "root complex event collector";
    }
    return "unknown";
}

std::optional<PcieCapability> PcieCapability::parse(const ConfigSpace& config) {
    const auto at = config.capability(pcie_id);
    if (!at) return std::nullopt;
    const auto flags = config.u16(*at + 0x02);
    const auto device = config.u32(*at + 0x04);
    const auto control = config.u16(*at + 0x08);
    if (!flags || !device || !control) return std::nullopt;
    const unsigned type = *flags >> 4 & 0xf;
    if (type > 10 || type == 2 || type == 3) return std::nullopt;

    PcieCapability capability;
    capability.type = static_cast<PcieType>(type);
    capability.mps_supported = payload_bytes(*device & 7);
    capability.mps = payload_bytes(*control >> 5 & 7);
    capability.mrrs = payload_bytes(*control >> 12 & 7);
    // Integrated ones have no link; their registers there are reserved.
    if (type < 9) {
        const uint32_t link = config.u32(*at + 0x0c).value_or(0);
        capability.port_number = static_cast<uint8_t>(link >> 24);
        capability.max_link = link_of(link);
        capability.link = link_of(config.u16(*at + 0x12).value_or(0));
    }
    return capability;
}

std::optional<AcsCapability> AcsCapability::parse(const ConfigSpace& config) {
    const auto at = config.extended_capability(acs_id);
    if (!at) return std::nullopt;
    const auto supported = config.u16(*at + 0x04);
    const auto enabled = config.u16(*at + 0x06);
    if (!supported || !enabled) return std::nullopt;
    AcsCapability acs;
    acs.supported = *supported & 0x7f;
    acs.enabled = *enabled & acs.supported;
    if (acs.supported & egress_control) acs.egress_vector = config.u32(*at + 0x08).value_or(0);
    return acs;
}

std::optional<AtsCapability> AtsCapability::parse(const ConfigSpace& config) {
    const auto at = config.extended_capability(ats_id);
    const auto control = at ? config.u16(*at + 0x06) : std::nullopt;
    if (!control) return std::nullopt;
    return AtsCapability{(*control & 0x8000) != 0};
}

std::optional<BridgeHeader> BridgeHeader::parse(const ConfigSpace& config) {
    const auto type = config.u8(0x0e);
    const auto memory = config.u32(0x20);
    const auto prefetchable = config.u32(0x24);
    const auto base_high = config.u32(0x28);
    const auto limit_high = config.u32(0x2c);
    if (!type || (*type & 0x7f) != 1 || !memory || !prefetchable || !base_high || !limit_high)
        return std::nullopt;
    // Bits 15:4 of each half are address bits 31:20; what is below is zeros in a base, ones in a limit.
    const auto window = [](uint32_t pair, uint64_t high_base, uint64_t high_limit) {
        return BridgeWindow{high_base << 32 | (pair & 0xfff0U) << 16,
                            high_limit << 32 | (pair & 0xfff00000U) | 0xfffffU};
    };
    const bool is_64bit = (*prefetchable & 0xf) == 1;
    return BridgeHeader{config.u8(0x19).value_or(0), config.u8(0x1a).value_or(0), window(*memory, 0, 0),
                        window(*prefetchable, is_64bit ? *base_high : 0, is_64bit ? *limit_high : 0)};
}

}  // namespace pktpit::offload
