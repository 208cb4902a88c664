// SPDX-License-Identifier: BSD-3-Clause
/// Updates of a file in memory, next-hop ids as small numbers: 24 bytes each, so that they can be replayed
/// without their file being read meanwhile. One thread.
#pragma once

#include <string>
#include <vector>

#include "router/cli/route_list.h"

namespace pktpit::router::cli {

struct RouteUpdate {
    static constexpr uint32_t withdrawn = UINT32_MAX;
    Prefix prefix;
    uint32_t next_hop = withdrawn;
};

struct UpdateList {
    std::vector<RouteUpdate> updates;
    uint64_t first = 0, last = 0;  ///< earliest and latest, in microseconds since 1970
    fib::ReadSummary summary;
};

Result<UpdateList> load_updates(const std::string& path, const fib::ReadOptions& options, NextHopIds& ids);

}  // namespace pktpit::router::cli
