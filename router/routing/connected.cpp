// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/connected.h"

namespace pktpit::router {
namespace {

using Strength = ConnectedWish::Strength;

/// RFC 6164 6: a /127 is a link between two routers, and both of its addresses are a router's own.
constexpr unsigned longest_with_anycast = 126;

NextHopSetSpec on_interface(pp_adjacency_kind kind, InterfaceId interface) {
    return {kind, {NextHopSpec{std::nullopt, interface, 1}}};
}

}  // namespace

std::vector<std::pair<Prefix, ConnectedWish>> wishes_of(InterfaceId interface,
                                                        const InterfaceAddress& address,
                                                        const std::optional<IpAddress>& broadcast) {
    std::vector<std::pair<Prefix, ConnectedWish>> wishes;
    const unsigned bits = address.address.bits();
    // Link-local destinations never meet the FIB: the port stage hands them to the kernel.
    if (address.address.is_v6() && address.address.is_link_local()) return wishes;
    wishes.emplace_back(Prefix::of(address.address, bits), ConnectedWish{Strength::host, {PP_ADJ_HOST, {}}});
    if (interface == 0 || address.length == bits) return wishes;
    wishes.emplace_back(address.net(), ConnectedWish{Strength::net, on_interface(PP_ADJ_FORWARD, interface)});
    // The kernel listens on it as well: every port is a router's interface to it.
    if (address.address.is_v6() && address.length <= longest_with_anycast)
        wishes.emplace_back(Prefix::of(address.net().address, bits),
                            ConnectedWish{Strength::host, {PP_ADJ_HOST, {}}});
    if (address.address.is_v4() && address.length <= 30) {
        const ConnectedWish wish{Strength::broadcast, on_interface(PP_ADJ_BROADCAST, interface)};
        wishes.emplace_back(Prefix::of(address.net().address, bits), wish);
        wishes.emplace_back(Prefix::of(broadcast.value_or(address.net().last()), bits), wish);
    }
    return wishes;
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

}  // namespace pktpit::router
