// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/next_hop_sets.h"

#include <algorithm>
#include <utility>

namespace pktpit::router {

NextHopSets::NextHopSets(fib::FibImage& image, const InterfaceTable& interfaces, Adjacencies& adjacencies,
                         Gateways::ForEachContaining routes_around)
    : image_(image),
      interfaces_(interfaces),
      adjacencies_(adjacencies),
      gateways_(interfaces, std::move(routes_around),
                [this](fib::NextHopSetId id) -> const NextHopSetSpec& { return spec_of(id); }) {}

Result<fib::NextHopSetId> NextHopSets::acquire(const NextHopSetSpec& spec) {
    if (const auto known = resilient_.find(spec.resilient);
        spec.resilient != 0 && known != resilient_.end()) {
        change_resilient(known->second, spec);
        add_reference(known->second);
        return known->second;
    }
    if (const auto found = ids_.find(spec); found != ids_.end()) {
        add_reference(found->second);
        return found->second;
    }
    const fib::NextHopSetId id = next_id_;
    watch(spec, id);
    auto hops = resolve(spec);
    auto members = members_of(spec, hops);
    if (!members) {
        unwatch(spec, id);
        return tl::unexpected(members.error());
    }
    auto group = image_.add_group(*members, spec.counter);
    if (!group) {
        release_members(*members);
        unwatch(spec, id);
        return tl::unexpected(group.error());
    }
    next_id_++;
    const auto entry = ids_.emplace(spec, id).first;
    if (spec.resilient != 0) resilient_.emplace(spec.resilient, id);
    const bool usable = !members->empty();
    sets_.emplace(id, Set{&entry->first, 1, *group, usable, std::move(hops), std::move(*members)});
    if (!usable && usable_changed_) usable_changed_(id, false);
    return id;
}

void NextHopSets::release(fib::NextHopSetId id) {
    const auto found = sets_.find(id);
    if (found == sets_.end() || --found->second.references > 0) return;
    image_.remove_group(found->second.group);
    release_members(found->second.members);
    // The RIB forgets what it knew of the id, since a later set never gets it again.
    if (!found->second.usable && usable_changed_) usable_changed_(id, true);
    unwatch(*found->second.spec, id);
    resilient_.erase(found->second.spec->resilient);
    coming_.erase(id);
    ids_.erase(ids_.find(*found->second.spec));
    sets_.erase(found);
}

// What goes goes at once, as in the kernel; a member that comes, or gets more, is given flows only when the
// idle timer has run out. Which flows are idle by then nobody knows but the kernel, which does not see these
// packets: as many buckets as the shares need move, and no more (fib/bucket_share.h).
void NextHopSets::change_resilient(fib::NextHopSetId id, const NextHopSetSpec& wanted) {
    const NextHopSetSpec& now = *sets_.at(id).spec;
    const auto same_hop = [](const NextHopSpec& hop) {
        return [&hop](const NextHopSpec& other) {
            return other.via == hop.via && other.interface == hop.interface;
        };
    };
    if (now.next_hops == wanted.next_hops && now.kind == wanted.kind) {
        coming_.erase(id);
        return;
    }
    if (const auto known = coming_.find(id); known != coming_.end() && known->second.spec == wanted) return;
    NextHopSetSpec staying = wanted;
    std::erase_if(staying.next_hops, [&](NextHopSpec& hop) {
        const auto before = std::ranges::find_if(now.next_hops, same_hop(hop));
        if (before == now.next_hops.end()) return true;
        hop.weight = std::min(hop.weight, before->weight);
        return false;
    });
    const bool any_comes = staying.next_hops != wanted.next_hops;
    if (!any_comes || staying.next_hops.empty() || wanted.idle_timer.count() == 0) {
        coming_.erase(id);
        return recompose(id, wanted);
    }
    coming_.insert_or_assign(id, Coming{wanted, std::nullopt});
    if (staying.next_hops.size() != now.next_hops.size()) recompose(id, staying);
}

void NextHopSets::recompose(fib::NextHopSetId id, const NextHopSetSpec& spec) {
    Set& set = sets_.at(id);
    unwatch(*set.spec, id);
    auto entry = ids_.extract(*set.spec);
    entry.key() = spec;
    set.spec = &ids_.insert(std::move(entry)).position->first;
    watch(spec, id);
    refresh(id, set);
}

void NextHopSets::tick(std::chrono::steady_clock::time_point now) {
    std::vector<std::pair<fib::NextHopSetId, NextHopSetSpec>> due;
    for (auto& [id, coming] : coming_) {
        if (!coming.due) coming.due = now + coming.spec.idle_timer;
        if (*coming.due <= now) due.emplace_back(id, coming.spec);
    }
    for (const auto& [id, spec] : due) {
        coming_.erase(id);
        recompose(id, spec);
    }
}

void NextHopSets::watch(const NextHopSetSpec& spec, fib::NextHopSetId id) {
    for (const auto& hop : spec.next_hops) {
        if (hop.is_gateway_alone())
            gateways_.add(*hop.via, id);
        else
            by_interface_[hop.interface].insert(id);
    }
}

void NextHopSets::unwatch(const NextHopSetSpec& spec, fib::NextHopSetId id) {
    for (const auto& hop : spec.next_hops) {
        if (hop.is_gateway_alone()) {
            gateways_.remove(*hop.via, id);
            continue;
        }
        const auto users = by_interface_.find(hop.interface);
        if (users == by_interface_.end()) continue;  // named twice
        users->second.erase(id);
        if (users->second.empty()) by_interface_.erase(users);
    }
}

void NextHopSets::interface_changed(InterfaceId interface) {
    const auto users = by_interface_.find(interface);
    if (users == by_interface_.end()) return;
    refresh(gateways_.sets_changed({users->second.begin(), users->second.end()}));
}

void NextHopSets::neighbour_changed(const Adjacencies::NeighbourKey& key) {
    for (auto& [id, set] : sets_) {
        // With one member there is nothing to share out: its adjacency has been rewritten already.
        if (set.hops.size() < 2) continue;
        if (std::ranges::any_of(set.hops, [&](const ResolvedHop& hop) {
                return hop.interface == key.first && hop.via == key.second;
            }))
            refresh(id, set);
    }
}

bool NextHopSets::failed(const ResolvedHop& hop) const {
    if (!hop.via) return false;
    const Neighbour* neighbour = adjacencies_.neighbour({hop.interface, *hop.via});
    return neighbour && neighbour->state == NeighbourState::failed;
}

/// The next hops that can be used now, recursion done.
std::vector<ResolvedHop> NextHopSets::resolve(const NextHopSetSpec& spec) {
    if (spec.kind != PP_ADJ_FORWARD) return {};
    std::vector<WeightedHops> parts;
    for (const auto& hop : spec.next_hops) {
        if (hop.is_gateway_alone())
            parts.push_back({hop.weight, gateways_.resolve(*hop.via).hops});
        else if (const L3Interface* interface = interfaces_.find(hop.interface); interface && interface->up)
            parts.push_back({hop.weight, {{hop.interface, hop.via, 1}}});
    }
    return combine(parts);
}

// Members with a dead neighbour are left out as long as another one lives.
Result<NextHopSets::Members> NextHopSets::members_of(const NextHopSetSpec& spec,
                                                     const std::vector<ResolvedHop>& hops) {
    std::vector<std::pair<AdjacencyKey, uint16_t>> wanted;
    if (spec.kind != PP_ADJ_FORWARD) {
        const InterfaceId interface = spec.next_hops.empty() ? 0 : spec.next_hops.front().interface;
        wanted.emplace_back(AdjacencyKey{spec.kind, interface, {}}, uint16_t{1});
    }
    const bool any_alive = std::ranges::any_of(hops, [&](const auto& hop) { return !failed(hop); });
    for (const auto& hop : hops)
        if (!any_alive || !failed(hop))
            wanted.emplace_back(hop.via ? AdjacencyKey::next_hop(hop.interface, *hop.via)
                                        : AdjacencyKey{PP_ADJ_GLEAN, hop.interface, {}},
                                hop.weight);
    Members members;
    for (const auto& [key, weight] : wanted) {
        auto adjacency = adjacencies_.acquire(key);
        if (!adjacency) {
            release_members(members);
            return tl::unexpected(adjacency.error());
        }
        members.emplace_back(*adjacency, weight);
    }
    return members;
}

void NextHopSets::release_members(const Members& members) {
    for (const auto& [adjacency, weight] : members)
        adjacencies_.release(adjacency);
}

// Sets that become usable come first, so that the routes of those that stop being it have where to go.
void NextHopSets::refresh(const Gateways::SetIds& ids) {
    const auto refresh_those = [&](bool to_be_usable) {
        for (const auto id : ids)
            if (const auto set = sets_.find(id);
                set != sets_.end() && (set->second.spec->kind != PP_ADJ_FORWARD ||
                                       !resolve(*set->second.spec).empty()) == to_be_usable)
                refresh(id, set->second);
    };
    refresh_those(true);
    refresh_those(false);
}

void NextHopSets::retry() {
    for (const auto id : std::exchange(unwritten_, {}))
        if (const auto set = sets_.find(id); set != sets_.end()) refresh(id, set->second);
}

void NextHopSets::refresh(fib::NextHopSetId id, Set& set) {
    auto hops = resolve(*set.spec);
    auto members = members_of(*set.spec, hops);
    if (!members) {  // no room: the group stays as it is until there is
        unwritten_.insert(id);
        return;
    }
    if (*members == set.members) {
        set.hops = std::move(hops);
        release_members(*members);
        return;
    }
    const bool usable = !members->empty();
    const bool was_usable = std::exchange(set.usable, usable);
    // Routes leave before the group is empty, and come when it is not any more.
    if (was_usable && !usable && usable_changed_) usable_changed_(id, false);
    if (!image_.replace_group(set.group, *members)) {
        release_members(*members);
        set.usable = was_usable;
        unwritten_.insert(id);
        return;
    }
    release_members(set.members);
    set.hops = std::move(hops);
    set.members = std::move(*members);
    if (!was_usable && usable && usable_changed_) usable_changed_(id, true);
}

}  // namespace pktpit::router
