// SPDX-License-Identifier: BSD-3-Clause
/// Sequences of route changes for the churn benchmark. Plain values; the same for every peer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fib/table.h"

namespace pktpit::bench::fib {

/// Announce with a group (add or replace), or withdraw with group 0. What is withdrawn need not be there:
/// real traces withdraw routes that another peer's table has.
using Update = Route;

struct UpdateSequence {
    std::string name;
    std::vector<Update> updates;
    /// Bring the table back to what it was, each touched prefix once.
    std::vector<Update> undo;
};

/// Random prefixes of the table: one that is there is withdrawn, or (one time in two) announced with another
/// next hop; one that is not is announced again. `undo` is filled in.
UpdateSequence random_updates(const Table& table, size_t count, uint64_t seed);

/// `unixtime a|w prefix/len next-hop-id` a line; ids are folded into the table's groups. Throws Failure with
/// file and line.
UpdateSequence read_updates(const Table& table, const std::string& file);
UpdateSequence parse_updates(const Table& table, std::string_view text, const std::string& file);

/// The table after the updates.
Table updated(const Table& table, const std::vector<Update>& updates);

}  // namespace pktpit::bench::fib
