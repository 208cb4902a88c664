// SPDX-License-Identifier: BSD-3-Clause
#include "fib/image.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;
using test::TestImage;

TEST(FibImage, IsEmptyWhenFormatted) {
    TestImage image;
    EXPECT_EQ(image->lookup(address("192.0.2.1")), 0u);
    EXPECT_EQ(image->lookup(address("2001:db8::1")), 0u);
    EXPECT_EQ(image->match(address("192.0.2.1")), std::nullopt);
    EXPECT_EQ(image->find(prefix("0.0.0.0/0")), std::nullopt);
    EXPECT_EQ(image->erase(prefix("0.0.0.0/0")), false);
    EXPECT_EQ(pp_fib_vlan_interface(image.base(), &image.geometry(), 1, 100, 0), 0u);
    const auto usage = image->usage();
    EXPECT_EQ(usage.node_bytes4 + usage.node_bytes6, 2u * PP_FIB_ROOT_BYTES);
    EXPECT_EQ(usage.groups + usage.buckets + usage.adjacencies + usage.vlans, 0u);
    EXPECT_EQ(usage.prefixes4 + usage.prefixes6, 0u);
}

TEST(FibImage, StandsByItsGeometry) {
    TestImage image;
    pp_fib_geometry stored;
    std::memcpy(&stored, image.base(), sizeof(stored));
    EXPECT_EQ(std::memcmp(&stored, &image.geometry(), sizeof(stored)), 0);
    EXPECT_EQ(stored.magic, PP_FIB_MAGIC);
    EXPECT_EQ(image->memory().size(), stored.image_bytes);
}

// Every length of both families: first and last address inside, neighbours outside.
TEST(FibImage, MatchesEveryLength) {
    for (const char* text : {"170.85.170.85", "aa55:aa55:aa55:aa55:aa55:aa55:aa55:aa55"}) {
        for (unsigned length = 0; length <= address(text).bits(); length++) {
            TestImage image;
            const GroupId group = image.add_group();
            const Prefix net = Prefix::of(address(text), length);
            ASSERT_TRUE(image->set(net, group));
            EXPECT_EQ(image->lookup(net.address), group) << net.to_string();
            EXPECT_EQ(image->lookup(net.last()), group) << net.to_string();
            EXPECT_EQ(image->find(net), group);
            EXPECT_EQ(image->match(net.last()), std::pair(net, group));
            if (length > 0) {
                // The sibling: the same but for the last bit of the prefix.
                IpAddress sibling = net.address;
                sibling.bytes[(length - 1) / 8] ^= static_cast<uint8_t>(0x80 >> (length - 1) % 8);
                EXPECT_EQ(image->lookup(sibling), 0u) << net.to_string();
                EXPECT_EQ(image->lookup(Prefix::of(sibling, length).last()), 0u) << net.to_string();
            }
            EXPECT_EQ(image.nodes() == 0, length <= 16) << net.to_string();
            EXPECT_EQ(image->erase(net), true);
            EXPECT_EQ(image->lookup(net.address), 0u);
            EXPECT_EQ(image.nodes(), 0u);
        }
    }
}

TEST(FibImage, LongestWinsInAnyOrder) {
    const Prefix nested[] = {prefix("0.0.0.0/0"),   prefix("10.0.0.0/8"),  prefix("10.1.0.0/16"),
                             prefix("10.1.2.0/23"), prefix("10.1.2.0/24"), prefix("10.1.2.3/32")};
    std::vector<size_t> order = {0, 1, 2, 3, 4, 5};
    pktpit::test::Sparing sparing;
    do {
        if (sparing.skips()) continue;
        TestImage image;
        GroupId groups[6];
        for (GroupId& group : groups)
            group = image.add_group();
        for (size_t i : order)
            ASSERT_TRUE(image->set(nested[i], groups[i]));
        EXPECT_EQ(image->lookup(address("10.1.2.3")), groups[5]);
        EXPECT_EQ(image->lookup(address("10.1.2.4")), groups[4]);
        EXPECT_EQ(image->lookup(address("10.1.3.4")), groups[3]);
        EXPECT_EQ(image->lookup(address("10.1.4.4")), groups[2]);
        EXPECT_EQ(image->lookup(address("10.2.4.4")), groups[1]);
        EXPECT_EQ(image->lookup(address("11.2.4.4")), groups[0]);
        // Going in the same order, each leaves its addresses to what is left.
        for (size_t gone = 0; gone < order.size(); gone++) {
            ASSERT_EQ(image->erase(nested[order[gone]]), true);
            GroupId expected = 0;
            int longest = -1;
            for (size_t i = gone + 1; i < order.size(); i++)
                if (nested[order[i]].length > longest) {
                    longest = nested[order[i]].length;
                    expected = groups[order[i]];
                }
            ASSERT_EQ(image->lookup(address("10.1.2.3")), expected);
        }
        ASSERT_EQ(image.nodes(), 0u);
    } while (std::ranges::next_permutation(order).found);
}

TEST(FibImage, ReplacesTheGroupOnly) {
    TestImage image;
    const GroupId first = image.add_group();
    const GroupId second = image.add_group();
    ASSERT_TRUE(image->set(prefix("2001:db8::/40"), first));
    ASSERT_TRUE(image->set(prefix("2001:db8:1::/48"), first));
    const auto before = image->usage();
    ASSERT_TRUE(image->set(prefix("2001:db8::/40"), second));
    EXPECT_EQ(image->lookup(address("2001:db8::1")), second);
    EXPECT_EQ(image->lookup(address("2001:db8:1::1")), first);
    EXPECT_EQ(image->prefix_count(Family::ipv6), 2u);
    EXPECT_EQ(image->usage().node_bytes6, before.node_bytes6);
    ASSERT_TRUE(image->set(prefix("2001:db8::/40"), second)) << "setting what is set";
    EXPECT_EQ(image->erase(prefix("2001:db8::/40")), true);
    EXPECT_EQ(image->lookup(address("2001:db8::1")), 0u);
    EXPECT_EQ(image->erase(prefix("2001:db8:1::/48")), true);
    EXPECT_EQ(image.nodes(), 0u);
}

TEST(FibImage, RefusesGroupsThatDoNotExist) {
    TestImage image;
    const auto before = image.bytes();
    for (GroupId group : {0u, 1u, 63u, 64u, 0x80000000u, 0xffffffffu}) {
        const auto result = image->set(prefix("10.0.0.0/8"), group);
        ASSERT_FALSE(result);
        EXPECT_NE(result.error().message.find("does not exist"), std::string::npos);
    }
    const GroupId group = image.add_group();
    image->remove_group(group);
    EXPECT_FALSE(image->set(prefix("10.0.0.0/8"), group));
    EXPECT_EQ(image->prefix_count(Family::ipv4), 0u);
}

TEST(FibImage, MovesWithItsPrefixes) {
    TestImage image;
    const GroupId group = image.add_group();
    ASSERT_TRUE(image->set(prefix("10.0.0.0/8"), group));
    FibImage moved = std::move(*image);
    EXPECT_EQ(moved.lookup(address("10.1.1.1")), group);
    EXPECT_EQ(moved.erase(prefix("10.0.0.0/8")), true);
    EXPECT_EQ(moved.lookup(address("10.1.1.1")), 0u);
}

// A node freed may still be read: its memory is used again only after a grace period, and one of these does
// for many.
TEST(FibImage, WaitsForReadersOnceForManyNodes) {
    TestImage image(TestImage::small({.roots = 0, .node_bytes = 64 << 10}));
    const GroupId group = image.add_group();
    const auto net = [](unsigned i) { return Prefix::of(IpAddress::v4(0x0a000000u + (i << 16)), 24); };
    for (unsigned i = 0; i < 64; i++)
        ASSERT_TRUE(image->set(net(i), group));
    for (unsigned i = 0; i < 64; i++)
        ASSERT_EQ(image->erase(net(i)), true);
    EXPECT_EQ(image.grace_periods(), 0u);
    for (unsigned i = 0; i < 64; i++)
        ASSERT_TRUE(image->set(net(i), group));
    EXPECT_EQ(image.grace_periods(), 0u) << "there is room beside";
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 64; i++)
            ASSERT_EQ(image->erase(net(i)), true);
        for (unsigned i = 0; i < 64; i++)
            ASSERT_TRUE(image->set(net(i), group));
    }
    EXPECT_GE(image.grace_periods(), 1u);
    EXPECT_LE(image.grace_periods(), 3u);
}

TEST(Geometry, RoundsUpAndKeepsItsPartsApart) {
    const pp_fib_geometry g = plan_geometry({.ports = 5,
                                             .vlans = 100,
                                             .groups = 1000,
                                             .buckets = 5000,
                                             .adjacencies = 33,
                                             .tables = 3,
                                             .roots = 1,
                                             .node_bytes = (1 << 20) + 1});
    EXPECT_EQ(g.port_count, 8u);
    EXPECT_EQ(g.vlan_count, 128u);
    EXPECT_EQ(g.group_count, 1024u);
    EXPECT_EQ(g.bucket_count, 8192u);
    EXPECT_EQ(g.adjacency_count, 64u);
    EXPECT_EQ(g.table_count, 4u);
    EXPECT_EQ(g.node_bytes, 2u << 20);
    std::vector<std::pair<uint64_t, uint64_t>> parts = {
        {0, sizeof(g)},
        {g.port_offset, g.port_count * sizeof(pp_fib_port)},
        {g.vlan_offset, g.vlan_count * sizeof(pp_fib_vlan)},
        {g.group_offset, g.group_count * sizeof(pp_fib_group)},
        {g.bucket_offset, g.bucket_count * 4ull},
        {g.adjacency_offset, g.adjacency_count * sizeof(pp_fib_adjacency)},
        {g.table_offset, g.table_count * sizeof(pp_fib_table)},
        {g.node_offset, g.node_bytes},
        {g.image_bytes, 0},
    };
    std::ranges::sort(parts);
    for (size_t i = 0; i + 1 < parts.size(); i++) {
        EXPECT_LE(parts[i].first + parts[i].second, parts[i + 1].first);
        EXPECT_EQ(parts[i].first % 64, 0u);
    }
}

TEST(Geometry, NeverOutgrowsItsOffsets) {
    constexpr uint32_t huge = 0xffffffffu;
    const pp_fib_geometry g = plan_geometry({huge, huge, huge, huge, huge, huge, 64, huge});
    EXPECT_LT(g.image_bytes, 1ull << 32);
    EXPECT_LE(g.node_bytes, PP_FIB_PLACE_UNIT * (PP_FIB_PLACE_MASK + 1ull));
}

}  // namespace
}  // namespace pktpit::fib
