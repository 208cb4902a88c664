// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/next_hop_sets.h"

#include <algorithm>
#include <utility>

namespace pktpit::router {
namespace {

/// The interfaces that it leaves by without a gateway.
std::set<InterfaceId> links_of(const NextHopSetSpec& spec) {
    std::set<InterfaceId> links;
    for (const NextHopSpec& hop : spec.next_hops)
        if (!hop.via) links.insert(hop.interface);
    return links;
}

}  // namespace

NextHopSets::NextHopSets(fib::FibImage& image, const InterfaceTable& interfaces, Adjacencies& adjacencies,
                         Gateways::ForEachContaining routes_around)
    : image_(image),
      interfaces_(interfaces),
      adjacencies_(adjacencies),
      gateways_(interfaces, std::move(routes_around),
                [this](fib::NextHopSetId id) -> const NextHopSetSpec& { return spec_of(id); }),
      first_of_(image.geometry().group_count) {}

Result<fib::NextHopSetId> NextHopSets::acquire(const NextHopSetSpec& spec) {
    if (const auto known = resilient_.find({spec.resilient, spec.mtu});
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
    if (spec.resilient != 0) resilient_.emplace(std::pair{spec.resilient, spec.mtu}, id);
    const bool usable = !members->empty();
    Set& set = sets_[id];
    set.spec = &entry->first;
    set.references = 1;
    set.group = *group;
    first_of_[*group] = id;
    set.usable = usable;
    set.hops = std::move(hops);
    set.members = std::move(*members);
    set.backups = std::ranges::any_of(spec.next_hops, &NextHopSpec::backup);
    hold(set, set.hops);
    if (!usable && usable_changed_) usable_changed_(id, false);
    return id;
}

void NextHopSets::release(fib::NextHopSetId id) {
    const auto found = sets_.find(id);
    if (found == sets_.end() || --found->second.references > 0) return;
    image_.remove_group(found->second.group);
    first_of_[found->second.group] = 0;
    release_members(found->second.members);
    release_members(found->second.held);
    // The RIB forgets what it knew of the id, since a later set never gets it again.
    if (!found->second.usable && usable_changed_) usable_changed_(id, true);
    unwatch(*found->second.spec, id);
    resilient_.erase({found->second.spec->resilient, found->second.spec->mtu});
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
            return other.via == hop.via && other.interface == hop.interface && other.vrf == hop.vrf;
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
    const bool other_links = links_of(*set.spec) != links_of(spec);
    unwatch(*set.spec, id);
    auto entry = ids_.extract(*set.spec);
    entry.key() = spec;
    set.spec = &ids_.insert(std::move(entry)).position->first;
    watch(spec, id);
    refresh(id, set);
    if (other_links && links_changed_) links_changed_();
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
            gateways_.add(Gateways::Key::of(hop), id);
        else
            by_interface_[hop.interface].insert(id);
    }
}

void NextHopSets::unwatch(const NextHopSetSpec& spec, fib::NextHopSetId id) {
    for (const auto& hop : spec.next_hops) {
        if (hop.is_gateway_alone()) {
            gateways_.remove(Gateways::Key::of(hop), id);
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
        if (set.hops.size() < 2 && !set.backups) continue;
        if (set.backups || std::ranges::any_of(set.hops, [&](const ResolvedHop& hop) {
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

bool NextHopSets::answers(const ResolvedHop& hop) const {
    if (!hop.via) return true;
    const Neighbour* neighbour = adjacencies_.neighbour({hop.interface, *hop.via});
    return neighbour && neighbour->usable();
}

/// The next hops that can be used now, recursion done. Backups are preferred while they answer and none of
/// the others does: one that has come back is not used before its neighbour is known.
std::vector<ResolvedHop> NextHopSets::resolve(const NextHopSetSpec& spec) {
    auto hops = resolve(spec, false);
    if (std::ranges::none_of(spec.next_hops, &NextHopSpec::backup)) return hops;
    const auto any_answers = [this](const std::vector<ResolvedHop>& some) {
        return std::ranges::any_of(some, [this](const ResolvedHop& hop) { return answers(hop); });
    };
    if (any_answers(hops)) return hops;
    auto backups = resolve(spec, true);
    if (backups.empty() || any_answers(backups)) return backups.empty() ? hops : backups;
    const bool all_failed = std::ranges::all_of(hops, [this](const ResolvedHop& hop) { return failed(hop); });
    return all_failed ? backups : hops;
}

std::vector<ResolvedHop> NextHopSets::resolve(const NextHopSetSpec& spec, bool backups) {
    if (spec.kind != PP_ADJ_FORWARD) return {};
    std::vector<WeightedHops> parts;
    for (const auto& hop : spec.next_hops) {
        if (hop.backup != backups) continue;
        if (hop.is_gateway_alone())
            parts.push_back({hop.weight, gateways_.resolve(Gateways::Key::of(hop)).hops});
        else if (const L3Interface* interface = interfaces_.find(hop.interface); interface && interface->up)
            parts.push_back({hop.weight, {{hop.interface, hop.via, 1}}});
    }
    auto hops = combine(parts);
    for (ResolvedHop& hop : hops)
        hop.limit(spec.mtu);
    return hops;
}

/// A route's MTU that the link keeps anyway needs no adjacency of its own.
AdjacencyKey NextHopSets::key_of(const ResolvedHop& hop) const {
    const L3Interface* interface = interfaces_.find(hop.interface);
    const uint32_t mtu = interface && hop.mtu >= interface->mtu ? 0 : hop.mtu;
    return hop.via ? AdjacencyKey::next_hop(hop.interface, *hop.via, mtu)
                   : AdjacencyKey{PP_ADJ_GLEAN, hop.interface, {}, mtu};
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
        if (!any_alive || !failed(hop)) wanted.emplace_back(key_of(hop), hop.weight);
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

std::vector<ResolvedHop> NextHopSets::known_hops_of(fib::NextHopSetId id) {
    const Set& set = sets_.at(id);
    if (!set.backups) return set.hops;
    auto hops = resolve(*set.spec, false);
    const auto backups = resolve(*set.spec, true);
    hops.insert(hops.end(), backups.begin(), backups.end());
    return hops;
}

// A neighbour is asked for only while somebody has its adjacency: a dead one is, so that its return is
// noticed.
void NextHopSets::hold(Set& set, const std::vector<ResolvedHop>& hops) {
    const Members before = std::exchange(set.held, {});
    for (const auto& hop : set.backups ? known_hops_of(ids_.at(*set.spec)) : hops)
        if (hop.via && (set.backups || failed(hop)))
            if (auto adjacency = adjacencies_.acquire(key_of(hop)))
                set.held.emplace_back(*adjacency, hop.weight);
    release_members(before);
}

fib::GroupId NextHopSets::chain(fib::NextHopSetId first, fib::NextHopSetId second) {
    if (const auto known = chain_ids_.find({first, second}); known != chain_ids_.end()) {
        chains_.at(known->second).users++;
        return known->second;
    }
    const Set& set = sets_.at(first);
    auto group = image_.add_group(set.members, set.spec->counter);
    if (!group) return set.group;
    chain_ids_.emplace(std::pair{first, second}, *group);
    chains_.emplace(*group, Chain{first, second, 1});
    first_of_[*group] = first;
    for (const auto id : {first, second}) {
        chains_of_[id].insert(*group);
        add_reference(id);
    }
    return *group;
}

fib::GroupId NextHopSets::chain_around(fib::NextHopSetId first, fib::GroupId around) {
    const fib::NextHopSetId second = first_of(around);
    if (second == first) {
        if (const auto known = chains_.find(around); known != chains_.end()) known->second.users++;
        return around;
    }
    constexpr size_t share = 8;  // sets themselves are to find room, too
    const bool full = chains_.size() >= image_.geometry().group_count / share;
    if (second == 0 || (full && !chain_ids_.contains({first, second}))) return sets_.at(first).group;
    return chain(first, second);
}

std::vector<fib::NextHopSetId> NextHopSets::seconds_of(fib::NextHopSetId id) const {
    std::vector<fib::NextHopSetId> seconds;
    for (auto at = chain_ids_.lower_bound({id, 0}); at != chain_ids_.end() && at->first.first == id; ++at)
        seconds.push_back(at->first.second);
    return seconds;
}

void NextHopSets::release_chain(fib::GroupId group) {
    const auto found = chains_.find(group);
    if (found == chains_.end() || --found->second.users > 0) return;
    for (const auto id : {found->second.first, found->second.second}) {
        const auto chains = chains_of_.find(id);
        chains->second.erase(group);
        if (chains->second.empty()) chains_of_.erase(chains);
        unchained_.push_back(id);
    }
    chain_ids_.erase({found->second.first, found->second.second});
    chains_.erase(found);
    first_of_[group] = 0;
    image_.remove_group(group);
}

void NextHopSets::drop_unchained() {
    for (const auto id : std::exchange(unchained_, {}))
        release(id);
}

void NextHopSets::write_chains(fib::NextHopSetId id) {
    const auto chains = chains_of_.find(id);
    if (chains == chains_of_.end()) return;
    for (const auto group : chains->second) {
        const Chain& chain = chains_.at(group);
        const bool matters = id == chain.first || !sets_.at(chain.first).usable;
        if (matters && !write_chain(group, chain)) unwritten_.insert(id);
    }
}

// Where neither can be used its routes leave it, before the members of a set that is drained go. A prefix
// that does not get away (the image is full) is left with none of them.
bool NextHopSets::write_chain(fib::GroupId group, const Chain& chain) {
    const Set& first = sets_.at(chain.first);
    const Set& second = sets_.at(chain.second);
    const bool by_second = !first.usable && (second.usable || (!first.draining && second.draining));
    return image_.replace_group(group, by_second ? second.members : first.members).has_value();
}

void NextHopSets::drained(fib::NextHopSetId id) {
    const auto found = sets_.find(id);
    if (found == sets_.end() || !std::exchange(found->second.draining, false)) return;
    if (!write(found->second, {})) unwritten_.insert(id);
}

/// False: no room, all is as it was. Chains are written before what they may name goes.
bool NextHopSets::write(Set& set, Members members) {
    if (members == set.members) {
        release_members(members);
        return true;
    }
    if (!image_.replace_group(set.group, members)) {
        release_members(members);
        return false;
    }
    const Members before = std::exchange(set.members, std::move(members));
    write_chains(ids_.at(*set.spec));
    release_members(before);
    return true;
}

void NextHopSets::retry() {
    for (const auto id : std::exchange(unwritten_, {}))
        if (const auto set = sets_.find(id); set != sets_.end()) {
            refresh(id, set->second);
            write_chains(id);
        }
}

void NextHopSets::refresh(fib::NextHopSetId id, Set& set) {
    auto hops = resolve(*set.spec);
    hold(set, hops);
    auto members = members_of(*set.spec, hops);
    if (!members) {  // no room: the group stays as it is until there is
        unwritten_.insert(id);
        return;
    }
    const bool usable = !members->empty();
    const bool was_usable = std::exchange(set.usable, usable);
    if (!usable) {
        set.hops.clear();
        if (!was_usable) return;
        // Prefixes that have a second best go there with the store of their chain, before any is touched.
        // All of them leave before the group is empty, and come when it is not any more.
        set.draining = true;
        write_chains(id);
        if (!usable_changed_ || usable_changed_(id, false)) drained(id);
        return;
    }
    const bool was_draining = std::exchange(set.draining, false);
    if (!write(set, std::move(*members))) {
        set.usable = was_usable;
        set.draining = was_draining;
        unwritten_.insert(id);
        return;
    }
    set.hops = std::move(hops);
    if (was_usable) return;
    write_chains(id);
    if (usable_changed_) usable_changed_(id, true);
}

}  // namespace pktpit::router
