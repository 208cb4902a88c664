// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/connected.h"

#include <algorithm>

namespace pktpit::router {
namespace {

using Strength = ConnectedWish::Strength;

/// RFC 6164 6: a /127 is a link between two routers, and both of its addresses are a router's own.
constexpr unsigned longest_with_anycast = 126;

NextHopSetSpec on_interface(pp_adjacency_kind kind, InterfaceId interface) {
    return {kind, {NextHopSpec{std::nullopt, interface, 1}}};
}

bool is_link_local6(const IpAddress& address) {
    return address.is_v6() && address.is_link_local();
}

}  // namespace

std::vector<std::pair<Prefix, ConnectedWish>> wishes_of(InterfaceId interface,
                                                        const InterfaceAddress& address,
                                                        const AddressDetails& details, bool listens) {
    std::vector<std::pair<Prefix, ConnectedWish>> wishes;
    const unsigned bits = address.address.bits();
    // Link-local destinations never meet the FIB: the port stage hands them to the kernel.
    if (is_link_local6(address.address)) return wishes;
    if (!listens && address.address.is_v6()) return wishes;
    wishes.emplace_back(Prefix::of(address.address, bits), wish_of_host());
    if (!listens) return wishes;
    // The kernel listens on it as well: every port is a router's interface to it.
    if (address.address.is_v6() && address.length <= longest_with_anycast)
        wishes.emplace_back(Prefix::of(address.net().address, bits), wish_of_host());
    if (address.address.is_v4() && address.length <= 30) {
        const Prefix net = Prefix::of(details.peer.value_or(address.address), address.length);
        const ConnectedWish wish{Strength::broadcast, on_interface(PP_ADJ_BROADCAST, interface)};
        wishes.emplace_back(Prefix::of(net.address, bits), wish);
        wishes.emplace_back(Prefix::of(details.broadcast.value_or(net.last()), bits), wish);
    }
    return wishes;
}

std::vector<Prefix> nets_of(const InterfaceAddress& address, const AddressDetails& details) {
    const unsigned bits = address.address.bits();
    if (address.address.is_v4()) {
        if (!details.peer) return address.length == bits ? std::vector<Prefix>() : std::vector{address.net()};
        return {Prefix::of(*details.peer, address.length)};
    }
    std::vector<Prefix> nets;
    if (!is_link_local6(address.address) && address.length != bits) nets.push_back(address.net());
    if (details.peer && !is_link_local6(*details.peer)) nets.push_back(Prefix::of(*details.peer, bits));
    return nets;
}

ConnectedWish wish_of_net(InterfaceId interface, const NetRank& rank) {
    return {Strength::net, on_interface(PP_ADJ_FORWARD, interface), rank};
}

ConnectedWish wish_of_host() {
    return {Strength::host, {PP_ADJ_HOST, {}}};
}

std::pair<Prefix, ConnectedWish> wish_of_neighbour(InterfaceId interface, const IpAddress& neighbour) {
    return {Prefix::of(neighbour, neighbour.bits()),
            {Strength::neighbour, {PP_ADJ_FORWARD, {NextHopSpec{neighbour, interface, 1}}}}};
}

bool ConnectedWishes::add(const Prefix& prefix, const ConnectedWish& wish) {
    auto& wishes = wishes_[prefix];
    const bool stronger = wishes.empty() || wish < *wishes.begin();
    wishes.insert(wish);
    return stronger;
}

bool ConnectedWishes::remove(const Prefix& prefix, const ConnectedWish& wish) {
    const auto found = wishes_.find(prefix);
    if (found == wishes_.end()) return false;
    auto& wishes = found->second;
    const auto position = wishes.find(wish);
    if (position == wishes.end()) return false;
    const ConnectedWish before = *wishes.begin();
    wishes.erase(position);
    if (!wishes.empty()) return *wishes.begin() != before;
    wishes_.erase(found);
    return true;
}

const ConnectedWish* ConnectedWishes::strongest(const Prefix& prefix) const {
    const auto found = wishes_.find(prefix);
    return found == wishes_.end() ? nullptr : &*found->second.begin();
}

const ConnectedWish* ConnectedWishes::net(const Prefix& prefix) const {
    const auto found = wishes_.find(prefix);
    if (found == wishes_.end()) return nullptr;
    const auto first = std::ranges::find(found->second, Strength::net, &ConnectedWish::strength);
    return first == found->second.end() ? nullptr : &*first;
}

}  // namespace pktpit::router
