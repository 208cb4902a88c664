// SPDX-License-Identifier: BSD-3-Clause
/// Prefixes of one family with a value each: exact match, and the longest match by probing the lengths that
/// occur. For the writer's side (FibImage, Rib), not for packets. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <vector>

#include "fib/parted_map.h"

namespace pktpit::fib {

template <class Key, class Value>
class PrefixMap {
  public:
    /// Valid until the next change.
    [[nodiscard]] const Value* find(const Key& key) const { return map_.find(key); }
    void set(const Key& key, const Value& value) {
        const auto [place, added] = map_.try_add(key, value);
        if (!added)
            *place = value;
        else if (count_by_length_[key.length]++ == 0)
            lengths_.set(key.length);
    }
    bool erase(const Key& key) {
        if (!map_.erase(key)) return false;
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
        map_.for_each_key([&](const Key& key) { keys.push_back(key); });
        return keys;
    }
    [[nodiscard]] size_t size() const { return map_.size(); }
    [[nodiscard]] size_t memory_bytes() const { return map_.memory_bytes(); }

  private:
    PartedMap<Key, Value> map_;
    std::bitset<Key::bits + 1> lengths_;
    std::array<uint32_t, Key::bits + 1> count_by_length_{};
};

}  // namespace pktpit::fib
