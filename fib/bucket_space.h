/// Ranges of buckets in a FIB image: power-of-two sizes, split and merged as in a buddy allocator; reused
/// once no reader can hold them. Writer's thread only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace pktpit::fib {

class BucketSpace {
  public:
    /// `count` is a power of two.
    BucketSpace(uint32_t count, std::function<void()> grace_period);

    /// First bucket of a range of 2^bits, if there is one.
    std::optional<uint32_t> allocate(unsigned bits);
    void give_back(uint32_t first, unsigned bits);
    [[nodiscard]] uint32_t used() const { return used_; }
    [[nodiscard]] uint32_t capacity() const { return capacity_; }

  private:
    std::optional<uint32_t> take(unsigned bits);
    void merge(uint32_t first, unsigned bits);

    struct Range {
        uint32_t first;
        unsigned bits;
    };
    uint32_t capacity_;
    uint32_t used_ = 0;
    std::array<std::set<uint32_t>, 32> free_;  ///< by log2 of the size
    std::vector<Range> waiting_;               ///< given back, but readers may still hold them
    std::function<void()> grace_period_;
};

}  // namespace pktpit::fib
