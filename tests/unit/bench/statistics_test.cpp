// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/statistics.h"

#include <gtest/gtest.h>

#include <vector>

namespace pktpit::bench::harness {
namespace {

TEST(Quantile, LiesBetweenTheValuesByDistance) {
    const std::vector<double> values{40, 10, 30, 20};
    EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
    EXPECT_DOUBLE_EQ(quantile(values, 1), 40);
    EXPECT_DOUBLE_EQ(quantile(values, 0.5), 25);
    EXPECT_DOUBLE_EQ(quantile(values, 0.25), 17.5);
}

TEST(Quantile, OfNoneAndOfOne) {
    EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0);
    const std::vector<double> one{7};
    EXPECT_DOUBLE_EQ(quantile(one, 0.25), 7);
    EXPECT_DOUBLE_EQ(quantile(one, 1), 7);
}

TEST(Quantile, MedianIsThatOfTheSummary) {
    for (const std::vector<double>& values :
         {std::vector<double>{3, 1, 2}, std::vector<double>{4, 1, 3, 2}, std::vector<double>{5}})
        EXPECT_DOUBLE_EQ(quantile(values, 0.5), summarize(values).median);
}

}  // namespace
}  // namespace pktpit::bench::harness
