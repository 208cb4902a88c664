// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/config_space.h"

namespace pktpit::offload {
namespace {

constexpr size_t status_register = 0x06;
constexpr uint16_t status_has_list = 0x10;
constexpr size_t list_pointer = 0x34;
constexpr size_t first_capability = 0x40;
constexpr size_t first_extended = 0x100;
// As many as fit without overlap: a list that is longer loops.
constexpr size_t most_capabilities = (256 - first_capability) / 4;
constexpr size_t most_extended = (4096 - first_extended) / 4;

}  // namespace

std::optional<uint8_t> ConfigSpace::u8(size_t offset) const {
    if (offset >= bytes_.size()) return std::nullopt;
    return static_cast<uint8_t>(bytes_[offset]);
}

std::optional<uint16_t> ConfigSpace::u16(size_t offset) const {
    const auto low = u8(offset);
    const auto high = u8(offset + 1);
    if (!low || !high) return std::nullopt;
    return static_cast<uint16_t>(*low | *high << 8);
}

std::optional<uint32_t> ConfigSpace::u32(size_t offset) const {
    const auto low = u16(offset);
    const auto high = u16(offset + 2);
    if (!low || !high) return std::nullopt;
    return *low | static_cast<uint32_t>(*high) << 16;
}

std::optional<size_t> ConfigSpace::capability(uint8_t id) const {
    if (!(u16(status_register).value_or(0) & status_has_list)) return std::nullopt;
    size_t offset = u8(list_pointer).value_or(0) & 0xfcU;
    for (size_t seen = 0; seen < most_capabilities && offset >= first_capability; seen++) {
        const auto header = u16(offset);
        if (!header) break;
        if ((*header & 0xff) == id) return offset;
        offset = *header >> 8 & 0xfcU;
    }
    return std::nullopt;
}

std::optional<size_t> ConfigSpace::extended_capability(uint16_t id) const {
    size_t offset = first_extended;
    for (size_t seen = 0; seen < most_extended && offset >= first_extended; seen++) {
        const auto header = u32(offset);
        // All zero: none at all. All ones: the device does not answer there.
        if (!header || *header == 0 || *header == 0xffffffff) break;
        if ((*header & 0xffff) == id) return offset;
        offset = *header >> 20 & 0xffcU;
    }
    return std::nullopt;
}

}  // namespace pktpit::offload
