// SPDX-License-Identifier: BSD-3-Clause
/// Ids of blocks, groups and adjacencies: handed out, given back, and used again once no reader can hold
/// them. Writer's thread only.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "fib/reclamation.h"

namespace pktpit::fib {

class IdPool {
  public:
    /// Ids from `first` to `end` - 1. `reclamation`: an Epochs, or a GracePeriod as in fib/image.h.
    IdPool(uint32_t first, uint32_t end, Reclamation reclamation)
        : first_(first), fresh_(first), end_(end), reclamation_(std::move(reclamation)) {}

    /// Makes sure that the next `count` calls of take() succeed. Waits for a grace period only when nothing
    /// else is left, and then once for everything that was given back.
    bool reserve(uint32_t count) {
        // Asked seldom while there are fresh ids: each grace period costs a system call.
        if (free_.size() < count && (waiting_.size() >= worth_asking || available() < count)) collect(count);
        if (available() < count && available() + waiting_.size() >= count) {
            reclamation_.wait();
            collect(count);
        }
        return available() >= count;
    }
    /// Only after reserve().
    uint32_t take() {
        assert(available() > 0);
        used_++;
        if (free_.empty()) return fresh_++;
        const uint32_t id = free_.back();
        free_.pop_back();
        return id;
    }
    /// Nothing that a reader may find from now on may lead to the id.
    void give_back(uint32_t id) {
        assert(id >= first_ && id < end_ && used_ > 0);
        used_--;
        waiting_.push_back(id);
        const uint64_t ticket = reclamation_.ticket();
        if (tickets_.empty() || tickets_.back().first != ticket)
            tickets_.emplace_back(ticket, 1);
        else
            tickets_.back().second++;
    }
    [[nodiscard]] uint32_t used() const { return used_; }
    [[nodiscard]] uint32_t capacity() const { return end_ - first_; }

  private:
    static constexpr size_t worth_asking = 64;

    [[nodiscard]] size_t available() const { return free_.size() + (end_ - fresh_); }
    /// Takes what has passed off the waiting list: what is needed and some more, so that no call takes long.
    void collect(size_t needed) {
        while (free_.size() < needed + worth_asking && !tickets_.empty() &&
               reclamation_.passed(tickets_.front().first)) {
            const size_t count = std::min<size_t>(tickets_.front().second, needed + worth_asking);
            // In the order of giving back; the last one given back is taken first.
            free_.insert(free_.end(), waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
            waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(count));
            if ((tickets_.front().second -= static_cast<uint32_t>(count)) == 0) tickets_.pop_front();
        }
    }

    uint32_t first_;
    uint32_t fresh_;  ///< ids from here on were never handed out: no list of them is needed
    uint32_t end_;
    uint32_t used_ = 0;
    std::vector<uint32_t> free_;
    std::deque<uint32_t> waiting_;  ///< given back, but readers may still hold them; oldest first
    std::deque<std::pair<uint64_t, uint32_t>>
        tickets_;  ///< for how many of waiting_, from its front, each is
    Reclamation reclamation_;
};

}  // namespace pktpit::fib
