// SPDX-License-Identifier: BSD-3-Clause
/// How long a full table takes to load, from sorted routes in memory to the first right lookup: the
/// structure's making, its memory and every route. Main thread, pinned.
#pragma once

#include <vector>

#include "bench/fib/options.h"
#include "bench/fib/panel.h"
#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// Seconds. Rows: each family that has a table, and both together, each round's sum.
Panel compare_load(const Options& options, const std::vector<Table>& tables,
                   const std::vector<PeerKind<Address4>>& peers4,
                   const std::vector<PeerKind<Address6>>& peers6);

}  // namespace pktpit::bench::fib
