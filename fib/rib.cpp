// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib.h"

#include <algorithm>
#include <cassert>
#include <deque>
#include <set>
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
    std::array<std::array<size_t, route_source_count>, 2> routes{};  ///< by family and source

    [[nodiscard]] const Candidate* best(const Candidates& candidates) const {
        for (const Candidate& candidate : candidates)
            if (!unusable.contains(candidate.next_hops)) return &candidate;
        return nullptr;
    }

    [[nodiscard]] std::optional<Candidate> best_value(const Candidates& candidates) const {
        const Candidate* found = best(candidates);
        return found ? std::optional(*found) : std::nullopt;
    }

    /// What packets of a prefix meet, and what they are to meet when that fails.
    struct Choice {
        std::optional<Candidate> best;
        NextHopSetId second = 0;
        bool operator==(const Choice&) const = default;
    };

    [[nodiscard]] Choice choose(const Candidates& candidates) const {
        Choice choice;
        for (const Candidate& candidate : candidates) {
            if (!unusable.empty() && unusable.contains(candidate.next_hops)) continue;
            if (!choice.best) {
                choice.best = candidate;
            } else if (candidate.next_hops != choice.best->next_hops) {
                choice.second = candidate.next_hops;
                break;
            }
        }
        return choice;
    }

    Result<void> tell(const Prefix& prefix, const Choice& choice) {
        return changed(prefix, choice.best ? std::optional(route_of(prefix, *choice.best)) : std::nullopt,
                       choice.second);
    }

    /// Has what was told of a prefix with these candidates been overtaken?
    [[nodiscard]] bool stale(const Prefix& prefix, const Candidates& candidates) const {
        if (!refused.empty() && refused.contains(prefix)) return true;
        return !pending.empty() && std::ranges::any_of(candidates, [this](const Candidate& candidate) {
            return std::ranges::any_of(
                pending, [&](const Pending& one) { return one.next_hops == candidate.next_hops; });
        });
    }

    /// Tells first and stores then: a refusal leaves nothing to undo.
    template <class Key>
    Result<void> change(RibTable<Key>& table, const Prefix& prefix, const Candidates& before,
                        const Candidates& after) {
        const Choice now = choose(after);
        if (choose(before) != now || stale(prefix, before))
            if (auto told = tell(prefix, now); !told) return told;
        if (!refused.empty()) refused.erase(prefix);
        table.store(Key::of(prefix), before, after);
        auto& counts = routes[Key::family == Family::ipv6];
        for (const Candidate& candidate : before)
            counts[static_cast<size_t>(candidate.source)]--;
        for (const Candidate& candidate : after)
            counts[static_cast<size_t>(candidate.source)]++;
        return {};
    }

    struct Change {
        Prefix prefix;
        Choice before;
        Choice after;
    };

    /// A set whose prefixes are being told of, and how far that is.
    struct Pending {
        NextHopSetId next_hops = 0;
        RibTable<PrefixKey4>::Place place4;
        RibTable<PrefixKey6>::Place place6;
    };

    /// True when there is nothing left of this family.
    template <class Key>
    bool settle_some(RibTable<Key>& table, NextHopSetId next_hops, typename RibTable<Key>::Place& place,
                     size_t& budget, Result<void>& result) {
        for (; budget > 0; budget--) {
            const auto key = table.next_user(next_hops, place);
            if (!key) return true;
            const Candidates candidates = table.find(*key);
            if (std::ranges::none_of(candidates,
                                     [&](const Candidate& one) { return one.next_hops == next_hops; }))
                continue;
            const Prefix prefix = key->prefix();
            if (auto told = tell(prefix, choose(candidates)); !told) {
                refused.insert(prefix);
                result = told;
            } else if (!refused.empty()) {
                refused.erase(prefix);
            }
        }
        return false;
    }

    /// Prefixes inside which is to be told again, and how far that is.
    template <class Key>
    struct Inside {
        absl::btree_set<Key> roots;
        std::optional<Key> root;  ///< under way
        Key at;                   ///< up to here
        bool past = false;        ///< what is inside that is not the root's to tell of
        [[nodiscard]] bool empty() const { return !root && roots.empty(); }
    };
    Inside<PrefixKey4> inside4;
    Inside<PrefixKey6> inside6;

    template <class Key>
    static bool lies_inside(const Key& key, const Key& root) {
        return key.length > root.length && key.shortened(root.length) == root;
    }

    template <class Key>
    static void ask_inside(const RibTable<Key>& table, Inside<Key>& inside, const Key& root) {
        const auto first = table.next(root, false);
        if (first && lies_inside(*first, root)) inside.roots.insert(root);
    }

    /// What a prefix with a best route has inside it hangs on that; where this one becomes another, it asks
    /// itself.
    template <class Key>
    void settle_inside(const RibTable<Key>& table, Inside<Key>& inside, size_t& budget,
                       Result<void>& result) {
        for (; budget > 0 && !inside.empty(); budget--) {
            if (!inside.root) {
                inside.root = inside.at = *inside.roots.begin();
                inside.roots.erase(inside.roots.begin());
                inside.past = false;
            }
            const auto next = table.next(inside.at, inside.past);
            if (!next || !lies_inside(*next, *inside.root)) {
                inside.root.reset();
                continue;
            }
            inside.at = *next;
            const Choice choice = choose(table.find(*next));
            inside.past = choice.best.has_value();
            if (!choice.best || choice.second != 0) continue;
            const Prefix prefix = next->prefix();
            if (auto told = tell(prefix, choice); !told) {
                refused.insert(prefix);
                result = told;
            }
        }
    }

    std::deque<Pending> pending;
    Result<void> settle_best(size_t& prefixes);

    std::set<Prefix> refused;  ///< what was told of them was not taken
    std::vector<Prefix> to_retry;

    template <class Key>
    void collect_changes(RibTable<Key>& table, NextHopSetId next_hops, bool usable,
                         std::vector<Change>& changes) {
        for (const Key& key : table.users_of(next_hops)) {
            const Candidates candidates = table.find(key);
            const auto before = choose(candidates);
            set_flag(next_hops, usable);
            const auto after = choose(candidates);
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

namespace {

std::optional<Route> route_from(const Prefix& prefix, const Candidates& candidates, RouteSource source) {
    for (const Candidate& candidate : candidates)
        if (candidate.source == source) return route_of(prefix, candidate);
    return std::nullopt;
}

}  // namespace

Result<std::optional<Route>> Rib::exchange(const Route& route) {
    if (route.next_hops == 0) return fail(route.prefix.to_string(), "a route without next hops");
    return with_table(*state_, route.prefix.address.family,
                      [&]<class Key>(RibTable<Key>& table, Key) -> Result<std::optional<Route>> {
                          const Candidates before = table.find(Key::of(route.prefix));
                          Candidates after = before;
                          after.insert({route.next_hops, route.metric, route.source, route.preference});
                          if (auto changed = state_->change(table, route.prefix, before, after); !changed)
                              return tl::unexpected(changed.error());
                          return route_from(route.prefix, before, route.source);
                      });
}

Result<std::optional<Route>> Rib::take(const Prefix& prefix, RouteSource source) {
    return with_table(*state_, prefix.address.family,
                      [&]<class Key>(RibTable<Key>& table, Key) -> Result<std::optional<Route>> {
                          const Candidates before = table.find(Key::of(prefix));
                          Candidates after = before;
                          if (!after.erase(source)) return std::optional<Route>();
                          if (auto changed = state_->change(table, prefix, before, after); !changed)
                              return tl::unexpected(changed.error());
                          return route_from(prefix, before, source);
                      });
}

Result<void> Rib::set(const Route& route) {
    if (auto before = exchange(route); !before) return tl::unexpected(before.error());
    return {};
}

Result<bool> Rib::erase(const Prefix& prefix, RouteSource source) {
    const auto before = take(prefix, source);
    if (!before) return tl::unexpected(before.error());
    return before->has_value();
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

// One that is under way already begins anew: what it has told so far may be what is not to be any more.
void Rib::begin_set_usable(NextHopSetId next_hops, bool usable) {
    State& s = *state_;
    if (s.unusable.contains(next_hops) != usable) return;
    s.set_flag(next_hops, usable);
    std::erase_if(s.pending, [&](const State::Pending& one) { return one.next_hops == next_hops; });
    State::Pending begun;
    begun.next_hops = next_hops;
    if (s.table4.has_users(next_hops) || s.table6.has_users(next_hops)) s.pending.push_back(begun);
}

void Rib::tell_inside(const Prefix& prefix) {
    State& s = *state_;
    if (prefix.address.is_v4())
        s.ask_inside(s.table4, s.inside4, PrefixKey4::of(prefix));
    else
        s.ask_inside(s.table6, s.inside6, PrefixKey6::of(prefix));
}

Result<void> Rib::tell_again(const Prefix& prefix) {
    const auto choice =
        with_table(*state_, prefix.address.family, [&]<class Key>(const RibTable<Key>& table, Key) {
            return state_->choose(table.find(Key::of(prefix)));
        });
    auto told = state_->tell(prefix, choice);
    if (!told) state_->refused.insert(prefix);
    return told;
}

Result<void> Rib::settle_best(size_t prefixes) {
    return state_->settle_best(prefixes);
}

bool Rib::best_settled() const {
    return state_->pending.empty() && state_->to_retry.empty();
}

Result<void> Rib::settle(size_t prefixes) {
    State& s = *state_;
    auto result = s.settle_best(prefixes);
    s.settle_inside(s.table4, s.inside4, prefixes, result);
    s.settle_inside(s.table6, s.inside6, prefixes, result);
    return result;
}

// Sets that became usable first: what is to be used comes before what is not goes.
Result<void> Rib::State::settle_best(size_t& prefixes) {
    State& s = *this;
    Result<void> result;
    for (; !s.to_retry.empty() && prefixes > 0; prefixes--) {
        const Prefix prefix = s.to_retry.back();
        s.to_retry.pop_back();
        const auto choice =
            with_table(s, prefix.address.family, [&]<class Key>(const RibTable<Key>& table, Key) {
                return s.choose(table.find(Key::of(prefix)));
            });
        if (auto told = s.tell(prefix, choice); !told)
            result = told;
        else
            s.refused.erase(prefix);
    }
    while (!s.pending.empty() && prefixes > 0) {
        auto next = std::ranges::find_if(
            s.pending, [&](const State::Pending& one) { return !s.unusable.contains(one.next_hops); });
        if (next == s.pending.end()) next = s.pending.begin();
        if (s.settle_some(s.table4, next->next_hops, next->place4, prefixes, result) &&
            s.settle_some(s.table6, next->next_hops, next->place6, prefixes, result))
            s.pending.erase(next);
    }
    return result;
}

bool Rib::settled() const {
    return best_settled() && state_->inside4.empty() && state_->inside6.empty();
}

bool Rib::settled(NextHopSetId next_hops) const {
    return std::ranges::none_of(state_->pending,
                                [&](const State::Pending& one) { return one.next_hops == next_hops; });
}

void Rib::retry() {
    state_->to_retry.assign(state_->refused.begin(), state_->refused.end());
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

std::optional<Route> Rib::match_of_link(const IpAddress& address) const {
    std::optional<Route> matched;
    with_table(*state_, address.family, [&]<class Key>(const RibTable<Key>& table, Key) {
        table.for_each_match(Key::of(address, Key::bits), [&](const Key& key, const Candidates& found) {
            const Prefix prefix = key.prefix();
            for (const Candidate& candidate : found) {
                const bool host = candidate.source == RouteSource::connected && prefix.length == Key::bits;
                if (host || state_->unusable.contains(candidate.next_hops)) continue;
                matched = route_of(prefix, candidate);
                return false;
            }
            return true;
        });
    });
    return matched;
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

void Rib::for_each_from(Family family, const std::optional<Prefix>& from, bool with_from,
                        const VisitPrefix& visit) const {
    with_table(*state_, family, [&]<class Key>(const RibTable<Key>& table, Key) {
        const auto& keys = table.sorted_keys();
        auto at = keys.begin();
        if (from) at = with_from ? keys.lower_bound(Key::of(*from)) : keys.upper_bound(Key::of(*from));
        while (at != keys.end() && visit(at->prefix()))
            ++at;
    });
}

size_t Rib::size(Family family, RouteSource source) const {
    return state_->routes[family == Family::ipv6][static_cast<size_t>(source)];
}

size_t Rib::memory_bytes() const {
    return state_->table4.memory_bytes() + state_->table6.memory_bytes();
}

size_t Rib::size(RouteSource source) const {
    return size(Family::ipv4, source) + size(Family::ipv6, source);
}

}  // namespace pktpit::fib
