// SPDX-License-Identifier: BSD-3-Clause
/// The tables that a lookup is held against together, so that no figure is met on one table alone: the
/// Internet's routes and generated ones, over few, some and many next hops, with none, some and many prefixes
/// beyond /24 (IPv4: an ISP's own /32 and /30). Plain values; made one after another at start.
#pragma once

#include <string>
#include <vector>

#include "bench/fib/table.h"

namespace pktpit::bench::fib {

struct TableVariant {
    bool generated = false;
    uint32_t next_hops = 0;
    double long_share = 0;  ///< of all prefixes, those beyond /24
};

/// IPv4: 18; IPv6, where no length is a border: 6.
std::vector<TableVariant> table_set(Family family);

/// "Internet, 3771 next hops, 10 % longer than /24"
std::string name_of(const TableVariant& variant, Family family);

/// `count`: routes where they are generated, 0: as many as the Internet has; `folder`: where recorded ones
/// lie.
Table make_variant(const TableVariant& variant, Family family, size_t count, const std::string& folder);

/// Adds prefixes of 25 to 32 bits, each with any of the table's groups, until they are this share of all:
/// eight inside each of as many routes of 24 bits as that takes, chosen by a fixed seed.
void add_long_prefixes(Table& table, double share);

}  // namespace pktpit::bench::fib
