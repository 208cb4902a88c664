// SPDX-License-Identifier: BSD-3-Clause
/// The routes of one family in a Rib: candidates by prefix, and the prefixes by next-hop set. Used by Rib
/// alone. One thread.
///
/// Most prefixes of a large table have one route of one source, so one candidate lies in the hash table
/// itself (24 bytes a prefix for IPv4) and only the others elsewhere. The prefixes lie once more in a B-tree
/// (some 12 bytes each), so that a walk in their order needs no more than the place where it is.
#pragma once

#include <absl/container/btree_set.h>
#include <tsl/robin_map.h>

#include <array>
#include <tuple>
#include <vector>

#include "fib/prefix_map.h"
#include "fib/rib.h"

namespace pktpit::fib {

struct Candidate {
    NextHopSetId next_hops = 0;
    uint32_t metric = 0;
    RouteSource source = RouteSource::config;
    uint8_t preference = 0;

    [[nodiscard]] auto rank() const { return std::tuple(preference, metric, source); }
    bool operator==(const Candidate&) const = default;
};

/// The routes of one prefix, best first; at most one of each source.
class Candidates {
  public:
    [[nodiscard]] const Candidate* begin() const { return items_.data(); }
    [[nodiscard]] const Candidate* end() const { return items_.data() + size_; }
    [[nodiscard]] size_t size() const { return size_; }
    void append(const Candidate& candidate) { items_[size_++] = candidate; }
    /// Keeps the order; replaces the source's candidate.
    void insert(const Candidate& candidate);
    bool erase(RouteSource source);

  private:
    std::array<Candidate, route_source_count> items_{};
    size_t size_ = 0;
};

template <class Key>
class RibTable {
  public:
    [[nodiscard]] Candidates find(const Key& key) const;
    /// Replaces all candidates of the prefix; an empty list removes it.
    void store(const Key& key, const Candidates& before, const Candidates& after);
    /// Prefixes with a candidate of this set, each once.
    std::vector<Key> users_of(NextHopSetId next_hops);
    /// Where a walk through a set's users is.
    struct Place {
        size_t parts = 0;  ///< of the list; 0: the walk has not begun
        size_t part = 0;
        size_t at = 0;
        uint32_t revision = 0;
    };
    /// The next one, or one that was; nothing: that was all. Who is a user all the time is met, some of them
    /// twice, whatever changes between two calls.
    [[nodiscard]] std::optional<Key> next_user(NextHopSetId next_hops, Place& place) const;
    [[nodiscard]] bool has_users(NextHopSetId next_hops) const { return users_.contains(next_hops); }
    /// The longest prefix around the address whose candidates `accept` takes.
    template <class Accept>
    [[nodiscard]] std::optional<Key> match(const Key& address, Accept accept) const {
        const auto found = prefixes_.match(address, static_cast<int>(Key::bits),
                                           [&](const Slot& slot) { return accept(unpack(slot)); });
        return found ? std::optional(found->first) : std::nullopt;
    }
    /// Every prefix around the address, longest first, until `visit` returns false.
    template <class Visit>
    void for_each_match(const Key& address, Visit visit) const {
        int longest = static_cast<int>(Key::bits);
        for (;;) {
            const auto found = prefixes_.match(address, longest, [](const Slot&) { return true; });
            if (!found || !visit(found->first, unpack(found->second))) return;
            longest = static_cast<int>(found->first.length) - 1;
        }
    }
    [[nodiscard]] std::vector<Key> keys() const { return prefixes_.keys(); }
    /// In order; valid until the next change.
    [[nodiscard]] const absl::btree_set<Key>& sorted_keys() const { return order_; }
    /// The first one behind `key` in order, or (`past`) behind all that is inside it.
    [[nodiscard]] std::optional<Key> next(const Key& key, bool past) const {
        const auto at = order_.upper_bound(past ? key.last_inside() : key);
        return at == order_.end() ? std::nullopt : std::optional(*at);
    }
    [[nodiscard]] size_t size() const { return prefixes_.size(); }
    /// Computed; nodes of the B-tree as three quarters full.
    [[nodiscard]] size_t memory_bytes() const {
        size_t bytes = prefixes_.memory_bytes() + order_.size() * sizeof(Key) * 4 / 3 +
                       rests_.capacity() * sizeof(Rest) + free_rests_.capacity() * sizeof(uint32_t);
        for (const auto& [next_hops, users] : users_) {
            bytes += sizeof(users) + users.parts.capacity() * sizeof(Part);
            for (const Part& part : users.parts)
                bytes += part.keys.capacity() * sizeof(Key);
        }
        return bytes;
    }

  private:
    using Rest = std::array<Candidate, route_source_count - 1>;
    struct Slot {
        Candidate first;
        uint32_t rest = 0;  ///< 0: no other; else index + 1 in rests_
    };
    /// Prefixes that had a candidate of a set when they were added. Those that lost it since are weeded out
    /// only when they are the larger half: 8 bytes a route instead of a linked list's 24.
    struct Part {
        std::vector<Key> keys;
        size_t live = 0;
        uint32_t revision = 0;  ///< places in `keys` have changed
    };
    /// A list that is long is kept in many, since a million prefixes would be weeded in one go.
    struct Users {
        static constexpr size_t longest_single = 1 << 14;
        static constexpr size_t most_parts = 64;
        std::vector<Part> parts = std::vector<Part>(1);
        size_t live = 0;

        Part& part_of(const Key& key) { return parts[PrefixKeyHash()(key) >> 40 & (parts.size() - 1)]; }
    };

    [[nodiscard]] Candidates unpack(const Slot& slot) const;
    void count_users(const Key& key, const Candidates& before, const Candidates& after);
    void add_user(const Key& key, NextHopSetId next_hops, Users& users);
    void weed(NextHopSetId next_hops, Part& part) const;
    void split(NextHopSetId next_hops, Users& users) const;
    [[nodiscard]] size_t candidates_of(NextHopSetId next_hops, const Key& key) const;

    PrefixMap<Key, Slot> prefixes_;
    absl::btree_set<Key> order_;
    std::vector<Rest> rests_;  ///< unused candidates at the end have next_hops 0
    std::vector<uint32_t> free_rests_;
    tsl::robin_map<NextHopSetId, Users> users_;
};

extern template class RibTable<PrefixKey4>;
extern template class RibTable<PrefixKey6>;

}  // namespace pktpit::fib
