// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/resolved_hops.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace pktpit::router {
namespace {

ResolvedHop hop(uint16_t interface, uint16_t weight = 1) {
    return {interface, IpAddress::v4(0x0a000000u + interface), weight};
}
std::vector<uint16_t> weights(const std::vector<ResolvedHop>& hops) {
    std::vector<uint16_t> found;
    for (const auto& one : hops)
        found.push_back(one.weight);
    return found;
}
using Weights = std::vector<uint16_t>;

TEST(Combine, HopsThatNeedNoRecursionKeepTheirWeights) {
    const WeightedHops parts[] = {{4, {hop(1)}}, {2, {hop(2)}}};
    EXPECT_EQ(combine(parts), (std::vector{hop(1, 4), hop(2, 2)}));
}

TEST(Combine, APartSharesOutItsOwnWeight) {
    const WeightedHops parts[] = {{1, {hop(1), hop(2)}}, {1, {hop(3)}}};
    EXPECT_EQ(combine(parts), (std::vector{hop(1, 1), hop(2, 1), hop(3, 2)}));
    const WeightedHops uneven[] = {{3, {hop(1, 2), hop(2, 1)}}, {1, {hop(3, 5)}}};
    EXPECT_EQ(weights(combine(uneven)), (Weights{2, 1, 1}));
}

TEST(Combine, EqualHopsAreMerged) {
    const WeightedHops parts[] = {{1, {hop(1), hop(2)}}, {1, {hop(2), hop(3)}}};
    EXPECT_EQ(combine(parts), (std::vector{hop(1, 1), hop(2, 2), hop(3, 1)}));
    const WeightedHops full[] = {{65535, {hop(1)}}, {65535, {hop(1)}}, {1, {hop(2)}}};
    EXPECT_EQ(weights(combine(full)), (Weights{65535, 1}));
}

TEST(Combine, CommonFactorsGo) {
    const WeightedHops parts[] = {{500, {hop(1, 300), hop(2, 100)}}};
    EXPECT_EQ(weights(combine(parts)), (Weights{3, 1}));
}

TEST(Combine, PartsWithoutHopsAreLeftOut) {
    const WeightedHops parts[] = {{7, {}}, {1, {hop(2)}}};
    EXPECT_EQ(combine(parts), (std::vector{hop(2)}));
    EXPECT_TRUE(combine({}).empty());
}

TEST(Combine, NeverMoreThanTheHeaviestMembersThatAGroupHolds) {
    std::vector<WeightedHops> parts(2);
    for (uint16_t i = 0; i < most_hops; i++)
        parts[0].hops.push_back(hop(static_cast<uint16_t>(1 + i)));
    parts[1].hops = {hop(1000), hop(1001)};
    const auto hops = combine(parts);
    ASSERT_EQ(hops.size(), most_hops);
    EXPECT_EQ(hops[0].interface, 1000) << "the two that carry half of the flows";
    EXPECT_EQ(hops[1].interface, 1001);
}

// Shares come out right whatever the weights are, as near as 16 bits can say it.
TEST(Combine, RandomWeightsKeepTheirShares) {
    std::mt19937 random(7);
    for (int round = 0; round < 2000; round++) {
        std::vector<WeightedHops> parts(1 + random() % 6);
        std::vector<double> share;
        double all = 0;
        const uint32_t largest = round % 2 ? 65535 : 9;
        uint16_t next = 1;
        for (auto& part : parts) {
            part.weight = static_cast<uint16_t>(1 + random() % largest);
            all += part.weight;
            double total = 0;
            for (size_t i = 0, count = 1 + random() % 5; i < count; i++) {
                part.hops.push_back(hop(next++, static_cast<uint16_t>(1 + random() % largest)));
                total += part.hops.back().weight;
            }
            for (const auto& one : part.hops)
                share.push_back(double{1} * part.weight * one.weight / total);
        }
        const auto hops = combine(parts);
        ASSERT_EQ(hops.size(), share.size());
        const double sum = std::accumulate(hops.begin(), hops.end(), 0.0,
                                           [](double s, const auto& h) { return s + h.weight; });
        for (size_t i = 0; i < hops.size(); i++) {
            ASSERT_GE(hops[i].weight, 1);
            // One step of the weight, and what the others' rounding up to 1 takes away.
            ASSERT_NEAR(hops[i].weight / sum, share[i] / all, 2e-4) << "round " << round << " hop " << i;
        }
    }
}

}  // namespace
}  // namespace pktpit::router
