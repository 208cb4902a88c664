// SPDX-License-Identifier: BSD-3-Clause
/// The prefixes of one family in a RouteTable, each with the routes that the kernel has for it and the one
/// that the listener knows. Used by RouteTable alone; one thread.
///
/// A million of them are walked through in turns, with changes in between: so they lie in a row where their
/// number stays the same for as long as they live, and a hash table says the number of a prefix.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "fib/parted_map.h"
#include "router/kernel/route_bodies.h"

namespace pktpit::router {

/// One route of the kernel for a prefix.
struct RouteAlternative {
    uint32_t metric = 0;
    RouteBodies::Id body = RouteBodies::none;
    uint32_t generation = 0;
};
using RouteAlternatives = std::vector<RouteAlternative>;  ///< of one metric: in the kernel's order

/// Most prefixes have one route, which lies in the entry itself.
template <class Key>
struct RouteEntry {
    Key key;
    RouteAlternative first;  ///< no body: there is none
    uint32_t told_metric = 0;
    RouteBodies::Id told = RouteBodies::none;  ///< what the listener knows; held
    std::unique_ptr<RouteAlternatives> rest;

    /// Not in use, since one without routes is erased.
    [[nodiscard]] bool empty() const { return first.body == RouteBodies::none; }
    void load(RouteAlternatives& all) const {
        all.clear();
        if (empty()) return;
        all.push_back(first);
        if (rest) all.insert(all.end(), rest->begin(), rest->end());
    }
    void store(const RouteAlternatives& all) {
        first = all.empty() ? RouteAlternative{} : all.front();
        if (all.size() > 1)
            rest = std::make_unique<RouteAlternatives>(all.begin() + 1, all.end());
        else
            rest.reset();
    }
    /// Does `of` hold for one of its routes?
    template <class Of>
    [[nodiscard]] bool any(Of of) const {
        return !empty() && (of(first) || (rest && std::any_of(rest->begin(), rest->end(), of)));
    }
};

template <class Key>
class RouteEntries {
  public:
    using Entry = RouteEntry<Key>;
    using Number = uint32_t;

    /// Valid until it is erased.
    [[nodiscard]] Entry* find(const Key& key) {
        const Number* number = index_.find(key);
        return number ? &row_[*number] : nullptr;
    }
    [[nodiscard]] const Entry* find(const Key& key) const {
        return const_cast<RouteEntries*>(this)->find(key);
    }
    Entry& find_or_add(const Key& key) {
        const auto [place, added] = index_.try_add(key, Number{0});
        if (!added) return row_[*place];
        Number number = static_cast<Number>(row_.size());
        if (free_.empty()) {
            row_.emplace_back();
        } else {
            number = free_.back();
            free_.pop_back();
        }
        *place = number;
        Entry& entry = row_[number];
        entry.key = key;
        return entry;
    }
    void erase(const Key& key) {
        const Number* number = index_.find(key);
        if (!number) return;
        row_[*number] = Entry{};
        free_.push_back(*number);
        index_.erase(key);
        // The memory of a table that is gone is given back.
        if (index_.size() == 0) *this = RouteEntries{};
    }

    [[nodiscard]] size_t size() const { return index_.size(); }
    /// Computed, without what prefixes of several routes have beside.
    [[nodiscard]] size_t memory_bytes() const {
        return row_.size() * sizeof(Entry) + free_.capacity() * sizeof(Number) + index_.memory_bytes();
    }
    /// All numbers are below; the entries of some may be empty.
    [[nodiscard]] Number end() const { return static_cast<Number>(row_.size()); }
    [[nodiscard]] Entry& operator[](Number number) { return row_[number]; }
    [[nodiscard]] const Entry& operator[](Number number) const { return row_[number]; }

  private:
    fib::PartedMap<Key, Number> index_;
    std::deque<Entry> row_;
    std::vector<Number> free_;
};

}  // namespace pktpit::router
