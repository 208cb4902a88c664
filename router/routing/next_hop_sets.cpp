#include "router/routing/next_hop_sets.h"

#include <algorithm>

namespace pktpit::router {

Result<fib::NextHopSetId> NextHopSets::acquire(const NextHopSetSpec& spec) {
    if (const auto found = ids_.find(spec); found != ids_.end()) {
        add_reference(found->second);
        return found->second;
    }
    auto members = resolve(spec);
    if (!members) return tl::unexpected(members.error());
    auto group = image_.add_group(*members);
    if (!group) {
        release_members(*members);
        return tl::unexpected(group.error());
    }
    const fib::NextHopSetId id = next_id_++;
    const auto entry = ids_.emplace(spec, id).first;
    const bool usable = !members->empty();
    sets_.emplace(id, Set{&entry->first, 1, *group, usable, std::move(*members)});
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
    ids_.erase(ids_.find(*found->second.spec));
    sets_.erase(found);
}

InterfaceId NextHopSets::interface_of(const NextHopSpec& hop) const {
    const L3Interface* interface = nullptr;
    if (hop.interface != 0)
        interface = interfaces_.find(hop.interface);
    else if (hop.via)
        interface = interfaces_.on_link(*hop.via);
    return interface && interface->up ? interface->id : 0;
}

void NextHopSets::topology_changed() {
    for (auto& [id, set] : sets_)
        refresh(id, set);
}

void NextHopSets::neighbour_changed(const Adjacencies::NeighbourKey& key) {
    for (auto& [id, set] : sets_) {
        // With one member there is nothing to share out: its adjacency has been rewritten already.
        if (set.spec->next_hops.size() < 2) continue;
        if (std::ranges::any_of(set.spec->next_hops,
                                [&](const NextHopSpec& hop) { return hop.via == key.second; }))
            refresh(id, set);
    }
}

std::optional<AdjacencyKey> NextHopSets::key_of(const NextHopSetSpec& spec, const NextHopSpec& hop) const {
    if (spec.kind == PP_ADJ_BROADCAST) return AdjacencyKey{spec.kind, hop.interface, {}};
    const InterfaceId interface = interface_of(hop);
    if (interface == 0) return std::nullopt;
    return hop.via ? AdjacencyKey::next_hop(interface, *hop.via) : AdjacencyKey{PP_ADJ_GLEAN, interface, {}};
}

bool NextHopSets::failed(const AdjacencyKey& key) const {
    if (!key.gateway) return false;
    const Neighbour* neighbour = adjacencies_.neighbour({key.interface, *key.gateway});
    return neighbour && neighbour->state == NeighbourState::failed;
}

// Members with a dead neighbour are left out as long as another one lives.
Result<NextHopSets::Members> NextHopSets::resolve(const NextHopSetSpec& spec) {
    std::vector<std::pair<AdjacencyKey, uint16_t>> wanted;
    if (spec.next_hops.empty()) wanted.emplace_back(AdjacencyKey{spec.kind, 0, {}}, uint16_t{1});
    for (const auto& hop : spec.next_hops)
        if (const auto key = key_of(spec, hop)) wanted.emplace_back(*key, hop.weight);
    const bool any_alive =
        std::ranges::any_of(wanted, [&](const auto& member) { return !failed(member.first); });

    Members members;
    for (const auto& [key, weight] : wanted) {
        if (any_alive && failed(key)) continue;
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

void NextHopSets::refresh(fib::NextHopSetId id, Set& set) {
    auto members = resolve(*set.spec);
    if (!members) return;  // no room: the group stays as it is, and the next change tries again
    if (*members == set.members) {
        release_members(*members);
        return;
    }
    if (!image_.replace_group(set.group, *members)) {
        release_members(*members);
        return;
    }
    release_members(set.members);
    set.members = std::move(*members);
    const bool usable = !set.members.empty();
    if (usable == set.usable) return;
    set.usable = usable;
    if (usable_changed_) usable_changed_(id, usable);
}

}  // namespace pktpit::router
