// SPDX-License-Identifier: BSD-3-Clause
/// Next hops as they leave the router, after recursion, and how the weights of several levels become one.
/// Used by the routing core. Plain values and a pure function; any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/address.h"
#include "router/routing/interfaces.h"

namespace pktpit::router {

struct ResolvedHop {
    InterfaceId interface = 0;
    std::optional<IpAddress> via;  ///< absent: the destination itself is on the link
    uint16_t weight = 1;
    uint32_t mtu = 0;  ///< bytes of an IP packet, of the routes on the way; 0: the link's alone

    /// Through a route of this MTU.
    void limit(uint32_t route_mtu) {
        if (route_mtu != 0 && (mtu == 0 || route_mtu < mtu)) mtu = route_mtu;
    }
    auto operator<=>(const ResolvedHop&) const = default;
};

/// What one next hop of a route has become: one resolved hop, or those of the route it is resolved over.
struct WeightedHops {
    uint16_t weight = 1;  ///< of the next hop in its route
    std::vector<ResolvedHop> hops;
};

/// Members that one route or next-hop group has at most.
inline constexpr size_t most_hops = 256;

/// All hops of all parts. A part's weight is its share of the flows, and what it has become shares that out
/// after its own weights: {A 1, B 1} with A over {x 1, y 1} and B over z is {x 1, y 1, z 2}. Hops that come
/// out equal are merged; weights are divided by what they have in common and fit 16 bits; of more than
/// `most_hops` the heaviest stay. Where no part has several hops, weights stay as they were written.
std::vector<ResolvedHop> combine(std::span<const WeightedHops> parts);

}  // namespace pktpit::router
