// SPDX-License-Identifier: BSD-3-Clause
/// The routing table that all peers get: sorted, each prefix once, next hops numbered densely from 1. Plain
/// values; made once at start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"

namespace pktpit::bench::fib {

struct Route {
    Prefix prefix;
    uint32_t group = 0;  ///< 1..Table::groups; 0 is "no route"

    bool operator==(const Route&) const = default;
};

struct Table {
    Family family = Family::ipv4;
    std::vector<Route> routes;  ///< ascending by address, then length
    uint32_t groups = 0;        ///< largest group id
    std::string origin;         ///< for the report
    std::string name{};         ///< in a set of tables
};

/// The routes of this family in a route file (fib/tables/table_file.h); none: an empty table. Ids become
/// groups in order of appearance; of a prefix that occurs twice the last counts. Throws Failure.
Table read_table(Family family, const std::string& file);

/// A table of `count` routes with the Internet's prefix lengths; 0: as many as the Internet has.
Table generate_internet(Family family, size_t count);

/// The Internet's table in `folder`, or in the one that PKTPIT_DATA names; where there is none,
/// generate_internet(), and `origin` says why.
Table read_or_generate_table(Family family, const std::string& folder);

/// Gives the routes `groups` next hops: by a hash of the one they had and of their surroundings, so that
/// neighbours with a common next hop mostly keep one in common, as prefixes of one origin do.
void spread_next_hops(Table& table, uint32_t groups);

/// Sorts, and keeps the last of equal prefixes.
void normalize(std::vector<Route>& routes);

}  // namespace pktpit::bench::fib
