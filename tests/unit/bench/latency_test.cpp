// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/latency.h"

#include <gtest/gtest.h>

#include <vector>

namespace pktpit::bench::harness {
namespace {

/// As the sink's eBPF program counts.
uint32_t bucket_of(uint64_t nanoseconds) {
    uint32_t shifted = 0;
    uint64_t rest = nanoseconds;
    for (int shift = 16; shift > 0; shift /= 2) {
        if (rest >> (4 + shift) == 0) continue;
        rest >>= shift;
        shifted += static_cast<uint32_t>(shift);
    }
    return shifted * PB_LATENCY_STEPS + static_cast<uint32_t>(rest);
}

TEST(Latency, BucketsStandForTheirValuesWithin6Percent) {
    for (uint64_t value = 1; value < uint64_t{1} << 35; value = value * 17 / 16 + 1) {
        const uint32_t bucket = bucket_of(value);
        ASSERT_LT(bucket, static_cast<uint32_t>(PB_LATENCY_BUCKETS));
        ASSERT_NEAR(bucket_nanoseconds(bucket), static_cast<double>(value),
                    static_cast<double>(value) * 0.0625 + 0.5)
            << value;
    }
    EXPECT_LT(bucket_of(uint64_t{1} << 35), static_cast<uint32_t>(PB_LATENCY_BUCKETS));
}

TEST(Latency, BucketsRise) {
    for (uint32_t bucket = 1; bucket < PB_LATENCY_BUCKETS; bucket++)
        ASSERT_GT(bucket_nanoseconds(bucket), bucket_nanoseconds(bucket - 1)) << bucket;
}

TEST(Latency, Quantiles) {
    std::vector<uint64_t> buckets(PB_LATENCY_BUCKETS);
    EXPECT_EQ(latency_quantile(buckets, 0.5), 0);
    buckets[bucket_of(10)] = 99;
    buckets[bucket_of(20)] = 1;
    EXPECT_EQ(latency_quantile(buckets, 0.5), 10);
    EXPECT_EQ(latency_quantile(buckets, 0.99), 10);
    EXPECT_EQ(latency_quantile(buckets, 0.999), 20);
}

}  // namespace
}  // namespace pktpit::bench::harness
