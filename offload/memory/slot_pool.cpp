// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/slot_pool.h"

#include <algorithm>

namespace pktpit::offload {

SlotPool::SlotPool(uint8_t region, uint32_t count, uint32_t first)
    : region_(region), count_(count), first_(first), rings_(count) {
    free_.resize(count);
    for (uint32_t index = count; index-- > 0;)
        free_[free_count_++] = first + index;
#ifndef NDEBUG
    owners_.assign(count, SlotOwner::pool);
#endif
}

size_t SlotPool::take(std::span<Slot> slots, SlotOwner owner) {
    const size_t taken = std::min(slots.size(), free_count_);
    for (Slot& slot : slots.first(taken)) {
        slot = {region_, free_[--free_count_]};
        pass(slot, SlotOwner::pool, owner);
    }
    return taken;
}

void SlotPool::give(std::span<const Slot> slots, SlotOwner owner) {
    for (const Slot slot : slots) {
        pass(slot, owner, SlotOwner::pool);
        assert(free_count_ < count_);
        free_[free_count_++] = slot.index;
    }
}

void SlotPool::reclaim(Slot slot) {
#ifndef NDEBUG
    assert(holds(slot) && owners_[slot.index - first_] != SlotOwner::pool);
    owners_[slot.index - first_] = SlotOwner::pool;
#endif
    free_[free_count_++] = slot.index;
}

std::vector<Slot> SlotPool::retire(uint16_t ring) {
    std::vector<bool> free(count_);
    for (const uint32_t index : std::span(free_).first(free_count_))
        free[index - first_] = true;
    std::vector<Slot> left;
    for (uint32_t index = 0; index < count_; index++) {
        if (rings_[index] != ring || free[index]) continue;
        rings_[index] = 0;
        left.push_back({region_, first_ + index});
    }
    return left;
}

}  // namespace pktpit::offload
