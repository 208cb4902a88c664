// SPDX-License-Identifier: BSD-3-Clause
// RouteTable: what it holds is compared with what the kernel has, which changes some routes without a word
// (route_devices.cpp follows those of which it is sure).
#include <algorithm>
#include <vector>

#include "router/kernel/route_table.h"

namespace pktpit::router {

namespace {

constexpr const char* is_gone = "the kernel has it no more";
constexpr const char* was_unknown = "the kernel has it, and it was not known";
constexpr const char* is_another = "the kernel has another";

template <class Key>
void mark(RouteEntry<Key>& entry, uint32_t generation) {
    if (entry.empty()) return;
    entry.first.generation = generation;
    if (!entry.rest) return;
    for (auto& alternative : *entry.rest)
        alternative.generation = generation;
}

}  // namespace

void RouteTable::begin_comparison() {
    if (resyncing_) return;
    ++generation_;
    comparison_ = std::make_unique<RouteComparison>();
    comparison_->before.edits = comparison_->now.edits = bodies_.edits();
}

void RouteTable::touch(const Prefix& prefix) {
    auto& touched = comparison_->now.prefixes;
    if (comparison_->given_up) return;
    touched.insert(prefix);
    if (touched.size() <= RouteComparison::most_touched) return;
    comparison_->given_up = true;
    touched.clear();
}

void RouteTable::touch(uint32_t nexthop) {
    if (!comparison_->given_up) comparison_->now.nexthops.insert(nexthop);
}

bool RouteTable::is_touched(const Prefix& prefix) const {
    const RouteComparison& of = *comparison_;
    return bodies_.edits() != of.before.edits || of.before.prefixes.contains(prefix) ||
           of.now.prefixes.contains(prefix);
}

bool RouteTable::is_touched(uint32_t nexthop) const {
    return comparison_->before.nexthops.contains(nexthop) || comparison_->now.nexthops.contains(nexthop);
}

void RouteTable::end_piece(bool last) {
    if (!comparison_) return;
    if (last) judge_group();
    comparison_->before = std::exchange(comparison_->now, {});
    comparison_->now.edits = bodies_.edits();
}

void RouteTable::compare(const Compared& compared) {
    if (comparison_ && !comparison_->given_up)
        std::visit([this](const auto& object) { compare(object); }, compared.object);
}

void RouteTable::compare(const NextHopEvent& object) {
    const auto known = nexthops_.find(object.id);
    const bool touched = is_touched(object.id);
    if (known != nexthops_.end()) {
        NextHopEvent& event = known->second.object;
        event.dumped = object.dumped;
        if (touched || event == object) {
            known->second.generation = generation_;
            return;
        }
    }
    if (touched) return;
    comparison_->note(object.id, known == nexthops_.end() ? was_unknown : is_another);
    apply(object);
}

void RouteTable::compare(const RouteEvent& route) {
    if (route.table != filter_.table) return;
    auto& group = comparison_->group;
    if (group && group->prefix != route.prefix) judge_group();
    if (!group) group = RouteComparison::Group{route.prefix, false, {}};
    // Of each piece that it is in.
    group->touched |= is_touched(route.prefix);
    group->routes.push_back(route);
}

void RouteTable::judge_group() {
    auto& group = comparison_->group;
    if (!group) return;
    if (comparison_->given_up) return group.reset();
    group->touched |= is_touched(group->prefix);
    if (group->prefix.address.is_v4())
        judge(entries4_, *group);
    else
        judge(entries6_, *group);
    group.reset();
}

template <class Key>
void RouteTable::judge(RouteEntries<Key>& entries, const RouteComparison::Group& group) {
    const Key key = Key::of(group.prefix);
    RouteEntry<Key>* entry = entries.find(key);
    if (group.touched) {
        if (entry) mark(*entry, generation_);
        return;
    }
    Alternatives known;
    if (entry) entry->load(known);
    const auto is_past = [&](const Alternative& alternative) {
        return is_stale(alternative) || bodies_.is_gone(alternative.body);
    };
    std::erase_if(known, is_past);
    Alternatives found;
    for (const RouteEvent& route : group.routes) {
        found.push_back({route.metric, bodies_.acquire(body_found(route, known)), generation_});
    }
    const bool left_out = dump_leaves_out(known);
    const bool different = !left_out && differs(known, found);
    if (!different && (left_out || known.size() == found.size())) {
        release(found);
        if (entry) mark(*entry, generation_);
        return;
    }
    // Not where IPv6 has the same route twice.
    if (different) comparison_->note(group.prefix, known.empty() ? was_unknown : is_another);
    if (!entry) entry = &entries.find_or_add(key);
    entry->load(known);
    release(known);
    tell(entries, *entry, found);
}

// A dump may call dead what only has no carrier (ignore_routes_with_linkdown), and nothing is told when it
// has one again; whoever is told of the routes knows the links.
RouteBody RouteTable::body_found(const RouteEvent& event, const Alternatives& known) const {
    RouteBody body = body_of(event);
    const auto known_as_dead = [&](const KernelNextHop& hop) {
        return std::any_of(known.begin(), known.end(), [&](const Alternative& one) {
            const auto& hops = bodies_[one.body].next_hops;
            return one.metric == event.metric && std::find(hops.begin(), hops.end(), hop) != hops.end();
        });
    };
    for (KernelNextHop& hop : body.next_hops)
        if (hop.dead && without_carrier_.contains(hop.ifindex)) hop.dead = known_as_dead(hop);
    return body;
}

void RouteTable::release(Alternatives& alternatives) {
    for (const Alternative& alternative : alternatives)
        bodies_.release(alternative.body);
    alternatives.clear();
}

bool RouteTable::differs(const Alternatives& known, const Alternatives& found) const {
    const auto same = [this](const Alternative& a, const Alternative& b) {
        return a.metric == b.metric && bodies_[a.body].same_in_all(bodies_[b.body]);
    };
    if (known.size() == 1 && found.size() == 1) return !same(known.front(), found.front());
    const auto each_once = [&](const Alternatives& all) {
        Alternatives once;
        for (const Alternative& one : all)
            if (std::none_of(once.begin(), once.end(), [&](const auto& other) { return same(one, other); }))
                once.push_back(one);
        std::stable_sort(once.begin(), once.end(),
                         [](const auto& a, const auto& b) { return a.metric < b.metric; });
        return once;
    };
    const Alternatives ours = each_once(known);
    const Alternatives kernels = each_once(found);
    return !std::equal(ours.begin(), ours.end(), kernels.begin(), kernels.end(), same);
}

// fib6_dump_node() goes on behind the last next hop of a route that has several: of one metric, what stands
// in between is left out.
bool RouteTable::dump_leaves_out(const Alternatives& known) const {
    return std::any_of(known.begin(), known.end(), [&](const Alternative& several) {
        const RouteBody& body = bodies_[several.body];
        if (!body.merges() || body.next_hops.size() < 2) return false;
        return std::count_if(known.begin(), known.end(),
                             [&](const Alternative& other) { return other.metric == several.metric; }) > 1;
    });
}

void RouteTable::compared_all(const ComparedAll& all) {
    if (!comparison_ || comparison_->given_up) return;
    comparison_->result.complete &= all.complete;
    if (!all.complete) return;
    switch (all.kind) {
        case ComparedKind::ipv4:
            comparison_->missing4 = {true, 0};
            break;
        case ComparedKind::ipv6:
            comparison_->missing6 = {true, 0};
            break;
        case ComparedKind::nexthops: {
            std::vector<uint32_t> gone;
            for (const auto& [id, nexthop] : nexthops_)
                if (nexthop.generation != generation_ && !is_touched(id)) gone.push_back(id);
            for (const uint32_t id : gone) {
                comparison_->note(id, is_gone);
                remove_nexthop(id);
            }
        }
    }
}

void RouteTable::end_comparison() {
    if (comparison_) comparison_->ended = true;
}

bool RouteTable::settle_comparison(Turn& turn) {
    if (!comparison_) return false;
    if (settle_missing(entries4_, comparison_->missing4, turn)) return true;
    if (settle_missing(entries6_, comparison_->missing6, turn)) return true;
    if (!comparison_->ended) return false;
    const auto over = std::exchange(comparison_, nullptr);
    over->result.complete &= !over->given_up;
    listener_.compared(over->result);
    return false;
}

// Each has been found, or an event has changed it since the comparison began, or it is gone.
template <class Key>
bool RouteTable::settle_missing(RouteEntries<Key>& entries, RouteComparison::Missing& missing, Turn& turn) {
    if (comparison_->given_up) missing.due = false;
    if (!missing.due) return false;
    while (missing.next < entries.end()) {
        RouteEntry<Key>& entry = entries[missing.next++];
        const auto is_known = [this](const Alternative& alternative) {
            return alternative.generation == generation_;
        };
        if (!entry.empty() && !entry.any(is_known)) {
            comparison_->note(entry.key.prefix(), is_gone);
            entry.load(scratch_);
            release(scratch_);
            tell(entries, entry, scratch_);
        }
        if (turn.over()) return true;
    }
    missing = {};
    return false;
}

}  // namespace pktpit::router
