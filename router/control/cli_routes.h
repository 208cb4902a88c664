// SPDX-License-Identifier: BSD-3-Clause
/// Routes of source `cli`: changed by hand while the daemon runs, and kept in a file below /run so that they
/// survive a restart of the daemon, but not of the machine. One thread.
#pragma once

#include <map>
#include <string>

#include "config/config.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"

namespace pktpit::router {

class CliRoutes {
  public:
    CliRoutes(Routing& routing, RouteCounters& counters, std::string path)
        : routing_(routing), counters_(counters), path_(std::move(path)) {}

    /// Reads what an earlier daemon kept and installs it. Routes that fit no longer (an interface has gone
    /// from the configuration) are told and left out.
    void load();
    /// Installs all again: ids of interfaces have changed.
    void refresh();
    // True if the RIB changed. Errors: already there (add), not there (remove), unknown interface, FIB full,
    // file not writable; nothing has changed then.
    Result<bool> add(const config::StaticRoute& route);
    Result<bool> replace(const config::StaticRoute& route);
    Result<bool> remove(const Prefix& prefix);
    [[nodiscard]] const std::map<Prefix, config::StaticRoute>& all() const { return routes_; }
    /// The daemon stops for good: nothing is kept.
    void forget() const;

  private:
    using Routes = std::map<Prefix, config::StaticRoute>;
    Result<void> install(const config::StaticRoute& route);
    [[nodiscard]] Result<void> save(const Routes& routes) const;

    Routing& routing_;
    RouteCounters& counters_;
    std::string path_;
    Routes routes_;
};

}  // namespace pktpit::router
