// SPDX-License-Identifier: BSD-3-Clause
/// What auto ports' stages hold, kept up to date: every 100 ms it asks the dataplane where packets went and
/// lets HotChoice promote and evict. It also remembers the last seconds, for `pktpit show offload`. The
/// daemon's thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <deque>
#include <map>
#include <string>

#include "config/config.h"
#include "router/dataplane/dataplane.h"
#include "router/hot/hot_choice.h"
#include "router/hot/hot_routes.h"

namespace pktpit::router {

class HotPorts {
  public:
    /// `table` is the image's, and empty.
    HotPorts(fib::FibImage& image, fib::TableId table, Dataplane& dataplane)
        : dataplane_(dataplane), routes_(image, table), choice_(routes_) {}

    [[nodiscard]] HotRoutes& routes() { return routes_; }
    using Names = std::map<std::string, uint16_t>;  ///< all ports
    /// Every 100 ms. Without an auto port nothing is held.
    void tick(const Names& ports);
    void set_offload(const config::Offload& wanted);

    /// Of the last two seconds, and since the start.
    [[nodiscard]] nlohmann::json show(const Names& ports) const;
    /// Since the start; and what is held now: blocks, or where it is the whole table its prefixes.
    [[nodiscard]] HotRoutes::Counts counts() const { return routes_.counts(); }
    [[nodiscard]] size_t entries() const { return routes_.holds_all() ? routes_.prefixes() : routes_.size(); }
    /// Each block with its rate, the busiest first.
    [[nodiscard]] nlohmann::json show_entries();

  private:
    struct Moment {
        std::map<std::string, Dataplane::Decided> ports;
        HotRoutes::Counts counts;
    };
    [[nodiscard]] Moment now(const Names& ports) const;
    [[nodiscard]] bool whole_table_fits() const;

    Dataplane& dataplane_;
    HotRoutes routes_;
    HotChoice choice_;
    bool whole_table_ = true;     ///< is held where it fits
    std::deque<Moment> moments_;  ///< one a tick while there is an auto port, the newest last
};

}  // namespace pktpit::router
