// SPDX-License-Identifier: BSD-3-Clause
/// The streams of destinations that lookups are measured on. Deterministic: the same table and seed give the
/// same addresses. Plain values; made once at start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fib/address.h"
#include "bench/fib/measured_memory.h"
#include "bench/fib/table.h"

namespace pktpit::bench::fib {

enum class Traffic : uint8_t {
    uniform,      ///< IPv4: any 32 bits; IPv6: any address in 2000::/3
    in_prefix,    ///< a random prefix, a random address in it
    zipf,         ///< the same, prefixes by Zipf's law with exponent 1.0 over a random ranking
    hot16,        ///< 16 destinations, taken from in_prefix, in random order
    consecutive,  ///< IPv4: one address after the other; IPv6: one /64 after the other
    buffers,      ///< in_prefix, read from headers in packet buffers (packet_buffers.h)
};

inline constexpr Traffic all_traffic[] = {Traffic::uniform, Traffic::in_prefix,   Traffic::zipf,
                                          Traffic::hot16,   Traffic::consecutive, Traffic::buffers};

std::string_view name_of(Traffic traffic);

/// `count` destinations. The table must not be empty.
template <LookupAddress Address>
std::vector<Address> make_destinations(const Table& table, Traffic traffic, size_t count, uint64_t seed);

/// A workload as the measurement takes it.
template <LookupAddress Address>
struct Workload {
    Traffic traffic = Traffic::uniform;
    HugeArray<Address> destinations;  ///< a multiple of batch_size
    std::vector<uint32_t> expected;   ///< the oracle's answers
};

extern template std::vector<Address4> make_destinations(const Table&, Traffic, size_t, uint64_t);
extern template std::vector<Address6> make_destinations(const Table&, Traffic, size_t, uint64_t);

}  // namespace pktpit::bench::fib
