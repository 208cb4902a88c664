// SPDX-License-Identifier: BSD-3-Clause
/// How a region's slots are shared out among IOMMU domains, so that each can be given its own to write and
/// the others' to read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pktpit::router {

/// Slots that lie side by side.
struct SlotRange {
    uint32_t first = 0;
    uint32_t count = 0;
};

/// Slots of any size that are whole pages of payload and of header cells when taken together.
inline constexpr uint32_t slots_of_whole_pages = 16;

/// Range 0 is the daemon's own, of `kept` slots; range 1 + i that of domain i, which has `ports[i]` ports,
/// and as many slots a port as all the others. Where nobody has a port yet, each domain counts as one, and
/// for no domain there is one range: ports may come later. Each is a multiple of slots_of_whole_pages: a few
/// at the end may be nobody's.
std::vector<SlotRange> share_slots(uint32_t slots, uint32_t kept, std::span<const uint32_t> ports);

}  // namespace pktpit::router
