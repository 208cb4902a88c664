// SPDX-License-Identifier: BSD-3-Clause
/// The churn benchmark of one family: one writer as fast as it can, in Pktpit's case beside a reader that
/// looks up all the while on another core. Main thread, pinned.
#pragma once

#include <vector>

#include "bench/fib/options.h"
#include "bench/fib/panel.h"
#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// Names of the further figures in the panel's cells: microseconds of an update, and the reader's rate.
inline constexpr const char* latency_figures[] = {"p50", "p99", "p99.9", "max"};
inline constexpr const char* reader_figure = "reader Mlookups/s";

/// Thousand updates a second. Before it measures, each peer's answers after the updates, and after their
/// undoing, are compared with the oracle's; throws Failure where they differ.
template <LookupAddress Address>
Panel compare_churn(const Options& options, const Table& table, const std::vector<PeerKind<Address>>& peers);

extern template Panel compare_churn(const Options&, const Table&, const std::vector<PeerKind<Address4>>&);
extern template Panel compare_churn(const Options&, const Table&, const std::vector<PeerKind<Address6>>&);

}  // namespace pktpit::bench::fib
