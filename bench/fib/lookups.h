// SPDX-License-Identifier: BSD-3-Clause
/// The lookup benchmark of one family: checks every peer's every answer, finds each one's best setting, then
/// measures all in one interleaved run. Main thread, pinned.
#pragma once

#include <vector>

#include "bench/fib/options.h"
#include "bench/fib/panel.h"
#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// Where each peer's memory goes, for the report.
struct SizeRow {
    std::string peer;
    std::vector<std::pair<std::string, double>> parts;  ///< bytes
    [[nodiscard]] double total() const;
};

struct LookupResult {
    std::vector<Panel> panels;  ///< million lookups a second; one a neighbour
    std::vector<SizeRow> sizes;
};

/// Throws Failure if a peer answers wrong. A peer that cannot hold the table is left out with a note.
template <LookupAddress Address>
LookupResult compare_lookups(const Options& options, const Table& table,
                             const std::vector<PeerKind<Address>>& peers);

extern template LookupResult compare_lookups(const Options&, const Table&,
                                             const std::vector<PeerKind<Address4>>&);
extern template LookupResult compare_lookups(const Options&, const Table&,
                                             const std::vector<PeerKind<Address6>>&);

}  // namespace pktpit::bench::fib
