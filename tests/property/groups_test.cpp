// SPDX-License-Identifier: BSD-3-Clause
// Next-hop groups under random changes: what moves, how exact the shares stay, whether buckets leak.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <utility>

#include "fib/bucket_share.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::TestImage;
using Members = std::vector<WeightedMember>;
using Weights = std::map<uint32_t, uint64_t>;

Weights weights_of(const Members& members) {
    Weights weights;
    for (const auto& [adjacency, weight] : members)
        weights[adjacency] += weight;
    return weights;
}

uint64_t total(const Weights& weights) {
    uint64_t sum = 0;
    for (const auto& [adjacency, weight] : weights)
        sum += weight;
    return sum;
}

std::map<uint32_t, uint32_t> count(const std::vector<uint32_t>& buckets) {
    std::map<uint32_t, uint32_t> counts;
    for (uint32_t adjacency : buckets)
        counts[adjacency]++;
    return counts;
}

std::vector<uint32_t> spread(const std::vector<uint32_t>& buckets, size_t size) {
    std::vector<uint32_t> result;
    for (size_t i = 0; i < size; i++)
        result.push_back(buckets[i * buckets.size() / size]);
    return result;
}

/// Some change of a group: members go, come, change their weights, all are scaled.
Members changed(Members members, size_t most, std::mt19937& random) {
    const auto weight = [&] {
        return static_cast<uint16_t>(random() % 4 ? 1 + random() % 4 : 1 + random() % 300);
    };
    for (size_t left = random() % 4 ? 1 : 1 + random() % 5; left > 0; left--) {
        const uint32_t kind = random() % 8;
        if (kind < 3 && members.size() > 1) {
            std::swap(members[random() % members.size()], members.back());
            members.pop_back();
        } else if (kind < 5 && members.size() < most) {
            const auto adjacency = static_cast<uint32_t>(1 + random() % 1000);
            if (!weights_of(members).contains(adjacency)) members.push_back({adjacency, weight()});
        } else if (kind < 7) {
            members[random() % members.size()].second = weight();
        } else {
            const auto factor = static_cast<uint16_t>(1 + random() % 3);
            for (auto& member : members)
                if (member.second <= 300) member.second *= factor;
        }
    }
    return members;
}

class BucketShares : public testing::TestWithParam<size_t> {};

// The rule of fib/bucket_share.h, for chains of changes, each beginning with what the one before left.
TEST_P(BucketShares, OnlyFlowsMoveThatMust) {
    const size_t most = GetParam();
    std::mt19937 random(static_cast<uint32_t>(most));
    size_t moved_in_all = 0, changes = 0;
    double worst_surplus = 0, worst_lack = 0;
    for (int chain = 0; chain < pktpit::test::rounds_of(40); chain++) {
        Members members;
        for (uint32_t i = 0; i < most; i++)
            members.push_back({i + 1, static_cast<uint16_t>(chain % 2 ? 1 : 1 + random() % 20)});
        unsigned bits = std::max(1u, bucket_bits_for(members));
        std::vector<uint32_t> buckets = share_buckets(members, bits);
        for (int step = 0; step < 60; step++) {
            const Members before = members;
            members = changed(members, most, random);
            bits = std::max(bits, bucket_bits_for(members));
            const std::vector<uint32_t> old = spread(buckets, size_t{1} << bits);
            buckets = share_buckets(members, bits, {buckets, before});
            ASSERT_EQ(buckets.size(), old.size());

            const Weights was = weights_of(before), is = weights_of(members);
            const uint64_t total_was = total(was), total_is = total(is);
            const auto compare = [&](uint32_t adjacency) {  // of the shares: < 0 shrinks, > 0 grows
                const uint64_t a = was.contains(adjacency) ? was.at(adjacency) * total_is : 0;
                const uint64_t b = is.contains(adjacency) ? is.at(adjacency) * total_was : 0;
                return b < a ? -1 : b > a;
            };
            size_t moved = 0, from_gone = 0, from_staying = 0;
            bool none_gone = true;
            for (const auto& [adjacency, weight] : was)
                none_gone = none_gone && is.contains(adjacency);
            for (size_t i = 0; i < buckets.size(); i++) {
                ASSERT_TRUE(is.contains(buckets[i]));
                if (old[i] == buckets[i]) continue;
                moved++;
                (is.contains(old[i]) ? from_staying : from_gone)++;
                ASSERT_LT(compare(old[i]), 0) << "member " << old[i] << " lost a bucket for nothing";
                if (none_gone) {
                    ASSERT_GT(compare(buckets[i]), 0)
                        << "member " << buckets[i] << " won a bucket for nothing";
                }
            }
            moved_in_all += moved;
            changes++;
            // Nothing moves when nothing changes but the scale.
            if (std::ranges::all_of(is, [&](const auto& one) { return compare(one.first) == 0; })) {
                ASSERT_EQ(moved, from_gone);
                if (none_gone) {
                    ASSERT_EQ(moved, 0u);
                }
            }
            double surplus = 0;
            for (const auto& [adjacency, buckets_held] : count(buckets)) {
                const double share = static_cast<double>(is.at(adjacency)) / static_cast<double>(total_is) *
                                     static_cast<double>(buckets.size());
                const double above = buckets_held - std::max(1.0, share);
                surplus += std::max(0.0, above);
                if (share < 50) continue;  // where 1 % is less than half a bucket, whole buckets rule
                worst_surplus = std::max(worst_surplus, above / share);
                worst_lack = std::max(worst_lack, -above / share);
            }
            const double scale = static_cast<double>(buckets.size()) / (1u << bucket_bits_for(members));
            ASSERT_LE(surplus, static_cast<double>(members.size()) * std::max(1.0, scale) + 1);
            ASSERT_EQ(count(buckets).size(), is.size()) << "each member has a bucket";

            // Made exact on demand: at most a bucket from each share.
            if (step % 20 != 19) continue;
            buckets = share_buckets(members, bits, {buckets, {}});
            const auto exact = bucket_counts(members, bits);
            const auto now = count(buckets);
            for (size_t i = 0; i < members.size(); i++)
                ASSERT_NEAR(now.at(members[i].first), exact[i], 1)
                    << "member " << i << " of " << members.size();
        }
    }
    EXPECT_GT(moved_in_all, 0u);
    EXPECT_LT(worst_surplus, 0.03);
    EXPECT_LT(worst_lack, 0.03);
    std::printf(
        "up to %zu members, %zu changes: shares of 50 buckets or more at most %.2f %% above, %.2f %% below\n",
        most, changes, worst_surplus * 100, worst_lack * 100);
}

INSTANTIATE_TEST_SUITE_P(Sizes, BucketShares, testing::Values(2, 3, 5, 8, 16, 40, 100, 256));

// Links fail one after another, in any order: at no time does a flow move whose link still stands; they come
// back, and each takes its part from those above theirs.
TEST(BucketShares, LinksFailOneAfterAnotherAndComeBack) {
    for (size_t size : {2u, 3u, 4u, 7u, 64u, 200u, 256u}) {
        std::mt19937 random(static_cast<uint32_t>(size));
        Members members;
        for (uint32_t i = 0; i < size; i++)
            members.push_back({i + 1, static_cast<uint16_t>(1 + random() % 3)});
        const Members all = members;
        unsigned bits = bucket_bits_for(members);
        auto buckets = share_buckets(members, bits);
        const auto step = [&](const Members& now) {
            const Members before = std::exchange(members, now);
            bits = std::max(bits, bucket_bits_for(members));
            const auto old = spread(buckets, size_t{1} << bits);
            buckets = share_buckets(members, bits, {buckets, before});
            return old;
        };
        std::vector<WeightedMember> gone;
        while (members.size() > 1) {
            Members now = members;
            std::swap(now[random() % now.size()], now.back());
            gone.push_back(now.back());
            now.pop_back();
            const auto old = step(now);
            for (size_t i = 0; i < old.size(); i++) {
                if (old[i] != gone.back().first) {
                    ASSERT_EQ(buckets[i], old[i]);
                } else {
                    ASSERT_NE(buckets[i], old[i]);
                }
            }
        }
        while (!gone.empty()) {
            Members now = members;
            now.push_back(gone.back());
            const auto old = step(now);
            size_t taken = 0;
            for (size_t i = 0; i < old.size(); i++) {
                if (old[i] == buckets[i]) continue;
                ASSERT_EQ(buckets[i], gone.back().first);
                taken++;
            }
            const double share =
                static_cast<double>(gone.back().second) / static_cast<double>(total(weights_of(members)));
            EXPECT_NEAR(static_cast<double>(taken), share * static_cast<double>(old.size()), 1.0);
            gone.pop_back();
        }
        EXPECT_EQ(weights_of(members), weights_of(all));
    }
}

const int churn_steps = pktpit::test::few_rounds() ? 50'000 : 1'000'000;

// A million steps against a model: every group leads to its members alone, no buckets are lost, nothing
// overlaps, and what is refused has changed nothing.
TEST(GroupChurn, KeepsItsBuckets) {
    TestImage image(TestImage::small({.groups = 1024, .buckets = 65536, .adjacencies = 1024}));
    for (int i = 0; i < 1000; i++)
        ASSERT_TRUE(image->add_adjacency({}));
    std::mt19937 random(1);
    std::map<GroupId, Members> model;
    std::vector<GroupId> ids;
    size_t refused = 0, replaced = 0;
    const auto check = [&](GroupId group) {
        const Weights wanted = weights_of(model.at(group));
        for (int i = 0; i < 4; i++) {
            const uint32_t seen = image.member(group, static_cast<uint32_t>(random()));
            if (wanted.empty() ? seen != 0 : !wanted.contains(seen)) return false;
        }
        return true;
    };
    const auto some = [&] {
        // Mostly small groups; some of thousands of buckets.
        const size_t size = random() % 16 ? random() % 5 : random() % 64;
        Members members;
        const auto first = static_cast<uint32_t>(1 + random() % 900);
        for (uint32_t i = 0; i < size; i++)
            members.push_back({first + i, static_cast<uint16_t>(1 + random() % 3)});
        return members;
    };
    for (int step = 0; step < churn_steps; step++) {
        const uint32_t draw = random() % 8;
        if (ids.empty() || draw < 3) {
            const Members members = some();
            const auto usage = image->usage();
            if (const auto group = image->add_group(members)) {
                ASSERT_TRUE(model.emplace(*group, members).second) << "an id that is in use";
                ids.push_back(*group);
            } else {
                refused++;
                ASSERT_EQ(image->usage().buckets, usage.buckets);
                ASSERT_EQ(image->usage().groups, usage.groups);
            }
        } else if (draw < 5) {
            std::swap(ids[random() % ids.size()], ids.back());
            image->remove_group(ids.back());
            model.erase(ids.back());
            ids.pop_back();
        } else {
            const GroupId group = ids[random() % ids.size()];
            Members members = random() % 2 ? some() : model.at(group);
            const bool leaves = !members.empty() && members.size() == model.at(group).size();
            if (leaves) members.pop_back();
            const bool only_leaves =
                leaves && members == Members(model.at(group).begin(), model.at(group).end() - 1);
            if (image->replace_group(group, members)) {
                model[group] = members;
                replaced++;
            } else {
                ASSERT_FALSE(only_leaves) << "a member must always be able to go";
                refused++;
            }
            ASSERT_TRUE(check(group)) << step;
        }
        if (!ids.empty()) {
            ASSERT_TRUE(check(ids[random() % ids.size()])) << step;
        }
        ASSERT_LE(image->usage().buckets, 65536u);
    }
    for (GroupId group : ids)
        image->remove_group(group);
    EXPECT_EQ(image->usage().buckets, 0u);
    EXPECT_EQ(image->usage().groups, 0u);
    EXPECT_GT(replaced, static_cast<size_t>(churn_steps) / 10);
    std::printf("%zu replaced, %zu refused, %zu grace periods\n", replaced, refused, image.grace_periods());
    // All one piece again: 16 of the largest groups there are.
    Members uneven = {{1, 1000}, {2, 1}};
    for (int i = 0; i < 16; i++)
        ASSERT_TRUE(image->add_group(uneven));
    EXPECT_EQ(image->usage().buckets, 65536u);
    EXPECT_FALSE(image->add_group(uneven));
}

// Churned for long at 90 % full: what is free stays of use, though it comes to lie in pieces.
TEST(GroupChurn, FreeBucketsStayUsable) {
    constexpr uint32_t buckets = 1u << 18;
    TestImage image(TestImage::small({.groups = 1u << 17, .buckets = buckets}));
    for (int i = 0; i < 40; i++)
        ASSERT_TRUE(image->add_adjacency({}));
    std::mt19937 random(3);
    std::vector<GroupId> groups;
    const uint16_t last_weights[] = {1, 1, 1, 3, 3,
                                     2, 2, 4, 6, 50};  // beside weight 1, 1: 4 to 4,096 buckets
    size_t refused = 0, added = 0, removed = 0;
    for (int step = 0; step < churn_steps * 3 / 10; step++) {
        if (image->usage().buckets < buckets / 10 * 9) {
            const auto first = static_cast<uint32_t>(1 + random() % 30);
            const Members pair = {{first, 1}, {first + 1, last_weights[random() % std::size(last_weights)]}};
            const Members three = {{first, 1}, {first + 1, 2}, {first + 2, 4}};
            if (const auto group = image->add_group(random() % 64 ? pair : three)) {
                groups.push_back(*group);
                added++;
                continue;
            }
            refused++;
        }
        ASSERT_FALSE(groups.empty());
        std::swap(groups[random() % groups.size()], groups.back());
        image->remove_group(groups.back());
        groups.pop_back();
        removed++;
    }
    std::printf("%zu added, %zu removed, %zu refused below 90 %%, %zu grace periods\n", added, removed,
                refused, image.grace_periods());
    EXPECT_EQ(refused, 0u);
}

// Every other pair of buckets is free, in no piece larger than a pair: room is made by moving groups, and no
// flow notices.
TEST(GroupChurn, MakesRoomByMovingGroups) {
    TestImage image(TestImage::small({.groups = 1024, .buckets = 1024}));
    for (int i = 0; i < 40; i++)
        ASSERT_TRUE(image->add_adjacency({}));
    std::vector<GroupId> groups;
    for (uint32_t i = 0; i < 512; i++)
        groups.push_back(image->add_group(Members{{1 + i % 20, 1}, {21 + i % 20, 1}}).value());
    for (uint32_t i = 0; i < 512; i += 2)
        image->remove_group(groups[i]);
    EXPECT_EQ(image->usage().buckets, 512u);
    const Members three = {{1, 1}, {2, 1}, {3, 1}};  // 256 buckets
    std::vector<uint32_t> seen;
    for (uint32_t i = 1; i < 512; i += 2)
        for (uint32_t hash : {0u, 1u << 31})
            seen.push_back(image.member(groups[i], hash));
    const GroupId first = image->add_group(three).value();
    const GroupId second = image->add_group(three).value();
    EXPECT_EQ(image->usage().buckets, 1024u);
    size_t next = 0;
    for (uint32_t i = 1; i < 512; i += 2)
        for (uint32_t hash : {0u, 1u << 31})
            ASSERT_EQ(image.member(groups[i], hash), seen[next++]);
    for (uint32_t i = 0; i < 256; i++)
        for (GroupId group : {first, second}) {
            const uint32_t member = image.member(group, i << 24);
            ASSERT_TRUE(member >= 1 && member <= 3);
        }
    EXPECT_FALSE(image->add_group(three)) << "full to the last bucket";
    EXPECT_LE(image.grace_periods(), 8u);
}

// The largest table that is promised, within the image that it needs.
TEST(GroupScale, SixtyFiveThousandGroupsOf256) {
    TestImage image(TestImage::small({.groups = 65536, .buckets = 1u << 24, .adjacencies = 65536}));
    for (int i = 0; i < 60000; i++)
        ASSERT_TRUE(image->add_adjacency({}));
    Members members(256);
    const auto fill = [&](uint32_t first) {
        for (uint32_t i = 0; i < 256; i++)
            members[i] = {1 + (first * 7 + i) % 60000, 1};
    };
    for (uint32_t group = 1; group <= 65535; group++) {
        fill(group);
        ASSERT_EQ(image->add_group(members), group);
    }
    EXPECT_FALSE(image->add_group(members)) << "no id left";
    EXPECT_EQ(image->usage().buckets, 65535u * 256);
    std::mt19937 random(1);
    for (int i = 0; i < 100000; i++) {
        const uint32_t group = 1 + static_cast<uint32_t>(random()) % 65535;
        const auto hash = static_cast<uint32_t>(random());
        const uint32_t seen = image.member(group, hash);
        ASSERT_LT((seen - 1 + 60000 - group * 7 % 60000) % 60000, 256u);
    }
    // Full, but a member can go, in place: the room for exact shares is not there.
    fill(77);
    members.pop_back();
    ASSERT_TRUE(image->replace_group(77, members));
    // Changed while there is room: to 255 members, of 4,096 buckets, and back.
    for (GroupId group = 60000; group <= 65535; group++)
        image->remove_group(group);
    fill(99);
    for (int i = 0; i < 200; i++) {
        const auto last = members.back();
        members.pop_back();
        ASSERT_TRUE(image->replace_group(99, members));
        members.push_back(last);
        ASSERT_TRUE(image->replace_group(99, members));
    }
}

}  // namespace
}  // namespace pktpit::fib
