// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/route_table.h"

#include <linux/rtnetlink.h>

#include <tuple>

namespace pktpit::router {

namespace {

bool is_terminal(uint8_t type) {
    return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT || type == RTN_THROW;
}

/// Order of RFC 4191: high, medium, low.
int rank(uint8_t preference) {
    return preference == 1 ? 0 : preference == 3 ? 2 : 1;
}

bool same_way(const KernelNextHop& a, const KernelNextHop& b) {
    return a.ifindex == b.ifindex && a.gateway == b.gateway;
}

bool before(const KernelNextHop& a, const KernelNextHop& b) {
    return std::tie(a.ifindex, a.gateway) < std::tie(b.ifindex, b.gateway);
}

bool contains(const std::vector<KernelNextHop>& hops, const KernelNextHop& wanted) {
    return std::any_of(hops.begin(), hops.end(),
                       [&](const KernelNextHop& hop) { return same_way(hop, wanted); });
}

}  // namespace

RouteBody RouteTable::body_of(const RouteEvent& event) const {
    RouteBody body{event.prefix.address.family, event.protocol,   event.type, event.scope, event.preference,
                   event.unsupported,           event.nexthop_id, {},         {},          event.mtu};
    // IPv6 takes the source out of a route when the address goes, without a word (rt6_remove_prefsrc()), and
    // tells no two routes apart by it: what is removed then names none.
    if (body.family == Family::ipv4) body.source = event.source;
    // Where the object is known, what the route says of it is a copy that grows old (and is absent with
    // net.ipv4.nexthop_compat_mode=0).
    if (!nexthops_.contains(event.nexthop_id)) body.next_hops = event.next_hops;
    // Events and dumps name the next hops of one IPv6 route in different orders: it must stay one body.
    if (body.merges()) std::sort(body.next_hops.begin(), body.next_hops.end(), before);
    return body;
}

template <class Unwanted>
void RouteTable::drop(Alternatives& alternatives, Unwanted unwanted) {
    std::erase_if(alternatives, [&](const Alternative& alternative) {
        if (!unwanted(alternative)) return false;
        bodies_.release(alternative.body);
        return true;
    });
}

void RouteTable::apply(const RouteEvent& event) {
    if (event.table != filter_.table) return;
    if (comparison_) touch(event.prefix);
    if (event.prefix.address.is_v4())
        apply(entries4_, event);
    else
        apply(entries6_, event);
}

template <class Key>
void RouteTable::apply(RouteEntries<Key>& entries, const RouteEvent& event) {
    const Key key = Key::of(event.prefix);
    RouteEntry<Key>* entry = event.removed ? entries.find(key) : &entries.find_or_add(key);
    if (!entry) return;
    Alternatives& alternatives = scratch_;
    entry->load(alternatives);
    drop(alternatives, [&](const Alternative& alternative) {
        // What a complete dump left out is gone, and must not be taken for the route that an event replaces.
        return is_stale(alternative) || bodies_.is_gone(alternative.body);
    });
    if (event.removed) {
        erase(alternatives, event);
    } else {
        insert(alternatives, event);
    }
    if (comparison_)
        for (Alternative& alternative : alternatives)
            alternative.generation = generation_;
    tell(entries, *entry, alternatives);
}

RouteTable::Alternatives::iterator RouteTable::find_same(Alternatives& alternatives, uint32_t metric,
                                                         const RouteBody& body) {
    return std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& alternative) {
        const RouteBody& other = bodies_[alternative.body];
        return alternative.metric == metric && (body.merges() ? other.merges() : other.same_route(body));
    });
}

RouteTable::Alternatives::iterator RouteTable::find_replaced(Alternatives& alternatives, uint32_t metric,
                                                             const RouteBody& body) {
    const auto equal_metric = [&](const Alternative& alternative) { return alternative.metric == metric; };
    if (body.family == Family::ipv6) {
        // fib6_add_rt2node(): a route that can merge replaces one that can, others one that cannot; else the
        // first.
        const auto alike =
            std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& alternative) {
                return equal_metric(alternative) && bodies_[alternative.body].merges() == body.merges();
            });
        if (alike != alternatives.end()) return alike;
    }
    return std::find_if(alternatives.begin(), alternatives.end(), equal_metric);
}

void RouteTable::set_body(Alternative& alternative, RouteBody body) {
    const BodyId before = alternative.body;
    alternative.body = bodies_.acquire(std::move(body));
    alternative.generation = generation_;
    bodies_.release(before);
}

void RouteTable::insert(Alternatives& alternatives, const RouteEvent& event) {
    RouteBody body = body_of(event);
    if (event.exclusive) {
        drop(alternatives,
             [&](const Alternative& alternative) { return alternative.metric == event.metric; });
    }
    // An IPv6 route that merges says its whole set of next hops each time, so it is `same` as what it grows.
    auto same = find_same(alternatives, event.metric, body);
    // IPv4 refuses to replace one by what another is already, so `same` is then an older event; IPv6 does it.
    // A route by a nexthop object is announced as a replacement whenever the object changes, wherever it
    // stands.
    const bool replaces_beside_same = body.family == Family::ipv6 && body.nexthop_id == 0;
    if (event.replaces && (same == alternatives.end() || replaces_beside_same)) {
        const auto replaced = find_replaced(alternatives, event.metric, body);
        if (replaced != alternatives.end()) return set_body(*replaced, std::move(body));
    }
    const bool ipv4 = body.family == Family::ipv4;
    const bool to_back = event.dumped || event.appends;
    const bool to_front = ipv4 && event.creates && !to_back;
    if (same == alternatives.end()) {
        const Alternative added{event.metric, bodies_.acquire(std::move(body)), generation_};
        alternatives.insert(to_front ? alternatives.begin() : alternatives.end(), added);
        return;
    }
    // Known already: a dump repeats it, or an event tells what the dump before it had told. IPv6 may hold the
    // same route twice; the first one counts, so a dump moves each only once.
    const bool seen_in_this_dump = event.dumped && same->generation == generation_;
    set_body(*same, std::move(body));
    if (event.replaces || seen_in_this_dump) return;
    if (to_back && (ipv4 || event.dumped)) std::rotate(same, same + 1, alternatives.end());
    if (to_front) std::rotate(alternatives.begin(), same, same + 1);
}

void RouteTable::erase(Alternatives& alternatives, const RouteEvent& event) {
    RouteBody body = body_of(event);
    if (body.family == Family::ipv4 || body.nexthop_id != 0 || body.next_hops.empty()) {
        const auto same =
            std::find_if(alternatives.begin(), alternatives.end(), [&](const Alternative& alternative) {
                return alternative.metric == event.metric && bodies_[alternative.body].same_route(body);
            });
        if (same == alternatives.end()) return;
        bodies_.release(same->body);
        alternatives.erase(same);
        return;
    }
    // IPv6 removes next hops one by one or all at once; the event has no weights where it names a single one.
    const auto& removed = event.next_hops;
    for (auto alternative = alternatives.begin(); alternative != alternatives.end(); ++alternative) {
        RouteBody rest = bodies_[alternative->body];
        const bool holds_all = std::all_of(removed.begin(), removed.end(), [&](const KernelNextHop& hop) {
            return contains(rest.next_hops, hop);
        });
        if (alternative->metric != event.metric || rest.type != event.type || rest.nexthop_id != 0 ||
            !holds_all) {
            continue;
        }
        std::erase_if(rest.next_hops, [&](const KernelNextHop& hop) { return contains(removed, hop); });
        rest.forget_weight_of_one();
        if (!rest.next_hops.empty()) return set_body(*alternative, std::move(rest));
        bodies_.release(alternative->body);
        alternatives.erase(alternative);
        return;
    }
}

bool RouteTable::usable(BodyId id) const {
    const RouteBody& body = bodies_[id];
    if (bodies_.is_gone(id) || !filter_.wants(body.protocol)) return false;
    if (is_terminal(body.type)) return true;
    if (body.nexthop_id == 0) {
        return std::any_of(body.next_hops.begin(), body.next_hops.end(),
                           [](const KernelNextHop& hop) { return !hop.dead; });
    }
    const KernelRoute route = resolve({0, id, 0});
    return !route.next_hops.empty() || is_terminal(route.type);
}

const RouteTable::Alternative* RouteTable::best(const Alternatives& alternatives) const {
    const Alternative* chosen = nullptr;
    for (const Alternative& alternative : alternatives) {
        if (is_stale(alternative) || !usable(alternative.body)) continue;
        const auto key = [&](const Alternative& of) {
            return std::pair{of.metric, rank(bodies_[of.body].preference)};
        };
        if (!chosen || key(alternative) < key(*chosen)) chosen = &alternative;
    }
    return chosen;
}

void RouteTable::collect(uint32_t id, uint32_t weight, KernelRoute& route) const {
    const auto found = nexthops_.find(id);
    if (found == nexthops_.end() || !found->second.object.members.empty()) return;
    const NextHopEvent& object = found->second.object;
    route.unsupported |= object.unsupported;
    if (object.blackhole) {
        route.type = RTN_BLACKHOLE;
        return;
    }
    KernelNextHop hop = object.next_hop;
    hop.weight = static_cast<uint16_t>(weight);
    if (!hop.dead) route.next_hops.push_back(hop);
}

KernelRoute RouteTable::resolve(const Alternative& alternative) const {
    const RouteBody& body = bodies_[alternative.body];
    KernelRoute route{body.protocol,    body.type, body.scope, alternative.metric,
                      body.unsupported, {},        body.mtu};
    if (is_terminal(body.type)) return route;
    const auto object = nexthops_.find(body.nexthop_id);
    if (object == nexthops_.end()) {
        std::copy_if(body.next_hops.begin(), body.next_hops.end(), std::back_inserter(route.next_hops),
                     [](const KernelNextHop& hop) { return !hop.dead; });
    } else if (object->second.object.members.empty()) {
        collect(body.nexthop_id, 1, route);
    } else {
        if (object->second.object.resilient) {
            route.resilient = body.nexthop_id;
            route.idle_timer = object->second.object.idle_timer;
        }
        for (const auto& member : object->second.object.members)
            collect(member.id, member.weight, route);
    }
    return route;
}

template <class Key>
void RouteTable::tell(RouteEntries<Key>& entries, RouteEntry<Key>& entry, Alternatives& alternatives) {
    entry.store(alternatives);
    const Alternative* chosen = best(alternatives);
    if (!chosen) {
        const bool known = entry.told != RouteBodies::none;
        bodies_.release(std::exchange(entry.told, RouteBodies::none));
        const Key key = entry.key;
        if (alternatives.empty()) entries.erase(key);
        if (known) listener_.route_removed(key.prefix());
        return;
    }
    if (entry.told == chosen->body && entry.told_metric == chosen->metric &&
        !bodies_.is_changed(chosen->body)) {
        return;
    }
    bodies_.release(std::exchange(entry.told, bodies_.share(chosen->body)));
    entry.told_metric = chosen->metric;
    listener_.route_set(entry.key.prefix(), resolve(*chosen));
}

template void RouteTable::tell(RouteEntries<fib::PrefixKey4>&, RouteEntry<fib::PrefixKey4>&, Alternatives&);
template void RouteTable::tell(RouteEntries<fib::PrefixKey6>&, RouteEntry<fib::PrefixKey6>&, Alternatives&);

// What changes during a walk may concern prefixes that it has passed: another one follows. Beginning anew, it
// would never come to the last ones while devices flap.
bool RouteTable::settle(Turn& turn) {
    if (resyncing_) return false;
    if (bodies_.take_news()) {
        again_ = walking_;
        walking_ = true;
    }
    while (walking_) {
        if (settle(entries4_, walk_.next4, turn) || settle(entries6_, walk_.next6, turn)) return true;
        walk_ = {};
        walking_ = std::exchange(again_, false);
    }
    bodies_.clear_changed();
    return settle_comparison(turn);
}

template <class Key>
bool RouteTable::settle(RouteEntries<Key>& entries, uint32_t& next, Turn& turn) {
    const auto concerned = [this](const Alternative& alternative) {
        return is_stale(alternative) || bodies_.is_changed(alternative.body);
    };
    while (next < entries.end()) {
        RouteEntry<Key>& entry = entries[next++];
        if (entry.any(concerned)) {
            entry.load(scratch_);
            drop(scratch_, [this](const Alternative& alternative) {
                return is_stale(alternative) || bodies_.is_gone(alternative.body);
            });
            tell(entries, entry, scratch_);
        }
        if (turn.over()) return true;
    }
    return false;
}

size_t RouteTable::unsettled() const {
    if (!walking_) return 0;
    const auto left = [](size_t end, size_t next) { return end > next ? end - next : 0; };
    return left(entries4_.end(), walk_.next4) + left(entries6_.end(), walk_.next6);
}

void RouteTable::begin_resync() {
    resyncing_ = true;
    ++generation_;
    comparison_.reset();
}

void RouteTable::end_resync(bool complete) {
    if (!resyncing_) return;
    resyncing_ = false;
    walking_ = true;
    walk_ = {};
    if (!complete) return;
    valid_from_ = generation_;
    if (std::erase_if(nexthops_, [&](const auto& entry) { return entry.second.generation != generation_; }) ==
        0)
        return;
    bodies_.for_each([](const RouteBody& body) {
        return body.nexthop_id != 0 ? RouteBodies::Edit::touch : RouteBodies::Edit::keep;
    });
}

template <class Entry>
std::optional<KernelRoute> RouteTable::what_counts(const Entry& entry) const {
    if (!entry.rest) {
        if (entry.empty() || is_stale(entry.first) || !usable(entry.first.body)) return std::nullopt;
        return resolve(entry.first);
    }
    Alternatives alternatives;
    entry.load(alternatives);
    const Alternative* chosen = best(alternatives);
    return chosen ? std::optional(resolve(*chosen)) : std::nullopt;
}

std::optional<KernelRoute> RouteTable::find(const Prefix& prefix) const {
    if (prefix.address.is_v4()) {
        const auto* entry = entries4_.find(fib::PrefixKey4::of(prefix));
        return entry ? what_counts(*entry) : std::nullopt;
    }
    const auto* entry = entries6_.find(fib::PrefixKey6::of(prefix));
    return entry ? what_counts(*entry) : std::nullopt;
}

void RouteTable::for_each(const Visit& visit) const {
    Cursor cursor;
    Turn turn = Turn::whole();
    (void)for_each(visit, cursor, turn);
}

template <class Entries, class VisitEntry>
bool RouteTable::walk(const Entries& entries, uint32_t& next, Turn& turn, VisitEntry visit) {
    while (next < entries.end()) {
        visit(entries[next++]);
        if (turn.over()) return true;
    }
    return false;
}

bool RouteTable::for_each(const Visit& visit, Cursor& cursor, Turn& turn) const {
    const auto visit_entry = [&](const auto& entry) {
        if (entry.empty()) return;
        if (const auto route = what_counts(entry)) visit(entry.key.prefix(), *route);
    };
    return walk(entries4_, cursor.next4, turn, visit_entry) ||
           walk(entries6_, cursor.next6, turn, visit_entry);
}

bool RouteTable::for_each_told(const std::function<void(const Prefix&)>& visit, Cursor& cursor,
                               Turn& turn) const {
    const auto visit_entry = [&](const auto& entry) {
        if (entry.told != RouteBodies::none) visit(entry.key.prefix());
    };
    return walk(entries4_, cursor.next4, turn, visit_entry) ||
           walk(entries6_, cursor.next6, turn, visit_entry);
}

}  // namespace pktpit::router
