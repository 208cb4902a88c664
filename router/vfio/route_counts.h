/// Counters of routes where the worker counts. They end with the daemon. The daemon's thread.
#pragma once

#include <map>

#include "router/loop/worker_counters.h"
#include "router/routing/route_counters.h"

namespace pktpit::router {

class WorkerRouteCounts : public RouteCounterStore {
  public:
    explicit WorkerRouteCounts(WorkerCounters& counters) : counters_(counters) {}
    [[nodiscard]] RouteCount read(uint16_t counter) const override;
    void clear(uint16_t counter) override;
    [[nodiscard]] std::vector<std::pair<CountedRoute, uint16_t>> known() const override { return {}; }
    Result<void> remember(const CountedRoute&, uint16_t) override { return {}; }
    void forget(const CountedRoute&) override {}

  private:
    WorkerCounters& counters_;
    std::map<uint16_t, RouteCount> base_;  ///< where a counter stood when it was cleared
};

}  // namespace pktpit::router
