// SPDX-License-Identifier: BSD-3-Clause
/// How many of a worker's slots each receive ring may have. Rings fill up with slots, and an idle one gives
/// none back: without a limit a worker with many queues would have all of its slots in idle rings, and none
/// for the busy one.
///
/// - A quarter of the slots is for what is on its way out, and for queues that come later.
/// - The rest is divided evenly, and no ring has more than its entries.
/// - A new ring begins with a small part and gets its share with its first packets, or 100 ms later: at a
///   start, ports come one by one, and the first must not take what the last will need.
/// - Rings that come when those before them hold all get a sixteenth of what is free. They get their share
///   as the others receive packets, and then take only what is theirs now.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pktpit::router {

class SlotShares {
  public:
    static constexpr uint32_t idle_part = 128;

    /// Of `total` slots, among rings of `entries`.
    SlotShares(uint32_t total, uint32_t entries) : most_(total / 4 * 3), entries_(entries), share_(entries) {}

    void divide_among(uint32_t rings) {
        share_ = std::clamp<uint32_t>(most_ / std::max(rings, 1U), 1, entries_);
    }

    /// How many slots a ring may have that receives packets, while `receiving` are in all rings and `free` in
    /// none.
    [[nodiscard]] uint32_t of_ring(uint32_t receiving, uint32_t free) const {
        return receiving < most_ ? share_ : std::min(share_, free / 16 + 1);
    }
    /// How many a ring is given before its first packets, and while it has none.
    [[nodiscard]] uint32_t of_idle_ring(uint32_t receiving, uint32_t free) const {
        return std::min(of_ring(receiving, free), idle_part);
    }

  private:
    uint32_t most_;  ///< in all rings
    uint32_t entries_;
    uint32_t share_;
};

}  // namespace pktpit::router
