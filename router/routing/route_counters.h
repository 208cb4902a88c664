// SPDX-License-Identifier: BSD-3-Clause
/// Counters of routes: which route has which, and what they count. The counting itself is the dataplane's,
/// behind RouteCounterStore. Used by the daemon; one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "fib/rib.h"

namespace pktpit::router {

struct RouteCount {
    uint64_t packets = 0;
    uint64_t bytes = 0;  ///< whole frames as they leave, without FCS
};

struct CountedRoute {
    Prefix prefix;
    fib::RouteSource source = fib::RouteSource::config;
    uint32_t table = 0;  ///< of the VRF, the kernel's number; 0: of the default VRF
    auto operator<=>(const CountedRoute&) const = default;
};

/// Where a dataplane counts. Counters are numbers from 1 to PP_ROUTE_COUNTERS - 1.
class RouteCounterStore {
  public:
    virtual ~RouteCounterStore() = default;
    /// Sum over all cores.
    [[nodiscard]] virtual RouteCount read(uint16_t counter) const = 0;
    virtual void clear(uint16_t counter) = 0;
    /// Whose counters are whose, as an earlier daemon noted it.
    [[nodiscard]] virtual std::vector<std::pair<CountedRoute, uint16_t>> known() const = 0;
    virtual Result<void> remember(const CountedRoute& route, uint16_t counter) = 0;
    virtual void forget(const CountedRoute& route) = 0;
};

class RouteCounters {
  public:
    /// Goes on with the counters that the store knows.
    explicit RouteCounters(RouteCounterStore& store);

    /// The route's counter, made and zeroed if need be. Error: all are in use.
    Result<uint16_t> acquire(const CountedRoute& route);
    /// Gives back the counters of routes that `in_use` does not want any more.
    using InUse = std::function<bool(const CountedRoute& route, uint16_t counter)>;
    void release_unused(const InUse& in_use);

    [[nodiscard]] RouteCount read(uint16_t counter) const;
    /// A packet that the daemon itself has forwarded; lost when it ends.
    void add(uint16_t counter, uint64_t bytes);
    [[nodiscard]] const std::map<CountedRoute, uint16_t>& all() const { return counters_; }

  private:
    RouteCounterStore& store_;
    std::map<CountedRoute, uint16_t> counters_;
    std::vector<bool> taken_;
    uint16_t last_ = 0;  ///< numbers are used again as late as can be
    std::map<uint16_t, RouteCount> by_daemon_;
};

}  // namespace pktpit::router
