// SPDX-License-Identifier: BSD-3-Clause
/// Routes of source `cli`: changed by hand while the daemon runs, and kept in a file below /run so that they
/// survive a restart of the daemon, but not of the machine. What a change costs depends on its size, not on
/// how many routes there are. One thread.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "router/control/route_journal.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"

namespace pktpit::router {

class CliRoutes {
  public:
    CliRoutes(Routing& routing, RouteCounters& counters, std::string path)
        : routing_(routing), counters_(counters), journal_(std::move(path)) {}

    /// Reads what an earlier daemon kept and installs it. Routes that fit no longer (an interface has gone
    /// from the configuration) are told and left out.
    void load();
    /// Installs all again: ids of interfaces have changed.
    void refresh();

    enum class Edit : uint8_t { add, replace, remove };
    /// The route that could not be changed, by its place among those that were asked for.
    struct Refusal {
        size_t index = 0;
        Error error;
    };
    /// What a batch has changed.
    struct Changed {
        size_t count = 0;                       ///< routes that are not what they were
        std::set<fib::NextHopSetId> next_hops;  ///< that routes use now
        bool counters = false;                  ///< some of them are, or were, counted
    };
    /// All of them or none. Of a removal only VRF and prefix count. Errors: a prefix twice, already there
    /// (add), not there (remove), unknown interface or VRF, FIB full, file not writable.
    tl::expected<Changed, Refusal> change(Edit edit, std::span<const config::StaticRoute> routes);

    [[nodiscard]] const std::map<VrfPrefix, config::StaticRoute>& all() const { return routes_; }
    /// The daemon stops for good: nothing is kept.
    void forget() const { journal_.forget(); }

  private:
    using Routes = RouteJournal::Routes;
    class Installer;
    Result<void> check(Edit edit, const config::StaticRoute& route) const;
    std::optional<Refusal> install_all(std::span<const config::StaticRoute> routes, Changed& changed);
    void erase(const VrfPrefix& place);
    void put_back(std::span<const config::StaticRoute> routes);

    Routing& routing_;
    RouteCounters& counters_;
    RouteJournal journal_;
    Routes routes_;
};

}  // namespace pktpit::router
