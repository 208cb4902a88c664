// SPDX-License-Identifier: BSD-3-Clause
// Changes made together: all of them or none, and nothing is left behind.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;
using test::TestImage;
using Changes = std::vector<RouteChange>;

bool same(const FibImage::Usage& a, const FibImage::Usage& b) {
    return a.prefixes4 == b.prefixes4 && a.prefixes6 == b.prefixes6 && a.node_bytes4 == b.node_bytes4 &&
           a.node_bytes6 == b.node_bytes6 && a.tables == b.tables && a.groups == b.groups;
}

/// A batch takes a second root for each family.
Capacity with_spare_roots() {
    return TestImage::small({.roots = 4, .node_bytes = 4 << 20});
}

TEST(FibApply, BothFamiliesInOrder) {
    TestImage image(with_spare_roots());
    const GroupId first = image.add_group(), second = image.add_group();
    ASSERT_TRUE(image->set(prefix("10.0.0.0/8"), first));
    const Changes changes = {{prefix("10.0.0.0/8"), std::nullopt},  {prefix("10.1.0.0/24"), first},
                             {prefix("2001:db8::/48"), second},     {prefix("10.1.0.0/24"), second},
                             {prefix("10.2.0.0/24"), first},        {prefix("10.2.0.0/24"), std::nullopt},
                             {prefix("192.0.2.0/24"), std::nullopt}};
    ASSERT_TRUE(image->apply(changes));
    EXPECT_EQ(image->lookup(address("10.5.5.5")), 0u);
    EXPECT_EQ(image->lookup(address("10.1.0.5")), second) << "the later of two changes counts";
    EXPECT_EQ(image->lookup(address("10.2.0.5")), 0u);
    EXPECT_EQ(image->lookup(address("2001:db8::1")), second);
    EXPECT_EQ(image->prefix_count(Family::ipv4), 1u);
    EXPECT_EQ(image->prefix_count(Family::ipv6), 1u);
    ASSERT_TRUE(image->apply({}));
    EXPECT_EQ(image->lookup(address("10.1.0.5")), second);
}

TEST(FibApply, EndsLikeOneAfterAnother) {
    for (const TableId table : {0u, 1u}) {
        TestImage one(with_spare_roots()), other(with_spare_roots());
        for (TestImage* image : {&one, &other}) {
            ASSERT_TRUE(image->operator->()->add_table());
            for (int i = 0; i < 5; i++)
                image->add_group();
        }
        std::mt19937 random(1);
        Changes changes;
        for (int i = 0; i < 400; i++) {
            const auto length = static_cast<unsigned>(random() % 33);
            const auto net = IpAddress::v4(0x0a000000u + (static_cast<uint32_t>(random()) & 0xfffffu));
            changes.push_back({Prefix::of(net, length), std::nullopt});
            if (random() % 3) changes.back().group = static_cast<GroupId>(1 + random() % 5);
        }
        for (size_t i = 0; i < changes.size(); i += 20)
            ASSERT_TRUE(one->apply(std::span(changes).subspan(i, 20), table));
        for (const auto& [net, group] : changes) {
            if (group) {
                ASSERT_TRUE(other->set(net, *group, table));
            } else {
                ASSERT_TRUE(other->erase(net, table));
            }
        }
        EXPECT_EQ(one->prefix_count(Family::ipv4, table), other->prefix_count(Family::ipv4, table));
        for (uint32_t i = 0; i < 1 << 20; i += 7)
            ASSERT_EQ(one->lookup(IpAddress::v4(0x0a000000u + i), table),
                      other->lookup(IpAddress::v4(0x0a000000u + i), table));
    }
}

TEST(FibApply, GroupsThatDoNotExistAreRefused) {
    TestImage image;
    const GroupId group = image.add_group();
    ASSERT_TRUE(image->set(prefix("10.0.0.0/8"), group));
    const auto before = image.bytes();
    const Changes changes = {{prefix("10.0.0.0/8"), std::nullopt}, {prefix("10.1.0.0/24"), group + 1}};
    const auto result = image->apply(changes);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where, "10.1.0.0/24");
    EXPECT_NE(result.error().message.find("does not exist"), std::string::npos);
    EXPECT_EQ(image.bytes(), before);
    EXPECT_EQ(image->find(prefix("10.0.0.0/8")), group);
}

// Memory runs out in the middle: every lookup, find, size and usage is as it was, and the next change finds
// all the memory there was.
TEST(FibApply, RefusedInTheMiddleChangesNothing) {
    for (const bool v4 : {true, false}) {
        TestImage image(TestImage::small({.roots = 0, .node_bytes = 256 << 10}));
        const GroupId groups[] = {image.add_group(), image.add_group(), image.add_group()};
        const auto net = [v4](uint32_t i, unsigned length) {
            IpAddress base = address(v4 ? "10.0.0.1" : "2001:db8::1");
            base.bytes[v4 ? 1 : 4] = static_cast<uint8_t>(i);
            base.bytes[v4 ? 2 : 6] = static_cast<uint8_t>(i >> 8);
            return Prefix::of(base, length);
        };
        const unsigned longer = v4 ? 32 : 128, shorter = v4 ? 20 : 56;
        for (uint32_t i = 0; i < 8; i++) {
            ASSERT_TRUE(image->set(net(i, shorter), groups[i % 2]));
            ASSERT_TRUE(image->set(net(i, longer), groups[2]));
        }
        // The other family is part of the batch, too.
        const Prefix elsewhere = prefix(v4 ? "2001:db8::/40" : "10.0.0.0/20");
        const auto usage = image->usage();
        const auto check = [&] {
            for (uint32_t i = 0; i < 8; i++) {
                ASSERT_EQ(image->lookup(net(i, longer).address), groups[2]);
                ASSERT_EQ(image->lookup(net(i, shorter).last()), groups[i % 2]);
                ASSERT_EQ(image->find(net(i, shorter)), groups[i % 2]);
                ASSERT_EQ(image->find(net(i, longer)), groups[2]);
                ASSERT_EQ(image->match(net(i, longer).address), std::pair(net(i, longer), groups[2]));
            }
            for (uint32_t i = 8; i < 256; i++)
                ASSERT_EQ(image->lookup(net(i, longer).address), 0u);
            ASSERT_EQ(image->find(elsewhere), std::nullopt);
            ASSERT_EQ(image->lookup(elsewhere.address), 0u);
            ASSERT_EQ(image->prefix_count(Family::ipv4), v4 ? 16u : 0u);
            ASSERT_EQ(image->prefix_count(Family::ipv6), v4 ? 0u : 16u);
            ASSERT_TRUE(same(image->usage(), usage));
        };
        check();
        Changes changes;
        for (uint32_t i = 0; i < 4; i++) {
            changes.push_back({net(i, shorter), groups[2]});
            changes.push_back({net(i, longer), std::nullopt});
            changes.push_back({net(i + 4, longer), groups[0]});
        }
        changes.push_back({elsewhere, groups[1]});
        const size_t good = changes.size();
        for (uint32_t i = 8; i < 2000; i++)
            changes.push_back({net(i, longer), groups[0]});
        for (int round = 0; round < 20; round++) {
            const auto result = image->apply(changes);
            ASSERT_FALSE(result);
            EXPECT_NE(result.error().message.find("the FIB is full"), std::string::npos);
            check();
            if (HasFatalFailure()) return;
        }
        // What fits is taken afterwards.
        ASSERT_TRUE(image->apply(std::span(changes).first(good)));
        EXPECT_EQ(image->lookup(net(0, longer).address), groups[2]) << "the shorter prefix's now";
        EXPECT_EQ(image->find(net(0, longer)), std::nullopt);
        EXPECT_EQ(image->lookup(net(5, longer).address), groups[0]);
        EXPECT_EQ(image->lookup(elsewhere.address), groups[1]);
        for (uint32_t i = 0; i < 8; i++)
            for (const unsigned length : {shorter, longer})
                ASSERT_TRUE(image->erase(net(i, length)));
        ASSERT_EQ(image->erase(elsewhere), true);
        EXPECT_EQ(image->prefix_count(Family::ipv4) + image->prefix_count(Family::ipv6), 0u);
    }
}

// Batch after batch at the same place: the memory of what was replaced comes back, usage does not drift.
// What a batch replaced is given back.
TEST(FibApply, TakesNoMoreMemoryEachTime) {
    TestImage image;
    const GroupId groups[] = {image.add_group(), image.add_group()};
    const auto changes = [&](int round) {
        return Changes{{prefix("10.0.0.0/20"), groups[round % 2]},
                       {prefix("10.0.1.0/28"), groups[round % 2]},
                       {prefix("2001:db8::/60"), groups[round % 2]}};
    };
    const TableId table = image->add_table().value();  // without roots: the default table's two are all
    ASSERT_TRUE(image->apply(changes(0), table));
    const auto usage = image->usage();
    for (int round = 1; round < 2000; round++)
        ASSERT_TRUE(image->apply(changes(round), table));
    EXPECT_TRUE(same(image->usage(), usage))
        << image->usage().node_bytes4 << " and " << image->usage().node_bytes6 << " bytes, once "
        << usage.node_bytes4 << " and " << usage.node_bytes6;
    for (const RouteChange& change : changes(0))
        ASSERT_EQ(image->erase(change.prefix, table), true);
    EXPECT_EQ(image->usage().node_bytes4 + image->usage().node_bytes6, 2u * PP_FIB_ROOT_BYTES);
}

}  // namespace
}  // namespace pktpit::fib
