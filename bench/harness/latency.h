// SPDX-License-Identifier: BSD-3-Clause
/// Latencies as the sink counts them: buckets of at most 6 % width (bench/bpf/traffic.h). Pure.
#pragma once

#include <cstdint>
#include <span>

#include "bench/bpf/traffic.h"

namespace pktpit::bench::harness {

/// Middle of a bucket, ns.
constexpr double bucket_nanoseconds(uint32_t bucket) {
    if (bucket < 2 * PB_LATENCY_STEPS) return bucket;
    const uint32_t shift = bucket / PB_LATENCY_STEPS - 1;
    const uint64_t begin = uint64_t{bucket - shift * PB_LATENCY_STEPS} << shift;
    return static_cast<double>(begin) + static_cast<double>(uint64_t{1} << shift) / 2;
}

/// The latency that the share `q` of all stays below, ns; 0 if none was counted.
constexpr double latency_quantile(std::span<const uint64_t> buckets, double q) {
    uint64_t all = 0;
    for (const uint64_t count : buckets)
        all += count;
    uint64_t below = 0;
    for (uint32_t bucket = 0; bucket < buckets.size(); bucket++) {
        below += buckets[bucket];
        if (below != 0 && static_cast<double>(below) >= q * static_cast<double>(all))
            return bucket_nanoseconds(bucket);
    }
    return 0;
}

}  // namespace pktpit::bench::harness
