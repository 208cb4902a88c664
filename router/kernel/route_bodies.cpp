// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/route_bodies.h"

#include <linux/rtnetlink.h>

#include <cassert>

namespace pktpit::router {

namespace {

#ifndef RTPROT_RA
constexpr uint8_t protocol_router_advertisement = 9;
#else
constexpr uint8_t protocol_router_advertisement = RTPROT_RA;
#endif

bool same_hop(const KernelNextHop& a, const KernelNextHop& b) {
    return a.ifindex == b.ifindex && a.gateway == b.gateway && a.weight == b.weight;
}

}  // namespace

bool RouteBody::same_route(const RouteBody& other) const {
    if (family != other.family || type != other.type || nexthop_id != other.nexthop_id) return false;
    if (protocol != other.protocol || scope != other.scope || source != other.source) return false;
    // fib_find_info() compares metrics; IPv6's change with the device's MTU, without a word
    // (rt6_mtu_change()).
    if (family == Family::ipv4 && mtu != other.mtu) return false;
    // What a nexthop object stands for changes under the route; the number is the identity.
    if (nexthop_id != 0) return true;
    return std::equal(next_hops.begin(), next_hops.end(), other.next_hops.begin(), other.next_hops.end(),
                      same_hop);
}

bool RouteBody::merges() const {
    return family == Family::ipv6 && nexthop_id == 0 && protocol != protocol_router_advertisement &&
           !next_hops.empty() &&
           std::all_of(next_hops.begin(), next_hops.end(),
                       [](const KernelNextHop& hop) { return hop.gateway.has_value(); });
}

bool RouteBody::same_in_all(const RouteBody& other) const {
    return same_route(other) && mtu == other.mtu && preference == other.preference &&
           unsupported == other.unsupported && (nexthop_id != 0 || next_hops == other.next_hops);
}

size_t RouteBodies::Hash::operator()(const RouteBody& body) const {
    size_t hash = body.nexthop_id;
    const auto mix = [&hash](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29); };
    mix(static_cast<size_t>(body.family) << 24 | static_cast<size_t>(body.protocol) << 16 |
        static_cast<size_t>(body.type) << 8 | body.scope);
    if (body.mtu != 0) mix(body.mtu);
    if (body.source) mix(std::hash<IpAddress>{}(*body.source));
    for (const KernelNextHop& hop : body.next_hops) {
        mix(static_cast<size_t>(hop.ifindex) << 17 | static_cast<size_t>(hop.weight) << 1 | hop.dead);
        if (hop.gateway) mix(std::hash<IpAddress>{}(*hop.gateway));
    }
    return hash;
}

RouteBodies::Id RouteBodies::acquire(RouteBody body) {
    const auto [entry, fresh] = index_.try_emplace(body, none);
    if (!fresh) return share(entry->second);
    if (free_.empty()) {
        entry->second = static_cast<Id>(slots_.size());
        slots_.emplace_back();
    } else {
        entry->second = free_.back();
        free_.pop_back();
    }
    slots_[entry->second] = {std::move(body), 1, false, false};
    return entry->second;
}

RouteBodies::Id RouteBodies::share(Id id) {
    if (id != none) ++slots_[id].uses;
    return id;
}

void RouteBodies::release(Id id) {
    if (id == none) return;
    assert(slots_[id].uses > 0);
    if (--slots_[id].uses > 0) return;
    forget(id);
    slots_[id] = {};
    free_.push_back(id);
}

void RouteBodies::forget(Id id) {
    const auto entry = index_.find(slots_[id].body);
    if (entry != index_.end() && entry->second == id) index_.erase(entry);
}

void RouteBodies::clear_changed() {
    for (Slot& slot : slots_)
        slot.changed = false;
}

void RouteBodies::for_each(const std::function<Edit(RouteBody&)>& edit) {
    ++edits_;
    for (Id id = 1; id < slots_.size(); ++id) {
        Slot& slot = slots_[id];
        if (slot.uses == 0 || slot.gone) continue;
        RouteBody edited = slot.body;
        const Edit done = edit(edited);
        if (done == Edit::keep) continue;
        slot.changed = news_ = true;
        if (done == Edit::touch) continue;
        forget(id);
        slot.gone = done == Edit::gone;
        if (slot.gone) continue;
        slot.body = std::move(edited);
        // An equal body may be there already; both live on, and routes that come later share the indexed one.
        index_.try_emplace(slot.body, id);
    }
}

}  // namespace pktpit::router
