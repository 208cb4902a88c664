// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "fib/bit_tree.h"
#include "fib/bucket_share.h"
#include "fib/bucket_space.h"

namespace pktpit::fib {
namespace {

using Members = std::vector<WeightedMember>;

std::map<uint32_t, uint32_t> count(std::span<const uint32_t> buckets) {
    std::map<uint32_t, uint32_t> counts;
    for (uint32_t adjacency : buckets)
        counts[adjacency]++;
    return counts;
}

double worst_error(const Members& members, std::span<const uint32_t> counts, unsigned bits) {
    double total = 0, worst = 0;
    for (const auto& [adjacency, weight] : members)
        total += weight;
    for (size_t i = 0; i < members.size(); i++) {
        const double share = members[i].second / total * (1u << bits);
        worst = std::max(worst, std::abs(counts[i] - share) / share);
    }
    return worst;
}

/// How many buckets differ; it is this adjacency that has them in the latter.
size_t moved_to(uint32_t adjacency, std::span<const uint32_t> former, std::span<const uint32_t> latter) {
    size_t moved = 0;
    for (size_t i = 0; i < former.size(); i++) {
        if (former[i] == latter[i]) continue;
        EXPECT_EQ(latter[i], adjacency);
        moved++;
    }
    return moved;
}

TEST(BucketShare, ExactSharesTakeNoMoreBucketsThanNeeded) {
    EXPECT_EQ(bucket_bits_for(Members{{7, 1}}), 0u);
    EXPECT_EQ(bucket_bits_for(Members{{1, 5}, {2, 5}}), 1u);
    EXPECT_EQ(bucket_bits_for(Members{{1, 3}, {2, 1}}), 2u);
    EXPECT_EQ(bucket_bits_for(Members{{1, 1}, {2, 1}, {3, 1}, {4, 1}}), 2u);
    EXPECT_EQ(bucket_bits_for(Members{{1, 1}, {2, 1}, {3, 1}}), 8u);
}

TEST(BucketShare, EqualMembersTakeTheRoomThatIsPromised) {
    for (uint32_t size = 2; size <= 256; size++) {
        Members members;
        for (uint32_t i = 0; i < size; i++)
            members.push_back({i + 1, 7});
        const unsigned bits = bucket_bits_for(members);
        if (std::has_single_bit(size)) {
            EXPECT_EQ(1u << bits, size);
        } else {
            EXPECT_LE(bits, size == 3 ? 8u : size < 7 ? 9u : size < 14 ? 10u : size < 23 ? 11u : 12u) << size;
        }
    }
}

TEST(BucketShare, ExactAgainOnDemand) {
    // What is left after many went: 1 has 5 of 8 where 4 would be its share.
    const std::vector<uint32_t> buckets = {1, 1, 1, 1, 1, 2, 2, 2};
    const Members members = {{1, 1}, {2, 1}};
    EXPECT_EQ(share_buckets(members, 3, {buckets, members}), buckets) << "nothing has changed";
    EXPECT_EQ(share_buckets(members, 3, {buckets, {}}), (std::vector<uint32_t>{1, 1, 1, 1, 2, 2, 2, 2}));
}

TEST(BucketShare, AWeightMovesOnlyTheDifference) {
    const Members before = {{1, 1}, {2, 1}, {3, 1}, {4, 1}};
    Members members = before;
    members[2].second = 3;
    const auto old = share_buckets(before, 8, {});
    const auto now = share_buckets(members, 8, {old, before});
    EXPECT_NEAR(static_cast<double>(moved_to(3, old, now)), 256.0 * 3 / 6 - 64, 1.0);
    const auto back = share_buckets(before, 8, {now, members});
    EXPECT_NEAR(static_cast<double>(moved_to(3, back, now)), 64, 1.0) << "all of them were its";
}

// Room for one each, and they came while others had it all.
TEST(BucketShare, WhoeverComesHasABucket) {
    const Members before = {{1, 100}, {2, 1}};
    const auto old = share_buckets(before, 3, {});
    Members members = before;
    for (uint32_t i = 3; i <= 8; i++)
        members.push_back({i, 1});
    EXPECT_EQ(count(share_buckets(members, 3, {old, before})).size(), 8u);
    // Also when one has gone, so that those who stay should lose nothing.
    members.erase(members.begin() + 1);
    EXPECT_EQ(count(share_buckets(members, 3, {old, before})).size(), 7u);
}

TEST(BitTree, FindsTheLeastOfAnySize) {
    for (size_t size : {1u, 63u, 64u, 65u, 4096u, 4097u, 1u << 18}) {
        BitTree tree(size);
        EXPECT_TRUE(tree.empty());
        std::set<size_t> model;
        std::mt19937 random(static_cast<uint32_t>(size));
        for (int step = 0; step < 5000; step++) {
            const size_t number = random() % size;
            if (random() % 3) {
                tree.insert(number);
                model.insert(number);
            } else {
                ASSERT_EQ(tree.erase(number), model.erase(number) == 1);
            }
            ASSERT_EQ(tree.empty(), model.empty());
            if (!model.empty()) {
                ASSERT_EQ(tree.first(), *model.begin());
            }
        }
        std::vector<size_t> all;
        tree.for_each([&](size_t number) { all.push_back(number); });
        EXPECT_EQ(all, std::vector<size_t>(model.begin(), model.end()));
    }
}

TEST(BucketShare, EveryShareIsWithinOnePercentWhereBucketsCanDoIt) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; round++) {
        Members members(2 + random() % 15);
        for (size_t i = 0; i < members.size(); i++)
            members[i] = {static_cast<uint32_t>(i + 1), static_cast<uint16_t>(1 + random() % 8)};
        const unsigned bits = bucket_bits_for(members);
        const auto counts = bucket_counts(members, bits);
        EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0u), 1u << bits);
        // The smallest share possible here is 1/(1+15*8) of 4096, 34 buckets: half a bucket may be 1.5 % of
        // it.
        if (bits < most_bucket_bits) {
            EXPECT_LT(worst_error(members, counts, bits), 0.01);
        }
        EXPECT_LT(worst_error(members, counts, bits), 0.016);
    }
}

TEST(BucketShare, TheSmallestMemberGetsABucket) {
    const Members members = {{1, 65535}, {2, 1}, {3, 1}, {4, 65535}};
    const unsigned bits = bucket_bits_for(members);
    EXPECT_EQ(bits, most_bucket_bits);
    const auto counts = bucket_counts(members, bits);
    EXPECT_EQ(counts[1], 1u);
    EXPECT_EQ(counts[2], 1u);
    EXPECT_EQ(counts[0], 2047u);
    EXPECT_EQ(counts[3], 2047u);
    Members most(1u << most_bucket_bits);
    for (size_t i = 0; i < most.size(); i++)
        most[i] = {static_cast<uint32_t>(i + 1), static_cast<uint16_t>(i == 0 ? 65535 : 1)};
    for (uint32_t each : bucket_counts(most, bucket_bits_for(most)))
        EXPECT_EQ(each, 1u);
}

TEST(BucketShare, AMemberThatComesTakesOnlyItsShare) {
    Members members = {{1, 1}, {2, 1}, {3, 1}};
    const auto before = share_buckets(members, 8, {});
    const Members three = members;
    members.push_back({4, 1});
    const auto after = share_buckets(members, 8, {before, three});
    EXPECT_EQ(moved_to(4, before, after), 64u);
}

TEST(BucketShare, SumsUpAMemberGivenTwice) {
    const auto counts = count(share_buckets(Members{{1, 1}, {2, 2}, {1, 1}}, 2, {}));
    EXPECT_EQ(counts.at(1), 2u);
    EXPECT_EQ(counts.at(2), 2u);
}

TEST(BucketSpace, RangesNeverOverlapAndMergeAgain) {
    constexpr uint32_t size = 1024;
    BucketSpace space(size, [] {});
    std::mt19937 random(2);
    std::vector<std::pair<uint32_t, unsigned>> ranges;
    std::vector<bool> taken(size);
    for (int step = 0; step < 20000; step++) {
        const auto bits = static_cast<unsigned>(random() % 6);
        if (random() % 2) {
            const auto first = space.allocate(bits);
            if (!first) continue;
            ranges.push_back({*first, bits});
            for (uint32_t i = *first; i < *first + (1u << bits); i++) {
                ASSERT_LT(i, size);
                ASSERT_FALSE(taken[i]);
                taken[i] = true;
            }
        } else if (!ranges.empty()) {
            std::swap(ranges[random() % ranges.size()], ranges.back());
            const auto [first, range_bits] = ranges.back();
            ranges.pop_back();
            for (uint32_t i = first; i < first + (1u << range_bits); i++)
                taken[i] = false;
            space.give_back(first, range_bits);
        }
        ASSERT_EQ(space.used(), static_cast<uint32_t>(std::ranges::count(taken, true)));
    }
    for (const auto& [first, bits] : ranges)
        space.give_back(first, bits);
    EXPECT_EQ(space.used(), 0u);
    EXPECT_EQ(space.allocate(10), 0u) << "all merged into one";
    EXPECT_EQ(space.allocate(0), std::nullopt);
}

TEST(BucketSpace, ReusesOnlyAfterAGracePeriod) {
    int grace_periods = 0;
    BucketSpace space(8, [&] { grace_periods++; });
    ASSERT_EQ(space.allocate(2), 0u);
    space.give_back(0, 2);
    EXPECT_EQ(space.allocate(2), 4u) << "the other half is still free";
    EXPECT_EQ(grace_periods, 0);
    EXPECT_EQ(space.allocate(2), 0u);
    EXPECT_EQ(grace_periods, 1);
    EXPECT_EQ(space.allocate(0), std::nullopt);
    EXPECT_EQ(grace_periods, 1) << "nothing to wait for";
}

}  // namespace
}  // namespace pktpit::fib
