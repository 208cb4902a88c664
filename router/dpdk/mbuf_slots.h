// SPDX-License-Identifier: BSD-3-Clause
/// Slots of a control loop whose packets are mbufs: which mbuf a slot stands for, from receive() until it is
/// sent or released. Constant time, no allocation, one thread; last in, first out, so that a batch stays in
/// the cache.
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <cassert>
#include <cstdint>
#include <utility>

#include "offload/slot.h"

namespace pktpit::router {

class MbufSlots {
  public:
    static constexpr uint32_t capacity = 1024;  ///< many batches

    MbufSlots() {
        for (uint32_t i = 0; i < capacity; i++)
            free_[i] = static_cast<uint16_t>(capacity - 1 - i);
    }
    [[nodiscard]] size_t free() const { return free_count_; }
    /// There has to be a free one.
    offload::Slot put(rte_mbuf* mbuf) {
        assert(free_count_ != 0);
        const uint16_t index = free_[--free_count_];
        mbufs_[index] = mbuf;
        return {0, index};
    }
    [[nodiscard]] rte_mbuf* get(offload::Slot slot) const {
        assert(slot.index < capacity && mbufs_[slot.index]);
        return mbufs_[slot.index];
    }
    /// The slot is nobody's from here on.
    rte_mbuf* take(offload::Slot slot) {
        assert(slot.index < capacity && mbufs_[slot.index]);
        free_[free_count_++] = static_cast<uint16_t>(slot.index);
        return std::exchange(mbufs_[slot.index], nullptr);
    }

  private:
    std::array<rte_mbuf*, capacity> mbufs_{};
    std::array<uint16_t, capacity> free_{};
    size_t free_count_ = capacity;
};

}  // namespace pktpit::router
