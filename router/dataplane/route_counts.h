// SPDX-License-Identifier: BSD-3-Clause
/// Counters of routes where the worker counts. They end with the daemon. The daemon's thread.
#pragma once

#include "router/routing/route_counters.h"

namespace pktpit::router {

/// `Counters`: of one worker, or of several (WorkerCounterSet).
template <class Counters>
class WorkerRouteCounts : public RouteCounterStore {
  public:
    explicit WorkerRouteCounts(Counters& counters) : counters_(counters) {}
    [[nodiscard]] RouteCount read(uint16_t counter) const override {
        const pp_route_counters now = counters_.route(counter);
        return {now.packets, now.bytes};
    }
    void clear(uint16_t counter) override { counters_.clear_route(counter); }
    [[nodiscard]] std::vector<std::pair<CountedRoute, uint16_t>> known() const override { return {}; }
    Result<void> remember(const CountedRoute&, uint16_t) override { return {}; }
    void forget(const CountedRoute&) override {}

  private:
    Counters& counters_;
};

}  // namespace pktpit::router
