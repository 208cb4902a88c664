// SPDX-License-Identifier: BSD-3-Clause
/// A hash table of prefixes made of many small ones: one that grows moves all that it holds in one go, which
/// for a million prefixes stops everything else of its thread for a fifth of a second. One thread.
#pragma once

#include <tsl/robin_map.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fib/prefix_key.h"

namespace pktpit::fib {

template <class Key, class Value>
class PartedMap {
  public:
    // A full table fits 2^21 buckets at this load; at the library's default of 0.5 it would take twice that.
    PartedMap() {
        for (Part& part : parts_)
            part.max_load_factor(0.8f);
    }

    /// Valid until the next change.
    [[nodiscard]] Value* find(const Key& key) {
        const Hashed hashed(key);
        Part& part = parts_[hashed.part];
        const auto found = part.find(key, hashed.hash);
        return found == part.end() ? nullptr : &found.value();
    }
    [[nodiscard]] const Value* find(const Key& key) const { return const_cast<PartedMap*>(this)->find(key); }
    /// The value of the key, and whether it was added now.
    std::pair<Value*, bool> try_add(const Key& key, const Value& value) {
        const auto [place, added] = parts_[Hashed(key).part].try_emplace(key, value);
        size_ += added;
        return {&place.value(), added};
    }
    bool erase(const Key& key) {
        const Hashed hashed(key);
        const bool erased = parts_[hashed.part].erase(key, hashed.hash) != 0;
        size_ -= erased;
        return erased;
    }
    /// In no order.
    template <class Visit>
    void for_each_key(Visit visit) const {
        for (const Part& part : parts_)
            for (const auto& [key, value] : part)
                visit(key);
    }
    [[nodiscard]] size_t size() const { return size_; }
    /// Computed: a bucket is a pair, its distance and the hash's low bits.
    [[nodiscard]] size_t memory_bytes() const {
        size_t buckets = 0;
        for (const Part& part : parts_)
            buckets += part.bucket_count();
        return buckets * (sizeof(std::pair<Key, Value>) + sizeof(uint32_t));
    }

  private:
    static constexpr size_t part_count = 64;
    using Part = tsl::robin_map<Key, Value, PrefixKeyHash>;
    struct Hashed {
        explicit Hashed(const Key& key) : hash(PrefixKeyHash()(key)) {}
        size_t hash;
        /// By other bits than the part's own, which are the lowest.
        size_t part = hash >> 40 & (part_count - 1);
    };

    std::array<Part, part_count> parts_;
    size_t size_ = 0;
};

}  // namespace pktpit::fib
