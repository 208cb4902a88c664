// SPDX-License-Identifier: BSD-3-Clause
/// Slots that were in the rings of closed sockets: kept until the kernel has let go of the queue, which it
/// does some time after the close, and given back then. The daemon's thread.
#pragma once

#include <cstdint>
#include <vector>

#include "offload/slot.h"

namespace pktpit::router {

class RetiredSlots {
  public:
    void add(uint32_t ifindex, uint32_t queue, std::vector<offload::Slot> slots) {
        if (!slots.empty()) queues_.push_back({ifindex, queue, std::move(slots)});
    }
    /// Slots that are free again. is_free(ifindex, queue) says whether the kernel has let go.
    template <class IsFree>
    std::vector<offload::Slot> take_free(IsFree&& is_free) {
        std::vector<offload::Slot> slots;
        std::erase_if(queues_, [&](const Queue& queue) {
            if (!is_free(queue.ifindex, queue.queue)) return false;
            slots.insert(slots.end(), queue.slots.begin(), queue.slots.end());
            return true;
        });
        return slots;
    }
    [[nodiscard]] bool empty() const { return queues_.empty(); }

  private:
    struct Queue {
        uint32_t ifindex = 0;
        uint32_t queue = 0;
        std::vector<offload::Slot> slots;
    };
    std::vector<Queue> queues_;
};

}  // namespace pktpit::router
