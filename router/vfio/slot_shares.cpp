// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/slot_shares.h"

#include <algorithm>
#include <numeric>

namespace pktpit::router {
namespace {

constexpr uint32_t whole_pages(uint64_t slots) {
    return static_cast<uint32_t>(slots / slots_of_whole_pages * slots_of_whole_pages);
}

}  // namespace

std::vector<SlotRange> share_slots(uint32_t slots, uint32_t kept, std::span<const uint32_t> ports) {
    const uint64_t all_ports = std::accumulate(ports.begin(), ports.end(), uint64_t{0});
    if (all_ports == 0) {
        const std::vector<uint32_t> one_each(std::max<size_t>(ports.size(), 1), 1);
        return share_slots(slots, kept, one_each);
    }
    std::vector<SlotRange> ranges;
    uint32_t next = 0;
    const auto add = [&](uint32_t count) {
        ranges.push_back({next, count});
        next += count;
    };
    add(whole_pages(std::min(kept, slots)));
    const uint64_t left = slots - next;
    for (const uint32_t in_domain : ports)
        add(whole_pages(left / all_ports) * in_domain);
    return ranges;
}

}  // namespace pktpit::router
