// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/latency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pktpit::router {
namespace {

TEST(Latency, BucketsFollowEachOtherWithoutGapAndAreAtMostAnEighthWide) {
    uint64_t first = 0;
    for (size_t i = 0; i + 1 < LatencyBuckets::count; i++) {
        const uint64_t last = LatencyBuckets::last_of(i);
        ASSERT_GE(last, first) << i;
        EXPECT_EQ(LatencyBuckets::index_of(first), i);
        EXPECT_EQ(LatencyBuckets::index_of(last), i);
        EXPECT_EQ(LatencyBuckets::index_of(last + 1), i + 1);
        EXPECT_LE((last - first) * 8, first) << i;
        first = last + 1;
    }
    EXPECT_EQ(LatencyBuckets::last_of(LatencyBuckets::count - 1), (uint64_t{1} << 36) - 1);
    EXPECT_EQ(LatencyBuckets::index_of(UINT64_MAX), LatencyBuckets::count - 1);
}

TEST(Latency, PercentilesAreThoseOfASortedListWithinABucket) {
    std::mt19937_64 random(7);
    std::lognormal_distribution<double> spread(9, 1.5);
    LatencyHistogram histogram;
    std::vector<uint64_t> all;
    for (int i = 0; i < 100'000; i++) {
        const auto taken = static_cast<uint64_t>(spread(random));
        const uint64_t packets = 1 + random() % 4;
        histogram.add(taken, packets);
        all.insert(all.end(), packets, taken);
    }
    std::ranges::sort(all);
    const LatencyCounts counts = histogram.read();
    ASSERT_EQ(counts.count(), all.size());
    EXPECT_EQ(counts.longest, all.back());
    for (const double share : {0.5, 0.9, 0.99, 0.999}) {
        const uint64_t exact = all[static_cast<size_t>(share * static_cast<double>(all.size()))];
        EXPECT_GE(counts.percentile(share), exact) << share;
        EXPECT_LE(counts.percentile(share), exact + exact / 8 + 1) << share;
    }
    EXPECT_EQ(counts.percentile(1), all.back());
}

TEST(Latency, NothingIsZeroAndReadingsAddUp) {
    EXPECT_EQ(LatencyCounts().percentile(0.5), 0u);
    LatencyHistogram one, other;
    one.add(1000, 3);
    other.add(5000, 1);
    LatencyCounts sum = one.read();
    sum.add(other.read());
    EXPECT_EQ(sum.count(), 4u);
    EXPECT_EQ(sum.longest, 5000u);
    EXPECT_EQ(sum.total, 8000u);
    EXPECT_LT(sum.percentile(0.75), 1200u);
    one.reset();
    EXPECT_EQ(one.read().count(), 0u);
    EXPECT_EQ(one.read().longest, 0u);
}

}  // namespace
}  // namespace pktpit::router
