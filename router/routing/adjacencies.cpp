// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/adjacencies.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace pktpit::router {

Result<fib::AdjacencyId> Adjacencies::acquire(const AdjacencyKey& key) {
    if (const auto found = entries_.find(key); found != entries_.end()) {
        found->second.references++;
        return found->second.id;
    }
    auto id = image_.add_adjacency(value_of(key));
    if (!id) return id;
    // Before a prefix leads there, and until none does.
    if (key.kind == PP_ADJ_KERNEL) image_.set_kernel_routes(true);
    if (key.kind == PP_ADJ_FORWARD) {
        const NeighbourKey gateway{key.interface, *key.gateway};
        const Neighbour* known = neighbour(gateway);
        if (known && known->state == NeighbourState::stale && !in_use(gateway)) unverified_.insert(gateway);
    }
    entries_.emplace(key, Entry{*id, 1});
    keys_.emplace(*id, key);
    return id;
}

void Adjacencies::release(fib::AdjacencyId id) {
    const auto key = keys_.find(id);
    if (key == keys_.end()) return;
    const auto entry = entries_.find(key->second);
    if (--entry->second.references > 0) return;
    image_.remove_adjacency(id);
    const AdjacencyKey gone = entry->first;
    if (gone.kind == PP_ADJ_KERNEL) image_.set_kernel_routes(false);
    entries_.erase(entry);
    keys_.erase(key);
    if (gone.kind != PP_ADJ_FORWARD || in_use({gone.interface, *gone.gateway})) return;
    const auto dead = neighbours_.find({gone.interface, *gone.gateway});
    if (dead != neighbours_.end() && dead->second.forgotten) neighbours_.erase(dead);
}

void Adjacencies::set_neighbour(const NeighbourKey& key, const Neighbour& neighbour) {
    auto& known = neighbours_[key];
    if (known.configured && !neighbour.configured) return;
    const bool still_dead = known.state == NeighbourState::failed && !neighbour.usable();
    known = neighbour;
    if (still_dead) known.state = NeighbourState::failed;
    rewrite(key);
}

void Adjacencies::remove_neighbour(const NeighbourKey& key) {
    neighbours_.erase(key);
    rewrite(key);
}

bool Adjacencies::remember_dead(const NeighbourKey& key) {
    const auto known = neighbours_.find(key);
    if (known == neighbours_.end() || known->second.state != NeighbourState::failed || !in_use(key))
        return false;
    known->second.forgotten = true;
    return true;
}

const Neighbour* Adjacencies::neighbour(const NeighbourKey& key) const {
    const auto found = neighbours_.find(key);
    return found == neighbours_.end() ? nullptr : &found->second;
}

void Adjacencies::interface_changed(InterfaceId interface) {
    for (const auto& [key, entry] : entries_)
        if (key.interface == interface) image_.update_adjacency(entry.id, value_of(key));
}

std::optional<AdjacencyKey> Adjacencies::key_of(fib::AdjacencyId id) const {
    const auto found = keys_.find(id);
    if (found == keys_.end()) return std::nullopt;
    return found->second;
}

bool Adjacencies::in_use(const NeighbourKey& key) const {
    const AdjacencyKey first = AdjacencyKey::next_hop(key.first, key.second);
    const auto found = entries_.lower_bound(first);
    return found != entries_.end() && found->first.same_next_hop(first);
}

std::vector<Adjacencies::NeighbourKey> Adjacencies::unresolved() const {
    std::vector<NeighbourKey> keys;
    for (const auto& [key, entry] : entries_) {
        if (key.kind != PP_ADJ_FORWARD) continue;
        const NeighbourKey neighbour_key{key.interface, *key.gateway};
        if (!keys.empty() && keys.back() == neighbour_key) continue;  // with another MTU
        const Neighbour* known = neighbour(neighbour_key);
        if (!known || !known->usable()) keys.push_back(neighbour_key);
    }
    return keys;
}

pp_fib_adjacency link_adjacency(const L3Interface& interface) {
    pp_fib_adjacency value{};
    std::memcpy(value.src_mac, interface.mac.bytes.data(), sizeof value.src_mac);
    value.port = interface.port;
    value.interface = interface.id;
    value.mtu = interface.mtu;
    for (size_t i = 0; i < interface.vlan.size(); i++) {
        value.tpid[i] = htons(i == 0 ? interface.vlan_protocol : 0x8100);
        value.tci[i] = htons(interface.vlan[i]);
    }
    return value;
}

pp_fib_adjacency Adjacencies::value_of(const AdjacencyKey& key) const {
    const L3Interface* interface = interfaces_.find(key.interface);
    pp_fib_adjacency value = interface ? link_adjacency(*interface) : pp_fib_adjacency{};
    value.kind = static_cast<uint8_t>(key.kind);
    value.interface = key.interface;
    if (key.mtu != 0) value.mtu = std::min(value.mtu, key.mtu);
    if (!interface || key.kind != PP_ADJ_FORWARD) return value;
    const Neighbour* known = neighbour({key.interface, *key.gateway});
    if (known && known->usable())
        std::memcpy(value.dst_mac, known->mac.bytes.data(), sizeof value.dst_mac);
    else
        value.kind = PP_ADJ_INCOMPLETE;
    return value;
}

/// All that routes of whatever MTU have of the next hop.
void Adjacencies::rewrite(const NeighbourKey& key) {
    const AdjacencyKey first = AdjacencyKey::next_hop(key.first, key.second);
    for (auto at = entries_.lower_bound(first); at != entries_.end() && at->first.same_next_hop(first); ++at)
        image_.update_adjacency(at->second.id, value_of(at->first));
}

}  // namespace pktpit::router
