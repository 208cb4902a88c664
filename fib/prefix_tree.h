// SPDX-License-Identifier: BSD-3-Clause
/// The prefixes of one table and family in order, with their groups: what is there, what covers a prefix,
/// what lies inside it. The FIB's writer asks it; readers never do. One thread.
///
/// B-trees: one of the prefixes of up to 16 bits, and for the longer ones either one or, in a large IPv4
/// table, one for each 16 bits that they begin with (split()), which is a handful of cache misses less an
/// update. The short ones are a few thousand of a million, and a change of one of them has to find the others
/// inside it without passing by all longer ones.
#pragma once

#include <absl/container/btree_map.h>

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "fib/prefix_key.h"

namespace pktpit::fib {

template <class Key>
class PrefixTree {
  public:
    static constexpr unsigned short_bits = 16;
    using Item = std::pair<Key, uint32_t>;

    [[nodiscard]] std::optional<uint32_t> find(const Key& key) const {
        const Map& map = map_of(key);
        const auto found = map.find(key);
        return found == map.end() ? std::nullopt : std::optional(found->second);
    }
    void set(const Key& key, uint32_t group) { size_ += map_of(key).insert_or_assign(key, group).second; }
    void erase(const Key& key) { size_ -= map_of(key).erase(key); }
    /// From here on the long prefixes lie in many trees. IPv4 alone: of IPv6, 16 bits tell little apart.
    void split() {
        if constexpr (Key::bits == 32) {
            if (long_.size() > 1) return;
            std::vector<Map> parts(size_t{1} << short_bits);
            for (const auto& [key, group] : long_[0])
                parts[key.bits_at(0, short_bits)].emplace(key, group);
            long_ = std::move(parts);
        }
    }
    [[nodiscard]] size_t size() const { return size_; }

    /// The longest prefix of at most `longest` bits that contains `key`.
    [[nodiscard]] std::optional<Item> cover(const Key& key, unsigned longest) const {
        if (longest > short_bits) {
            const Key probe = key.shortened(longest);
            const Map& map = part_of(key);
            if (auto found = cover_before(map, map.upper_bound(probe), probe)) return found;
        }
        const Key probe = key.shortened(std::min(longest, short_bits));
        return cover_before(short_, short_.upper_bound(probe), probe);
    }

    /// Where a prefix stands, or would: found once for all that a change asks. Valid until the tree changes
    /// by other means.
    struct Place {
        Key key;
        typename absl::btree_map<Key, uint32_t>::iterator at;  ///< the first that is not before `key`
        bool present;
        [[nodiscard]] uint32_t group() const { return at->second; }
    };
    [[nodiscard]] Place locate(const Key& key) {
        const auto at = map_of(key).lower_bound(key);
        return {key, at, at != map_of(key).end() && at->first == key};
    }
    void set(Place& place, uint32_t group) {
        if (place.present)
            place.at->second = group;
        else
            place.at = map_of(place.key).insert(place.at, {place.key, group});
        size_ += !place.present;
        place.present = true;
    }
    void erase(Place& place) {
        place.at = map_of(place.key).erase(place.at);
        place.present = false;
        size_--;
    }
    /// The longest prefix around the place's own.
    [[nodiscard]] std::optional<Item> cover(const Place& place) const {
        const Key& key = place.key;
        if (key.length == 0) return std::nullopt;
        if (auto found = cover_before(map_of(key), place.at, key.shortened(key.length - 1))) return found;
        return key.length > short_bits ? cover(key, short_bits) : std::nullopt;
    }
    /// Is there any prefix inside `outer`, in which the place lies? What lies inside stands together.
    [[nodiscard]] bool any_inside(const Key& outer, const Place& place) const {
        const Map& map = map_of(place.key);
        const auto inside = [&outer](const Key& key) {
            return key.length > outer.length && key.shortened(outer.length) == outer;
        };
        if (outer.length < short_bits) return any_inside(outer);
        if (place.at != map.end() && inside(place.at->first)) return true;
        return place.at != map.begin() && inside(std::prev(place.at)->first);
    }
    /// for_each_inside() of the place's own prefix, which is present or not.
    template <class Visit>
    void for_each_inside(const Place& place, unsigned longest, Visit visit) const {
        if (place.key.length <= short_bits) return for_each_inside(place.key, longest, visit);
        typename Map::const_iterator first = place.at;
        if (place.present) ++first;
        visit_inside(map_of(place.key), first, place.key, longest, visit);
    }

    /// Calls visit(key) for the prefixes of at most `longest` bits inside `outer`, itself not, in order (but
    /// the short ones of the tree first).
    template <class Visit>
    void for_each_inside(const Key& outer, unsigned longest, Visit visit) const {
        if (outer.length < short_bits) visit_inside(short_, short_.upper_bound(outer), outer, longest, visit);
        if (longest <= short_bits) return;
        const auto [first, count] = parts_of(outer);
        for (size_t part = first; part < first + count; part++)
            visit_inside(long_[part], long_[part].upper_bound(outer), outer, longest, visit);
    }
    /// All prefixes of more than short_bits, in order.
    template <class Visit>
    void for_each_long(Visit visit) const {
        for (const Map& part : long_)
            for (const auto& [key, group] : part)
                visit(key);
    }
    /// Is there any prefix inside `outer`, itself not?
    [[nodiscard]] bool any_inside(const Key& outer) const {
        if (outer.length < short_bits && has_inside(short_, outer)) return true;
        const auto [first, count] = parts_of(outer);
        for (size_t part = first; part < first + count; part++)
            if (has_inside(long_[part], outer)) return true;
        return false;
    }

  private:
    using Map = absl::btree_map<Key, uint32_t>;

    [[nodiscard]] Map& map_of(const Key& key) {
        return key.length <= short_bits ? short_ : long_[parts_of(key).first];
    }
    [[nodiscard]] const Map& map_of(const Key& key) const {
        return key.length <= short_bits ? short_ : part_of(key);
    }
    [[nodiscard]] const Map& part_of(const Key& key) const { return long_[parts_of(key).first]; }
    /// Which of long_ the long prefixes inside `outer` lie in: first and number.
    [[nodiscard]] std::pair<size_t, size_t> parts_of(const Key& outer) const {
        if (long_.size() == 1) return {0, 1};
        const unsigned open = short_bits - std::min(outer.length, short_bits);
        return {outer.bits_at(0, short_bits), size_t{1} << open};
    }

    /// Whatever covers `probe` stands before it, and covers all that stands between: so it is the
    /// predecessor, or covers that, and then is no longer than what the two have in common. `at`: the first
    /// behind `probe`.
    static std::optional<Item> cover_before(const Map& map, typename Map::const_iterator at, Key probe) {
        while (at != map.begin()) {
            --at;
            const unsigned common = Key::common_bits(at->first, probe);
            if (common >= at->first.length) return *at;
            probe = probe.shortened(common);
            at = map.upper_bound(probe);
        }
        return std::nullopt;
    }

    static bool has_inside(const Map& map, const Key& outer) {
        const auto at = map.upper_bound(outer);
        return at != map.end() && at->first.shortened(outer.length) == outer;
    }

    template <class Visit>
    static void visit_inside(const Map& map, typename Map::const_iterator at, const Key& outer,
                             unsigned longest, Visit visit) {
        while (at != map.end()) {
            if (at->first.shortened(outer.length) != outer) return;
            if (at->first.length <= longest) {
                visit(at->first);
                ++at;
                continue;
            }
            // Too long: so may be all that follow inside the same slot. A few are passed one by one.
            const Key slot = at->first.shortened(longest);
            for (unsigned tries = 0; at != map.end() && at->first.length > longest && tries < 8; tries++)
                ++at;
            if (at != map.end() && at->first.length > longest && at->first.shortened(longest) == slot)
                at = map.upper_bound(slot.last_inside());
        }
    }

    Map short_;
    std::vector<Map> long_{1};
    size_t size_ = 0;
};

}  // namespace pktpit::fib
