// SPDX-License-Identifier: BSD-3-Clause
/// Routing tables shaped like the Internet's, for tests, benchmarks and the demo where no real one is at
/// hand. Any thread. Deterministic: the same arguments give the same table everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/address.h"

namespace pktpit::fib {

struct LengthCount {
    uint8_t length;
    uint32_t count;
};

/// Prefixes by length in the default-free zone of June 2026: 1,168,945 of IPv4, 279,855 of IPv6, none longer
/// than /24 or /48.
std::span<const LengthCount> internet_histogram(Family family);
size_t internet_table_size(Family family);

struct TableEntry {
    Prefix prefix;
    uint32_t next_hop;  ///< 1..200, number k with a share proportional to 1/k
};

/// A table of `count` prefixes in the Internet's proportions of lengths, ascending, each prefix once; in
/// globally routable space. Prefixes crowd together, and neighbours share next hops, as real ones do, so that
/// the table takes about as many FIB blocks, and as much of its traffic can be decided about in few blocks.
/// Where a length's space is used up (far beyond the Internet's size) there are fewer.
std::vector<TableEntry> generate_table(Family family, size_t count, uint64_t seed);

}  // namespace pktpit::fib
