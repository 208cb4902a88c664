// SPDX-License-Identifier: BSD-3-Clause
/// Ranges of buckets in a FIB image: power-of-two sizes, split and merged as in a buddy allocator, the lowest
/// that fits first; reused once no reader can hold them. A call takes a few dozen steps whatever the number
/// of ranges, except one that must wait for a grace period: it merges all that was given back. Of free
/// buckets in pieces too small, none can be had: ranges are never moved here. Writer's thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fib/bit_tree.h"
#include "fib/reclamation.h"

namespace pktpit::fib {

class BucketSpace {
  public:
    /// `count` is a power of two.
    BucketSpace(uint32_t count, Reclamation reclamation);

    /// First bucket of a range of 2^bits, if there is one; waits for a grace period only if there is none
    /// otherwise.
    std::optional<uint32_t> allocate(unsigned bits);
    void give_back(uint32_t first, unsigned bits);

    /// Where 2^bits buckets could be made free with the least moved: the aligned range with the most free
    /// ones. Nothing if fewer than 2^bits are free in all. Looks at all ranges.
    [[nodiscard]] std::optional<uint32_t> emptiest(unsigned bits) const;
    /// Keeps allocate_now() from handing out what is free in this range, until release().
    void hold(uint32_t first, unsigned bits);
    void release();
    /// As allocate(), but does not wait, and takes nothing that was given back of late.
    std::optional<uint32_t> allocate_now(unsigned bits);

    [[nodiscard]] uint32_t used() const { return used_; }
    [[nodiscard]] uint32_t capacity() const { return capacity_; }

  private:
    struct Range {
        uint32_t first;
        unsigned bits;
        uint64_t ticket;
    };
    std::optional<uint32_t> take(unsigned bits);
    void merge(uint32_t first, unsigned bits);
    void collect(size_t most);

    uint32_t capacity_;
    uint32_t used_ = 0;
    std::vector<BitTree> free_;  ///< by log2 of the size: first bucket / size
    std::vector<Range> held_;
    std::deque<Range> waiting_;  ///< given back, but readers may still hold them
    Reclamation reclamation_;
};

}  // namespace pktpit::fib
