// SPDX-License-Identifier: BSD-3-Clause
/// Prefixes of one family with a value each: exact match, and the longest match by probing the lengths that
/// occur. For the writer's side (FibImage, Rib), not for packets. One thread.
#pragma once

#include <tsl/robin_map.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <vector>

#include "fib/prefix_key.h"

namespace pktpit::fib {

template <class Key, class Value>
class PrefixMap {
  public:
    // A full table fits 2^21 buckets at this load; at the library's default of 0.5 it would take twice that.
    PrefixMap() { map_.max_load_factor(0.8f); }

    /// Valid until the next change.
    [[nodiscard]] const Value* find(const Key& key) const {
        const auto found = map_.find(key);
        return found == map_.end() ? nullptr : &found->second;
    }
    void set(const Key& key, const Value& value) {
        const auto [place, inserted] = map_.insert_or_assign(key, value);
        if (inserted && count_by_length_[key.length]++ == 0) lengths_.set(key.length);
    }
    bool erase(const Key& key) {
        if (map_.erase(key) == 0) return false;
        if (--count_by_length_[key.length] == 0) lengths_.reset(key.length);
        return true;
    }
    /// The longest prefix around `key`, not longer than `longest`, whose value `accept` takes.
    template <class Accept>
    [[nodiscard]] std::optional<std::pair<Key, Value>> match(const Key& key, int longest,
                                                             Accept accept) const {
        for (int length = longest; length >= 0; length--) {
            if (!lengths_[static_cast<size_t>(length)]) continue;
            const Key candidate = key.shortened(static_cast<unsigned>(length));
            if (const Value* value = find(candidate); value && accept(*value))
                return std::pair{candidate, *value};
        }
        return std::nullopt;
    }
    /// In no order.
    [[nodiscard]] std::vector<Key> keys() const {
        std::vector<Key> keys;
        keys.reserve(map_.size());
        for (const auto& [key, value] : map_)
            keys.push_back(key);
        return keys;
    }
    [[nodiscard]] size_t size() const { return map_.size(); }
    /// Computed: a bucket is a pair, its distance and the hash's low bits.
    [[nodiscard]] size_t memory_bytes() const {
        return map_.bucket_count() * (sizeof(std::pair<Key, Value>) + sizeof(uint32_t));
    }

  private:
    tsl::robin_map<Key, Value, PrefixKeyHash> map_;
    std::bitset<Key::bits + 1> lengths_;
    std::array<uint32_t, Key::bits + 1> count_by_length_{};
};

}  // namespace pktpit::fib
