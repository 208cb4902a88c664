// SPDX-License-Identifier: BSD-3-Clause
/// Route counters in memory, for tests without a dataplane.
#pragma once

#include <map>

#include "router/routing/route_counters.h"

namespace pktpit::router {

class MemoryCounters : public RouteCounterStore {
  public:
    [[nodiscard]] RouteCount read(uint16_t counter) const override {
        const auto found = counts.find(counter);
        return found == counts.end() ? RouteCount{} : found->second;
    }
    void clear(uint16_t counter) override { counts.erase(counter); }
    [[nodiscard]] std::vector<std::pair<CountedRoute, uint16_t>> known() const override {
        return {noted.begin(), noted.end()};
    }
    Result<void> remember(const CountedRoute& route, uint16_t counter) override {
        if (full) return fail(route.prefix.to_string(), "full");
        noted[route] = counter;
        return {};
    }
    void forget(const CountedRoute& route) override { noted.erase(route); }

    std::map<uint16_t, RouteCount> counts;
    std::map<CountedRoute, uint16_t> noted;
    bool full = false;
};

}  // namespace pktpit::router
