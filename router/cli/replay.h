// SPDX-License-Identifier: BSD-3-Clause
/// Applies updates to a FIB image, as a router would after its RIB has seen that something changed, and
/// measures each change. One thread, no readers.
#pragma once

#include <vector>

#include "router/cli/latencies.h"
#include "router/cli/naive_table.h"
#include "router/cli/table_image.h"
#include "router/cli/update_list.h"

namespace pktpit::router::cli {

struct ReplayCounts {
    size_t added = 0;      ///< announcements of a prefix that was not there
    size_t replaced = 0;   ///< of one with another next hop
    size_t unchanged = 0;  ///< of one with the same next hop: the image is not touched
    size_t withdrawn = 0;  ///< prefixes
    size_t absent = 0;     ///< withdrawals of a prefix that was not there
    [[nodiscard]] size_t changes() const { return added + replaced + withdrawn; }
    bool operator==(const ReplayCounts&) const = default;
};

struct Replay {
    TableImage image;
    ReplayCounts counts;
    Latencies latencies;        ///< of the changes
    double change_seconds = 0;  ///< their sum
    std::vector<Route> routes;  ///< at the end, as the image has them; in fib::table_order()
};

Result<Replay> replay(const std::vector<Route>& table, const std::vector<RouteUpdate>& updates,
                      size_t next_hops);

/// The same by hand: the table that the updates must end in.
NaiveTable replay_naively(const std::vector<Route>& table, const std::vector<RouteUpdate>& updates);

}  // namespace pktpit::router::cli
