// SPDX-License-Identifier: BSD-3-Clause
// What the addresses of interfaces, and of the host beside them, are in the routes: the host's own, and nets
// on links.
#include <algorithm>

#include "router/routing/routing.h"

namespace pktpit::router {

void Routing::add_address(InterfaceId id, const InterfaceAddress& address, const AddressDetails& details) {
    L3Interface* interface = interfaces_.find(id);
    if (!interface) return;
    // The kernel has an IPv6 address once, whatever its peer.
    if (address.address.is_v6()) {
        const auto known = addresses_.lower_bound({id, address, std::nullopt});
        if (known != addresses_.end() && std::get<0>(known->first) == id &&
            std::get<1>(known->first) == address && std::get<2>(known->first) != details.peer)
            remove_address(id, address, std::get<2>(known->first));
    }
    const auto [known, is_new] = addresses_.try_emplace({id, address, details.peer}, details);
    if (!is_new && known->second == details) return;
    const AddressDetails before = std::exchange(known->second, details);
    if (is_new) {
        interface->addresses.push_back(address);
        write_port(interface->port);
    }
    if (is_new || before.broadcast != details.broadcast) {
        for (const auto& [prefix, wanted] : wishes_of(id, address, details, !interface->set_down))
            wish(interface->vrf, prefix, wanted, true);
        if (!is_new)
            for (const auto& [prefix, unwanted] : wishes_of(id, address, before, !interface->set_down))
                wish(interface->vrf, prefix, unwanted, false);
    }
    carry_out(nets_.add_address(id, address, details));
}

void Routing::remove_address(InterfaceId id, const InterfaceAddress& address,
                             const std::optional<IpAddress>& peer) {
    L3Interface* interface = interfaces_.find(id);
    const auto known = addresses_.find({id, address, peer});
    if (!interface || known == addresses_.end()) return;
    interface->addresses.erase(std::ranges::find(interface->addresses, address));
    write_port(interface->port);
    const AddressDetails details = known->second;
    addresses_.erase(known);
    for (const auto& [prefix, unwanted] : wishes_of(id, address, details, !interface->set_down))
        wish(interface->vrf, prefix, unwanted, false);
    carry_out(nets_.remove_address(id, address, details));
}

void Routing::listen_by(const L3Interface& interface, bool listens) {
    for (auto at = addresses_.lower_bound({interface.id, {}, {}});
         at != addresses_.end() && std::get<0>(at->first) == interface.id; ++at) {
        const auto& address = std::get<1>(at->first);
        const auto all = wishes_of(interface.id, address, at->second);
        for (size_t i = wishes_of(interface.id, address, at->second, false).size(); i < all.size(); i++)
            wish(interface.vrf, all[i].first, all[i].second, listens);
    }
}

void Routing::add_host_prefix(const Prefix& prefix, VrfId vrf) {
    wish(vrf, prefix, wish_of_host(), true);
}

void Routing::remove_host_prefix(const Prefix& prefix, VrfId vrf) {
    wish(vrf, prefix, wish_of_host(), false);
}

// Linux looks up IPv6 in its local table first: what is inside is nobody else's, however long its route
// (fib6_rule_lookup()). Of IPv4 it has one trie for the local and the main table, and the longest prefix wins
// (fib_trie_table()).
void Routing::follow_host_net(Vrf& of, const Prefix& prefix) {
    if (prefix.address.is_v4()) return;
    const ConnectedWish* strongest = of.connected.strongest(prefix);
    const bool is_hosts = strongest && strongest->strength == ConnectedWish::Strength::host;
    if (is_hosts == of.host_nets.contains(prefix)) return;
    if (is_hosts)
        of.host_nets.insert(prefix);
    else
        of.host_nets.erase(prefix);
    std::vector<Prefix> inside;
    of.rib.for_each_from(prefix.address.family, prefix, false, [&](const Prefix& longer) {
        if (!prefix.contains(longer)) return false;
        inside.push_back(longer);
        return true;
    });
    for (const Prefix& longer : inside)
        if (auto told = of.rib.tell_again(longer); !told) refused_(told.error());
    follow_up(of);
}

// Of the local table, too, are addresses of the host's inside, and broadcast ones.
std::optional<Prefix> Routing::hidden_by(const Vrf& of, const fib::Route& route) const {
    const pp_adjacency_kind kind = sets_.spec_of(route.next_hops).kind;
    if (kind == PP_ADJ_HOST || kind == PP_ADJ_BROADCAST) return std::nullopt;
    for (unsigned length = route.prefix.length; length-- > 0;)
        if (const Prefix around = Prefix::of(route.prefix.address, length); of.host_nets.contains(around))
            return around;
    return std::nullopt;
}

std::optional<fib::Route> Routing::match(const IpAddress& address, VrfId id) const {
    const Vrf& in = vrf(id);
    const auto longest = in.rib.match(address);
    if (!longest || in.host_nets.empty()) return longest;
    const auto around = hidden_by(in, *longest);
    return around ? in.rib.best(*around) : longest;
}

void Routing::carry_out(const LinkNets::Changes& changes) {
    for (const auto& change : changes)
        wish_net(vrf_of(change.interface), change.prefix, change.wish, change.add);
}

// A net of one address, as of a peer, may have the route of a neighbour instead, which hangs on it: the
// neighbour is looked at whether or not the route is another one.
void Routing::wish_net(VrfId id, const Prefix& prefix, const ConnectedWish& wanted, bool add) {
    wish(id, prefix, wanted, add);
    if (prefix.length != prefix.address.bits()) return;
    Vrf& of = vrf(id);
    const ConnectedWish* net = of.connected.net(prefix);
    const auto before = of.peers.find(prefix.address);
    const fib::NextHopSetId former = before == of.peers.end() ? 0 : before->second;
    if (before != of.peers.end()) of.peers.erase(before);
    if (net) {
        if (const auto next_hops = sets_.acquire(net->spec))
            of.peers.emplace(prefix.address, *next_hops);
        else
            refused_(next_hops.error());
    }
    if (former != 0) sets_.release(former);
    sets_.route_changed(id, prefix);
    note_neighbours_inside(id, prefix);
    follow_neighbours();
}

// The host at the other end of a link is the link's, whether or not it is known as a neighbour, whose routes
// do not count for gateways.
void Routing::visit_routes_around(const Vrf& vrf, const IpAddress& address,
                                  const fib::Rib::VisitContaining& visit) const {
    const Prefix prefix = Prefix::of(address, address.bits());
    const auto peer = vrf.peers.find(address);
    const ConnectedWish* strongest = vrf.connected.strongest(prefix);
    const bool is_hosts = strongest && strongest->strength < ConnectedWish::Strength::neighbour;
    if (peer != vrf.peers.end() && !is_hosts &&
        !visit({prefix, fib::RouteSource::connected, 0, 0, peer->second}))
        return;
    vrf.rib.for_each_containing(address, visit);
}

}  // namespace pktpit::router
