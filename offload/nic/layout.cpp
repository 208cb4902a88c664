// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/layout.h"

#include <bit>
#include <cstdint>
#include <string>

namespace pktpit::offload {
namespace {

bool ring_size(uint32_t descriptors) {
    return std::has_single_bit(descriptors) && descriptors >= 8 && descriptors <= 4096;
}

bool size_in_steps(uint32_t bytes, uint32_t unit, uint32_t most) {
    return bytes > 0 && bytes % unit == 0 && bytes <= most;
}

}  // namespace

Result<void> check_layout(const NicLayout& layout, const DmaBuffer& rings, size_t ring_bytes) {
    if (!ring_size(layout.rx_descriptors))
        return fail("rx_descriptors", std::to_string(layout.rx_descriptors) + " descriptors in a ring",
                    "a power of two from 8 to 4096");
    if (!ring_size(layout.tx_descriptors))
        return fail("tx_descriptors", std::to_string(layout.tx_descriptors) + " descriptors in a ring",
                    "a power of two from 8 to 4096");
    if (!size_in_steps(layout.header_bytes, 128, 896))
        return fail("header_bytes", std::to_string(layout.header_bytes) + " bytes for a header",
                    "a multiple of 128 up to 896");
    if (!size_in_steps(layout.payload_bytes, 1024, 16384))
        return fail("payload_bytes", std::to_string(layout.payload_bytes) + " bytes for a payload",
                    "a multiple of 1024 up to 16384");
    if (layout.max_frame < 64 || layout.max_frame > layout.header_bytes + layout.payload_bytes)
        return fail("max_frame", std::to_string(layout.max_frame) + " bytes as the largest frame",
                    "64 up to a header and a payload");
    if (rings.bytes.size() < ring_bytes)
        return fail("rings", std::to_string(rings.bytes.size()) + " bytes of memory for the rings",
                    std::to_string(ring_bytes) + " bytes");
    if (rings.iova % ring_alignment != 0 ||
        reinterpret_cast<uintptr_t>(rings.bytes.data()) % ring_alignment != 0)
        return fail("rings", "memory for the rings is not aligned", "addresses at a page's begin");
    return {};
}

}  // namespace pktpit::offload
