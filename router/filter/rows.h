// SPDX-License-Identifier: BSD-3-Clause
/// Bit vectors of rules, and the rows of one field's classes. Used by what compiles a filter; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace pktpit::router {

/// One bit a rule.
class RuleBits {
  public:
    explicit RuleBits(size_t rules) : words_((rules + 63) / 64) {}
    void set(size_t rule) { words_[rule / 64] |= uint64_t{1} << rule % 64; }
    void clear(size_t rule) { words_[rule / 64] &= ~(uint64_t{1} << rule % 64); }
    RuleBits& operator|=(const RuleBits& other) {
        for (size_t i = 0; i < words_.size(); i++)
            words_[i] |= other.words_[i];
        return *this;
    }
    [[nodiscard]] const std::vector<uint64_t>& words() const { return words_; }
    bool operator==(const RuleBits&) const = default;

  private:
    std::vector<uint64_t> words_;
};

/// The classes of a field. Values that the same rules take are of one class.
class Rows {
  public:
    /// `rules`: bits of a row.
    explicit Rows(size_t rules) : words_((rules + 63) / 64) {}
    /// A class more, though another may have the same rules.
    uint32_t add(const RuleBits& bits);
    /// The class of these rules, from `first` on; a new one where there is none.
    uint32_t class_of(const RuleBits& bits, uint32_t first);
    [[nodiscard]] size_t size() const { return words_ == 0 ? 0 : flat_.size() / words_; }
    [[nodiscard]] const uint64_t* row(size_t number) const { return flat_.data() + number * words_; }

  private:
    size_t words_;
    std::vector<uint64_t> flat_;  ///< one row after the other
    std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace pktpit::router
