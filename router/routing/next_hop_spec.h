// SPDX-License-Identifier: BSD-3-Clause
/// What a route's next hops are asked to be, before anything is resolved. Plain values; any thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/address.h"
#include "fib/layout.h"
#include "router/routing/interfaces.h"

namespace pktpit::router {

struct NextHopSpec {
    std::optional<IpAddress> via;  ///< absent: the destination itself is on the link
    InterfaceId interface = 0;     ///< 0: where the route to `via` leads
    uint16_t weight = 1;
    bool backup = false;      ///< used while no next hop that is none can be
    VrfId vrf = default_vrf;  ///< of a gateway alone: in whose routes it is looked up; else the default

    /// The interface has to be found by a route.
    [[nodiscard]] bool is_gateway_alone() const { return via && interface == 0; }
    auto operator<=>(const NextHopSpec&) const = default;
};

/// kind PP_ADJ_FORWARD: the next hops. Other kinds: what becomes of packets instead; `next_hops` is then
/// empty, but for PP_ADJ_GLEAN and PP_ADJ_BROADCAST, which name their interface by one next hop without
/// `via`.
struct NextHopSetSpec {
    pp_adjacency_kind kind = PP_ADJ_FORWARD;
    std::vector<NextHopSpec> next_hops;
    uint16_t counter = 0;  ///< a counted route has a set of its own, which names its counter
    /// Id of a resilient group of the kernel's: one set whatever its members, so that other members move no
    /// flow that they need not; 0: none. What comes waits for `idle_timer`. Ids from 2^32 on are of sets that
    /// change in place for all of their routes, without waiting: zebra's next-hop groups.
    uint64_t resilient = 0;
    std::chrono::milliseconds idle_timer{0};
    uint32_t mtu =
        0;  ///< of the route, bytes of an IP packet: nothing larger leaves by it; 0: the link's alone
    auto operator<=>(const NextHopSetSpec&) const = default;
};

}  // namespace pktpit::router
