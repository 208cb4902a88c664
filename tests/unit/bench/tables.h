// SPDX-License-Identifier: BSD-3-Clause
/// Small tables from text, for the tests of the benchmark's parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/fib/table.h"

namespace pktpit::bench::fib {

inline Table table_of(Family family, const std::vector<std::pair<std::string, uint32_t>>& routes) {
    Table table{family, {}, 0, "test"};
    for (const auto& [prefix, group] : routes) {
        table.routes.push_back({Prefix::parse(prefix).value(), group});
        table.groups = std::max(table.groups, group);
    }
    normalize(table.routes);
    return table;
}

/// The longest match by looking at every route.
inline uint32_t longest_match(const Table& table, const IpAddress& address) {
    const Route* best = nullptr;
    for (const Route& route : table.routes)
        if (route.prefix.contains(address) && (!best || route.prefix.length > best->prefix.length))
            best = &route;
    return best ? best->group : 0;
}

}  // namespace pktpit::bench::fib
