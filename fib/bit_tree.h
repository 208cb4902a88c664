// SPDX-License-Identifier: BSD-3-Clause
/// A set of small numbers that finds its least member in a few steps whatever its size: bits in words, and
/// above them, for each word, a bit that says whether it holds any. Writer's thread only.
#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace pktpit::fib {

class BitTree {
  public:
    /// For numbers below `size`.
    explicit BitTree(size_t size) {
        do {
            size = (size + 63) / 64;
            levels_.emplace_back(size);
        } while (size > 1);
    }
    void insert(size_t number) {
        for (auto& level : levels_) {
            level[number / 64] |= uint64_t{1} << number % 64;
            number /= 64;
        }
    }
    /// Whether it was there.
    bool erase(size_t number) {
        if (!contains(number)) return false;
        for (auto& level : levels_) {
            level[number / 64] &= ~(uint64_t{1} << number % 64);
            if (level[number / 64] != 0) break;
            number /= 64;
        }
        return true;
    }
    [[nodiscard]] bool contains(size_t number) const { return levels_[0][number / 64] >> number % 64 & 1; }
    [[nodiscard]] bool empty() const { return levels_.back()[0] == 0; }
    /// The least member. Not of an empty set.
    [[nodiscard]] size_t first() const {
        assert(!empty());
        size_t number = 0;
        for (size_t level = levels_.size(); level-- > 0;)
            number = number * 64 + static_cast<size_t>(std::countr_zero(levels_[level][number]));
        return number;
    }
    /// Each member, ascending.
    template <class Function>
    void for_each(Function function) const {
        for (size_t word = 0; word < levels_[0].size(); word++)
            for (uint64_t left = levels_[0][word]; left != 0; left &= left - 1)
                function(word * 64 + static_cast<size_t>(std::countr_zero(left)));
    }

  private:
    std::vector<std::vector<uint64_t>> levels_;  ///< the bits first, one word last
};

}  // namespace pktpit::fib
