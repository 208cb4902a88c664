// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/replay.h"

#include <chrono>

#include "fib/tables/table_digest.h"

namespace pktpit::router::cli {
namespace {

using Clock = std::chrono::steady_clock;

/// Applies updates one by one.
class Player {
  public:
    explicit Player(TableImage& image) : image_(image) {}

    Result<void> apply(const RouteUpdate& update) {
        const auto before = image_.fib().find(update.prefix);
        if (update.next_hop == RouteUpdate::withdrawn) {
            if (!before) {
                counts.absent++;
                return {};
            }
            const auto start = Clock::now();
            const auto erased = image_.fib().erase(update.prefix);
            finish(start);
            if (!erased) return tl::unexpected(erased.error());
            counts.withdrawn++;
            return {};
        }
        const fib::GroupId group = image_.group_of(update.next_hop);
        if (before == group) {
            counts.unchanged++;
            return {};
        }
        const auto start = Clock::now();
        auto good = image_.fib().set(update.prefix, group);
        finish(start);
        (before ? counts.replaced : counts.added)++;
        return good;
    }

    ReplayCounts counts;
    Latencies latencies;
    std::chrono::nanoseconds sum{0};

  private:
    void finish(Clock::time_point start) {
        const auto duration = Clock::now() - start;
        latencies.add(duration);
        sum += duration;
    }

    TableImage& image_;
};

/// What the image holds of all prefixes that there ever were.
std::vector<Route> routes_in(const TableImage& image, const std::vector<Route>& table,
                             const std::vector<RouteUpdate>& updates) {
    std::vector<Route> routes = table;
    routes.reserve(table.size() + updates.size());
    for (const RouteUpdate& update : updates)
        routes.push_back({update.prefix, 0});
    sort_routes(routes);
    std::erase_if(routes, [&](Route& route) {
        const auto group = image.fib().find(route.prefix);
        if (group) route.next_hop = image.next_hop_of(*group);
        return !group;
    });
    return routes;
}

}  // namespace

Result<Replay> replay(const std::vector<Route>& table, const std::vector<RouteUpdate>& updates,
                      size_t next_hops) {
    ReplayCounts counts;
    Latencies latencies;
    std::chrono::nanoseconds sum{0};
    auto image = TableImage::fitting(next_hops, [&](TableImage& empty) -> Result<void> {
        if (auto good = empty.add(table); !good) return good;
        Player player(empty);
        for (const RouteUpdate& update : updates)
            if (auto good = player.apply(update); !good) return good;
        counts = player.counts;
        latencies = std::move(player.latencies);
        sum = player.sum;
        return {};
    });
    if (!image) return tl::unexpected(image.error());
    auto routes = routes_in(*image, table, updates);
    return Replay{std::move(*image), counts, std::move(latencies), std::chrono::duration<double>(sum).count(),
                  std::move(routes)};
}

NaiveTable replay_naively(const std::vector<Route>& table, const std::vector<RouteUpdate>& updates) {
    NaiveTable naive;
    for (const Route& route : table)
        naive.set(route.prefix, route.next_hop);
    for (const RouteUpdate& update : updates) {
        if (update.next_hop == RouteUpdate::withdrawn)
            naive.erase(update.prefix);
        else
            naive.set(update.prefix, update.next_hop);
    }
    return naive;
}

}  // namespace pktpit::router::cli
