// SPDX-License-Identifier: BSD-3-Clause
/// What /metrics tells, as plain values: read on the daemon's thread in one go (Daemon::metrics(),
/// metrics.cpp), made families of samples of on any other (metric_families.cpp). Names are for dashboards and
/// alerts of others: docs/metrics.md lists them; never rename one.
#pragma once

#include <prometheus/metric_family.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "fib/image.h"
#include "fib/rib.h"
#include "router/api/control.h"
#include "router/control/kernel_routes.h"
#include "router/dataplane/dataplane.h"
#include "router/loop/latency.h"

namespace pktpit::router {

struct MetricsValues {
    struct PortValues {
        std::string name;
        std::string forwarding;  ///< inline, split or auto
        std::string mode;        ///< native, generic, user; empty: not attached
        std::string sent_by;
        bool up = false;
        uint32_t mtu = 0;
        pp_port_counters counters{};
        Dataplane::Decided decided;
        std::optional<StandIn> stand_in;
        LatencyCounts latency;
        std::vector<std::pair<std::string, uint64_t>> nic;
    };
    struct VrfValues {
        std::string name;
        std::array<size_t, fib::route_source_count> routes{};
        size_t prefixes4 = 0;
        size_t prefixes6 = 0;
    };
    struct RouteValues {
        std::string vrf;
        std::string prefix;
        std::string source;
        RouteCount count;
    };
    struct FpmValues {
        bool connected = false;
        uint64_t routes4 = 0, routes6 = 0, stale = 0;
        uint64_t turns = 0;
        double longest_turn_s = 0;
    };
    struct OffloadValues {
        uint64_t entries = 0, budget = 0, promoted = 0, evicted = 0, invalidated = 0;
    };

    std::string version, dataplane, instance, modelled;
    double start_time = 0;   ///< seconds since 1970
    double cpu_seconds = 0;  ///< of all threads
    std::optional<uint64_t> resident_bytes;
    uint64_t generation = 0;
    uint64_t reloads_applied = 0, reloads_refused = 0;
    bool last_reload_good = true;
    uint64_t events = 0;
    std::vector<PortValues> ports;
    std::vector<std::pair<std::string, uint64_t>> slow_path;
    fib::FibImage::Usage usage{};
    pp_fib_geometry geometry{};
    std::vector<VrfValues> vrfs;
    std::vector<RouteValues> routes;
    std::map<std::string, uint64_t> neighbours;  ///< by state
    KernelRoutes::Status kernel;
    std::optional<FpmValues> fpm;
    LatencyCounts turns;  ///< of the daemon's loop
    std::vector<WorkerState> workers;
    OffloadValues offload;
    std::vector<AggregationState> aggregation;
};

/// Every family is there whatever the router does, but for those of what is not configured (FPM, NICs of its
/// own).
std::vector<prometheus::MetricFamily> metric_families(const MetricsValues& values);

/// A histogram of latencies with a bucket for each power of two from 1 µs to 1 s.
prometheus::ClientMetric latency_histogram(const LatencyCounts& counts);

class DaemonMetrics final : public MetricsReading {
  public:
    explicit DaemonMetrics(MetricsValues values) : values_(std::move(values)) {}
    [[nodiscard]] std::string text() const override;

  private:
    MetricsValues values_;
};

}  // namespace pktpit::router
