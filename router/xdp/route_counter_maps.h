/// The counters of routes where the port stages count, and the pinned list of whose each one is. One thread.
#pragma once

#include "router/routing/route_counters.h"

namespace pktpit::router {

class RouteCounterMaps : public RouteCounterStore {
  public:
    /// The descriptors are the caller's and stay open for as long as this lives.
    RouteCounterMaps(int route_counters, int counted_routes)
        : route_counters_(route_counters), counted_routes_(counted_routes) {}

    [[nodiscard]] RouteCount read(uint16_t counter) const override;
    void clear(uint16_t counter) override;
    [[nodiscard]] std::vector<std::pair<CountedRoute, uint16_t>> known() const override;
    Result<void> remember(const CountedRoute& route, uint16_t counter) override;
    void forget(const CountedRoute& route) override;

  private:
    int route_counters_;
    int counted_routes_;
};

}  // namespace pktpit::router
