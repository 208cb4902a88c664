// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib.h"

#include <cassert>
#include <unordered_set>

#include "fib/rib_table.h"

namespace pktpit::fib {
namespace {

Route route_of(const Prefix& prefix, const Candidate& candidate) {
    return {prefix, candidate.source, candidate.preference, candidate.metric, candidate.next_hops};
}

/// Applies `function` to the table of the family.
template <class Tables, class Function>
auto with_table(Tables& tables, Family family, Function function) {
    return family == Family::ipv4 ? function(tables.table4, PrefixKey4{})
                                  : function(tables.table6, PrefixKey6{});
}

}  // namespace

std::string_view to_string(RouteSource source) {
    switch (source) {
        case RouteSource::connected:
            return "connected";
        case RouteSource::config:
            return "config";
        case RouteSource::cli:
            return "cli";
        case RouteSource::fpm:
            return "fpm";
        case RouteSource::kernel:
            return "kernel";
    }
    return "unknown";
}

struct Rib::State {
    BestRouteChanged changed;
    RibTable<PrefixKey4> table4;
    RibTable<PrefixKey6> table6;
    std::unordered_set<NextHopSetId> unusable;
    std::array<size_t, route_source_count> routes{};

    [[nodiscard]] const Candidate* best(const Candidates& candidates) const {
        for (const Candidate& candidate : candidates)
            if (!unusable.contains(candidate.next_hops)) return &candidate;
        return nullptr;
    }

    [[nodiscard]] std::optional<Candidate> best_value(const Candidates& candidates) const {
        const Candidate* found = best(candidates);
        return found ? std::optional(*found) : std::nullopt;
    }

    Result<void> tell(const Prefix& prefix, const std::optional<Candidate>& candidate) {
        return changed(prefix, candidate ? std::optional(route_of(prefix, *candidate)) : std::nullopt);
    }

    /// Tells first and stores then: a refusal leaves nothing to undo.
    template <class Key>
    Result<void> change(RibTable<Key>& table, const Prefix& prefix, const Candidates& before,
                        const Candidates& after) {
        const auto new_best = best_value(after);
        if (best_value(before) != new_best)
            if (auto told = tell(prefix, new_best); !told) return told;
        table.store(Key::of(prefix), before, after);
        for (const Candidate& candidate : before)
            routes[static_cast<size_t>(candidate.source)]--;
        for (const Candidate& candidate : after)
            routes[static_cast<size_t>(candidate.source)]++;
        return {};
    }

    struct Change {
        Prefix prefix;
        std::optional<Candidate> before;
        std::optional<Candidate> after;
    };

    template <class Key>
    void collect_changes(RibTable<Key>& table, NextHopSetId next_hops, bool usable,
                         std::vector<Change>& changes) {
        for (const Key& key : table.users_of(next_hops)) {
            const Candidates candidates = table.find(key);
            const auto before = best_value(candidates);
            set_flag(next_hops, usable);
            const auto after = best_value(candidates);
            set_flag(next_hops, !usable);
            if (before != after) changes.push_back({key.prefix(), before, after});
        }
    }

    void set_flag(NextHopSetId next_hops, bool usable) {
        if (usable)
            unusable.erase(next_hops);
        else
            unusable.insert(next_hops);
    }
};

Rib::Rib(BestRouteChanged changed) : state_(std::make_unique<State>()) {
    state_->changed = std::move(changed);
}
Rib::~Rib() = default;

Result<void> Rib::set(const Route& route) {
    if (route.next_hops == 0) return fail(route.prefix.to_string(), "a route without next hops");
    return with_table(*state_, route.prefix.address.family, [&]<class Key>(RibTable<Key>& table, Key) {
        const Candidates before = table.find(Key::of(route.prefix));
        Candidates after = before;
        after.insert({route.next_hops, route.metric, route.source, route.preference});
        return state_->change(table, route.prefix, before, after);
    });
}

Result<bool> Rib::erase(const Prefix& prefix, RouteSource source) {
    return with_table(*state_, prefix.address.family,
                      [&]<class Key>(RibTable<Key>& table, Key) -> Result<bool> {
                          const Candidates before = table.find(Key::of(prefix));
                          Candidates after = before;
                          if (!after.erase(source)) return false;
                          if (auto changed = state_->change(table, prefix, before, after); !changed)
                              return tl::unexpected(changed.error());
                          return true;
                      });
}

Result<void> Rib::set_usable(NextHopSetId next_hops, bool usable) {
    State& s = *state_;
    if (s.unusable.contains(next_hops) != usable) return {};
    std::vector<State::Change> changes;
    s.collect_changes(s.table4, next_hops, usable, changes);
    s.collect_changes(s.table6, next_hops, usable, changes);
    for (size_t i = 0; i < changes.size(); i++) {
        auto told = s.tell(changes[i].prefix, changes[i].after);
        if (told) continue;
        // Going back needs nothing that was not there before; whoever is told has no reason to refuse it.
        while (i-- > 0)
            (void)s.tell(changes[i].prefix, changes[i].before);
        return told;
    }
    s.set_flag(next_hops, usable);
    return {};
}

std::vector<Route> Rib::candidates(const Prefix& prefix) const {
    std::vector<Route> result;
    const Candidates found =
        with_table(*state_, prefix.address.family,
                   [&]<class Key>(const RibTable<Key>& table, Key) { return table.find(Key::of(prefix)); });
    for (const bool usable : {true, false})
        for (const Candidate& candidate : found)
            if (state_->unusable.contains(candidate.next_hops) != usable)
                result.push_back(route_of(prefix, candidate));
    return result;
}

std::optional<Route> Rib::best(const Prefix& prefix) const {
    return with_table(*state_, prefix.address.family,
                      [&]<class Key>(const RibTable<Key>& table, Key) -> std::optional<Route> {
                          const auto found = state_->best_value(table.find(Key::of(prefix)));
                          return found ? std::optional(route_of(prefix, *found)) : std::nullopt;
                      });
}

std::optional<Route> Rib::match(const IpAddress& address) const {
    return with_table(
        *state_, address.family, [&]<class Key>(const RibTable<Key>& table, Key) -> std::optional<Route> {
            const auto key = table.match(Key::of(address, Key::bits), [&](const Candidates& found) {
                return state_->best(found) != nullptr;
            });
            return key ? best(key->prefix()) : std::nullopt;
        });
}

void Rib::for_each_containing(const IpAddress& address, const VisitContaining& visit) const {
    with_table(*state_, address.family, [&]<class Key>(const RibTable<Key>& table, Key) {
        table.for_each_match(Key::of(address, Key::bits), [&](const Key& key, const Candidates& found) {
            for (const Candidate& candidate : found)
                if (!visit(route_of(key.prefix(), candidate))) return false;
            return true;
        });
    });
}

template <class Table, class Keys>
void Rib::visit_each(const Table& table, const Keys& keys, const Visit& visit) const {
    for (const auto& key : keys) {
        const Candidates candidates = table.find(key);
        const Candidate* best = state_->best(candidates);
        for (const Candidate& candidate : candidates)
            if (!visit(route_of(key.prefix(), candidate), &candidate == best)) return;
    }
}

void Rib::for_each(Family family, const Visit& visit) const {
    with_table(*state_, family, [&]<class Key>(const RibTable<Key>& table, Key) {
        visit_each(table, table.sorted_keys(), visit);
    });
}

void Rib::for_each_unordered(Family family, const Visit& visit) const {
    with_table(*state_, family,
               [&]<class Key>(const RibTable<Key>& table, Key) { visit_each(table, table.keys(), visit); });
}

size_t Rib::size(Family family) const {
    return with_table(*state_, family,
                      []<class Key>(const RibTable<Key>& table, Key) { return table.size(); });
}

size_t Rib::size(RouteSource source) const {
    return state_->routes[static_cast<size_t>(source)];
}

}  // namespace pktpit::fib
