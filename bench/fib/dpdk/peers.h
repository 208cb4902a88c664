// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's longest-prefix matches as peers. An Eal must live as long as any of them.
#pragma once

#include <vector>

#include "bench/fib/peer.h"

namespace pktpit::bench::fib {

/// rte_lpm, rte_fib with 4- and 2-byte next hops; rte_lpm6, rte_fib6 with 4 and 2.
std::vector<PeerKind<Address4>> dpdk_kinds4();
std::vector<PeerKind<Address6>> dpdk_kinds6();

/// What the peers of one table take at most, in bytes, with what updates add: for the huge pages to reserve.
size_t dpdk_memory(const Table& table);

PeerKind<Address4> rte_lpm_kind();
/// `next_hop_bytes`: 2 or 4.
PeerKind<Address4> rte_fib_kind(unsigned next_hop_bytes);
PeerKind<Address6> rte_fib6_kind(unsigned next_hop_bytes);
PeerKind<Address6> rte_lpm6_kind();

}  // namespace pktpit::bench::fib
