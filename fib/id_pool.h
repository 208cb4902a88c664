/// Ids of blocks, groups and adjacencies: handed out, given back, and used again once no reader can hold
/// them. Writer's thread only.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <vector>

namespace pktpit::fib {

class IdPool {
  public:
    /// Ids from `first` to `end` - 1. `grace_period` as in fib/image.h.
    IdPool(uint32_t first, uint32_t end, std::function<void()> grace_period)
        : first_(first), fresh_(first), end_(end), grace_period_(std::move(grace_period)) {}

    /// Makes sure that the next `count` calls of take() succeed. Waits for a grace period only when nothing
    /// else is left, and then once for everything that was given back.
    bool reserve(uint32_t count) {
        if (available() < count && !waiting_.empty() && available() + waiting_.size() >= count) {
            grace_period_();
            free_.insert(free_.end(), waiting_.begin(), waiting_.end());
            waiting_.clear();
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
    void give_back(uint32_t id) {
        assert(id >= first_ && id < end_ && used_ > 0);
        used_--;
        waiting_.push_back(id);
    }
    [[nodiscard]] uint32_t used() const { return used_; }
    [[nodiscard]] uint32_t capacity() const { return end_ - first_; }

  private:
    [[nodiscard]] size_t available() const { return free_.size() + (end_ - fresh_); }

    uint32_t first_;
    uint32_t fresh_;  ///< ids from here on were never handed out: no list of them is needed
    uint32_t end_;
    uint32_t used_ = 0;
    std::vector<uint32_t> free_;
    std::vector<uint32_t> waiting_;  ///< given back, but readers may still hold them
    std::function<void()> grace_period_;
};

}  // namespace pktpit::fib
