// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/dpdk/peers.h"

#include "bench/fib/dpdk/sizing.h"

namespace pktpit::bench::fib {

std::vector<PeerKind<Address4>> dpdk_kinds4() {
    return {rte_lpm_kind(), rte_fib_kind(4), rte_fib_kind(2)};
}

std::vector<PeerKind<Address6>> dpdk_kinds6() {
    return {rte_lpm6_kind(), rte_fib6_kind(4), rte_fib6_kind(2)};
}

size_t dpdk_memory(const Table& table) {
    // Measured on 1,168,945 routes: 557 MiB for rte_fib 4B, 524 for 2B and 75 for rte_lpm. Most of it are the
    // RIBs, two nodes a route of 192 bytes each; those of IPv6 are 256,
    // and rte_lpm6 has a hash of its rules. A tenth on top for fragmentation.
    const size_t nodes = (table.routes.size() + 65536) * 2;
    const size_t bytes = table.family == Family::ipv4
                             ? (size_t{180} << 20) + 2 * nodes * 192
                             : (size_t{160} << 20) + nodes * (256 + 64) + count_tbl8(table) * 1152 +
                                   (count_reserved_tbl8(table) + (size_t{1} << 17)) * 1024;
    return bytes / 10 * 11;
}

}  // namespace pktpit::bench::fib
