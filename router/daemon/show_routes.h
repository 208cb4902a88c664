// SPDX-License-Identifier: BSD-3-Clause
/// Routes, next hops and neighbours as JSON, in the shapes of docs/api.md. Reads the routing core only. One
/// thread.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "router/api/control.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"

namespace pktpit::router {

// `counters`: where counted routes are read; without, they show as not counted.
// `protocols`: who knows the protocol (RTPROT_*) of a route of source `fpm`.
using ProtocolOf = std::function<std::optional<uint8_t>(const Prefix& prefix)>;
nlohmann::json show_route(const Routing& routing, const fib::Route& route, bool best,
                          const RouteCounters* counters = nullptr, const ProtocolOf& protocol_of = {});
/// Each with what it resolves to.
nlohmann::json show_next_hops(const Routing& routing, const NextHopSetSpec& spec);
nlohmann::json count_of(const RouteCount& count);
/// "unicast", "blackhole", …
const char* type_name(pp_adjacency_kind kind);
/// The adjacencies of a group, each with its share of the buckets, as a port stage finds them.
std::map<fib::AdjacencyId, uint32_t> members_of(const fib::FibImage& image, fib::GroupId group);
nlohmann::json show_route_to(const Routing& routing, const IpAddress& address,
                             const RouteCounters* counters = nullptr, const ProtocolOf& protocol_of = {},
                             VrfId vrf = default_vrf);
nlohmann::json show_adjacency(const Routing& routing, fib::AdjacencyId id);
/// All counted routes, in prefix order.
nlohmann::json show_route_counters(const Routing& routing, const RouteCounters& counters);
nlohmann::json show_lookup(const Routing& routing, const std::vector<IpAddress>& addresses,
                           VrfId vrf = default_vrf);
/// Every VRF, the default one first, with its interfaces.
nlohmann::json show_vrfs(const Routing& routing);
/// As people say it: "default" is the one without a name.
const std::string& vrf_label(const Routing& routing, VrfId vrf);

/// "reachable", "stale", …
std::string_view to_string(NeighbourState state);

}  // namespace pktpit::router
