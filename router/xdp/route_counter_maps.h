// SPDX-License-Identifier: BSD-3-Clause
/// The counters of routes where the port stages count, and the pinned list of whose each one is. One thread.
#pragma once

#include "router/loop/worker_counter_set.h"
#include "router/routing/route_counters.h"

namespace pktpit::router {

class RouteCounterMaps : public RouteCounterStore {
  public:
    /// The descriptors and the counters of split ports' workers are the caller's and outlive this.
    RouteCounterMaps(int route_counters, int counted_routes, WorkerCounterSet& worker)
        : route_counters_(route_counters), counted_routes_(counted_routes), worker_(worker) {}

    [[nodiscard]] RouteCount read(uint16_t counter) const override;
    void clear(uint16_t counter) override;
    [[nodiscard]] std::vector<std::pair<CountedRoute, uint16_t>> known() const override;
    Result<void> remember(const CountedRoute& route, uint16_t counter) override;
    void forget(const CountedRoute& route) override;

  private:
    int route_counters_;
    int counted_routes_;
    WorkerCounterSet& worker_;
};

}  // namespace pktpit::router
