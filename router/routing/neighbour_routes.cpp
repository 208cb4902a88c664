// SPDX-License-Identifier: BSD-3-Clause
// The routes of neighbours. A neighbour is how a host on a link is reached, not a route that beats others: it
// has a host route where, and as long as, the longest match of its address is the link itself, be it a
// connected net or a route by an interface alone. A longer one, by a gateway or to nowhere, stands.
#include <algorithm>

#include "router/routing/routing.h"

namespace pktpit::router {

void Routing::follow_neighbour(InterfaceId interface, const IpAddress& address) {
    // Link-local destinations never meet the FIB.
    if (address.is_v6() && address.is_link_local()) return;
    if (const Neighbour* known = adjacencies_.neighbour({interface, address}); known && known->usable()) {
        reachable_[address].insert(interface);
    } else if (const auto found = reachable_.find(address); found != reachable_.end()) {
        found->second.erase(interface);
        if (found->second.empty()) reachable_.erase(found);
    }
    for (const auto& [id, vrf] : vrfs_)
        neighbour_wish(id, interface, address);
}

// Called while the change is being made: what it means for them is asked when it has been.
void Routing::note_neighbours_inside(VrfId vrf, const Prefix& prefix) {
    const IpAddress last = prefix.last();
    for (auto at = reachable_.lower_bound(prefix.address); at != reachable_.end() && at->first <= last; ++at)
        to_follow_.emplace(vrf, at->first);
}

// A set has changed in place, for all of its routes: those inside any of them may be meant.
void Routing::note_all_neighbours() {
    for (const auto& [id, vrf] : vrfs_)
        for (const auto& [address, interfaces] : reachable_)
            to_follow_.emplace(id, address);
}

// Their own routes are changes, too, after which all is as before.
void Routing::follow_neighbours() {
    if (following_) return;
    const struct Following {
        bool& flag;
        explicit Following(bool& its_flag) : flag(its_flag) { flag = true; }
        Following(const Following&) = delete;
        Following& operator=(const Following&) = delete;
        ~Following() { flag = false; }
    } following(following_);
    while (!to_follow_.empty()) {
        const auto at = to_follow_.begin();
        if (const auto found = reachable_.find(at->second);
            found != reachable_.end() && vrfs_.contains(at->first))
            for (const InterfaceId interface : found->second)
                neighbour_wish(at->first, interface, at->second);
        to_follow_.erase(at);
    }
}

void Routing::neighbour_wish(VrfId vrf, InterfaceId interface, const IpAddress& address) {
    const auto found = reachable_.find(address);
    const bool wanted = found != reachable_.end() && found->second.contains(interface) &&
                        leads_to_link(vrf, address, interface);
    const std::tuple key{vrf, interface, address};
    if (wanted == neighbour_routes_.contains(key)) return;
    if (wanted)
        neighbour_routes_.insert(key);
    else
        neighbour_routes_.erase(key);
    const auto [prefix, route] = wish_of_neighbour(interface, address);
    wish(vrf, prefix, route, wanted);
}

bool Routing::leads_to_link(VrfId id, const IpAddress& address, InterfaceId interface) const {
    const Vrf& in = vrf(id);
    const auto peer = in.peers.find(address);
    const bool is_peer = peer != in.peers.end() && sets_.usable(peer->second);
    const auto match = is_peer ? std::nullopt : in.rib.match_of_link(address);
    if (!is_peer && !match) return false;
    const NextHopSetSpec& spec = sets_.spec_of(is_peer ? peer->second : match->next_hops);
    return spec.kind == PP_ADJ_FORWARD && std::ranges::any_of(spec.next_hops, [&](const NextHopSpec& hop) {
               return !hop.via && hop.interface == interface;
           });
}

}  // namespace pktpit::router
