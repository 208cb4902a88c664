// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/slow_path_environment.h"

#include <arpa/inet.h>

#include <cstring>

namespace pktpit::router {

ImageView DaemonEnvironment::image() const {
    return {routing_.image().memory().data(), &routing_.image().geometry()};
}

bool DaemonEnvironment::transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) {
    const bool sent = dataplane_.transmit(port, parts);
    if (sent && on_transmit_) on_transmit_(port, parts);
    return sent;
}

// A refusal shows as a neighbour that never resolves, which the slow path bounds.
void DaemonEnvironment::resolve(uint16_t interface, const IpAddress& next_hop) {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (on && on->ifindex != 0) prober_.probe(on->ifindex, next_hop);
}

// The kernel goes on asking for next hops of routes, whether packets wait or not.
void DaemonEnvironment::withdraw(uint16_t interface, const IpAddress& next_hop) {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (on && on->ifindex != 0 && !routing_.adjacencies().in_use({interface, next_hop}))
        prober_.withdraw(on->ifindex, next_hop);
}

std::optional<IpAddress> DaemonEnvironment::next_hop_of(uint32_t adjacency) const {
    const auto key = routing_.adjacencies().key_of(adjacency);
    return key ? key->gateway : std::nullopt;
}

std::optional<IpAddress> DaemonEnvironment::source_address(uint16_t interface, Family family,
                                                           bool link_local) const {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (!on) return std::nullopt;
    std::optional<IpAddress> other;
    for (const auto& own : on->addresses) {
        if (own.address.family != family) continue;
        if (own.address.is_link_local() == link_local) return own.address;
        other = own.address;
    }
    // IPv6 interfaces without a global address may still speak to neighbours by their link-local one.
    return family == Family::ipv6 && !link_local ? std::nullopt : other;
}

std::optional<IpAddress> DaemonEnvironment::address_in_net_of(uint16_t interface,
                                                              const IpAddress& address) const {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (!on) return std::nullopt;
    for (const auto& own : on->addresses)
        if (own.address.family == address.family && own.net().contains(address)) return own.address;
    return std::nullopt;
}

std::optional<IpAddress> DaemonEnvironment::router_address(Family family, uint16_t near) const {
    std::optional<IpAddress> lowest;
    const VrfId vrf = routing_.vrf_of(near);
    if (vrf == default_vrf) lowest = control_.loopback_address(family);
    if (lowest) return lowest;
    for (const auto& [id, interface] : routing_.interfaces().all()) {
        if (interface.vrf != vrf) continue;
        for (const auto& own : interface.addresses)
            if (own.address.family == family && !own.address.is_link_local() &&
                (!lowest || own.address < *lowest))
                lowest = own.address;
    }
    return lowest;
}

std::optional<pp_fib_adjacency> DaemonEnvironment::link_of(uint16_t interface) const {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (!on || !on->up) return std::nullopt;
    return link_adjacency(*on);
}

std::optional<MacAddress> DaemonEnvironment::neighbour(uint16_t interface, const IpAddress& address) const {
    const Neighbour* known = routing_.adjacencies().neighbour({interface, address});
    if (!known || !known->usable()) return std::nullopt;
    return known->mac;
}

}  // namespace pktpit::router
