// SPDX-License-Identifier: BSD-3-Clause
/// Routes of the configuration, from its text to the RIB: reads routes files, and makes the RIB's routes of
/// source `config` those that are wanted, touching only what differs. One thread.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"
#include "router/control/transaction.h"
#include "router/filter/compile.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// Everything the configuration wants routed; each distinct set of next hops stands once.
struct WantedRoutes {
    struct Wanted {
        Prefix prefix;
        uint32_t next_hops = 0;  ///< index into `next_hop_sets`
        uint32_t metric = 0;
        uint8_t preference = 0;
        uint16_t vrf = 0;  ///< index into `vrfs`
    };
    struct NextHops {
        config::RouteType type = config::RouteType::unicast;
        std::vector<config::NextHop> next_hops;
        std::vector<config::NextHop> backup{};
        std::optional<Prefix> counted_for{};  ///< the route that has it for itself, since it is counted
        uint32_t mtu = 0;
        std::string vrf{};  ///< in which gateways are looked up that name none
    };
    std::vector<NextHops> next_hop_sets;
    std::vector<std::string> vrfs{""};  ///< all of the configuration, the default one first
    /// By VRF and prefix, each once: a route in `routes` goes before one of a file.
    std::vector<Wanted> routes;
    /// Compiled here as well, since that may take as long.
    std::shared_ptr<const CompiledFilters> filters{};
};

/// Reads the routes files. Every bad line is an error, up to 20 of each file.
tl::expected<WantedRoutes, config::Errors> read_wanted_routes(const config::Config& config);

/// A next-hop set of the configuration in the routing core's terms. `vrf`: of the route. Errors: unknown
/// interface, unknown VRF.
Result<NextHopSetSpec> to_spec(const Routing& routing, config::RouteType type,
                               const std::vector<config::NextHop>& next_hops,
                               const std::vector<config::NextHop>& backup = {}, const std::string& vrf = {});

/// The same error, naming the route that met it.
Error for_route(const Prefix& prefix, Error error);

/// Adds and replaces, then removes what is wanted no more of VRFs that are: of others all goes with them. On
/// an error, and if the transaction is not committed, the RIB is what it was. Nothing is ever missing in
/// between.
Result<void> install_wanted_routes(Routing& routing, RouteCounters& counters, const WantedRoutes& wanted,
                                   Transaction& transaction);

}  // namespace pktpit::router
