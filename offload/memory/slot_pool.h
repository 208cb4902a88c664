// SPDX-License-Identifier: BSD-3-Clause
/// The free slots of one payload memory. Constant time, no locks, no allocation after the start; one thread,
/// the worker that owns the ports. Last in, first out: the slot that was free last is the one whose header
/// cell is still in the cache.
///
/// A slot is owned by exactly one side at any time. A debug build keeps every slot's owner and stops at the
/// first transfer by a side that does not own it.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "offload/slot.h"

namespace pktpit::offload {

enum class SlotOwner : uint8_t { pool, receive_ring, control_loop, transmit_ring };

class SlotPool {
  public:
    /// Of the slots `first` to `first + count - 1` of a region.
    SlotPool(uint8_t region, uint32_t count, uint32_t first = 0);

    /// Takes up to slots.size() free slots for `owner`; returns how many.
    size_t take(std::span<Slot> slots, SlotOwner owner);
    /// Gives back what `owner` has had.
    void give(std::span<const Slot> slots, SlotOwner owner);
    /// Gives back one that any owner but the pool has had, when that owner has ended.
    void reclaim(Slot slot);
    /// From one owner to another, neither of them the pool. Nothing in a release build.
    void pass([[maybe_unused]] Slot slot, [[maybe_unused]] SlotOwner from, [[maybe_unused]] SlotOwner to) {
#ifndef NDEBUG
        assert(holds(slot) && owners_[slot.index - first_] == from);
        owners_[slot.index - first_] = to;
#endif
    }

    /// Notes the ring, by a number of the caller's, that a slot goes to. Of all that go to rings which end
    /// while the daemon runs.
    void place(uint32_t index, uint16_t ring) {
        rings_[index - first_] = ring;
    }
    [[nodiscard]] uint16_t ring_of(uint32_t index) const {
        return rings_[index - first_];
    }
    /// Slots that were last noted for this ring and have not come back: they are no ring's any more, and
    /// their owner's until reclaim(). Looks at all slots.
    std::vector<Slot> retire(uint16_t ring);

    [[nodiscard]] uint32_t count() const {
        return count_;
    }
    [[nodiscard]] size_t free() const {
        return free_count_;
    }
    [[nodiscard]] bool holds(Slot slot) const {
        return slot.region == region_ && slot.index - first_ < count_;
    }

  private:
    uint8_t region_;
    uint32_t count_;
    uint32_t first_;
    std::vector<uint32_t> free_;  ///< the first free_count_ of them
    size_t free_count_ = 0;
    std::vector<uint16_t> rings_;  ///< of each slot that is not free; 0: none
#ifndef NDEBUG
    std::vector<SlotOwner> owners_;
#endif
};

}  // namespace pktpit::offload
