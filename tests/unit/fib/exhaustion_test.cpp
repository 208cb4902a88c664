// SPDX-License-Identifier: BSD-3-Clause
// Each part of an image filled up: the error says what is full, how full and what raises it; nothing has
// changed.
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;
using test::TestImage;
using Members = std::vector<std::pair<AdjacencyId, uint16_t>>;

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

// A table of 16 pages, one of which holds the identity bytes.
TEST(Exhaustion, Nodes) {
    for (const bool v4 : {true, false}) {
        TestImage image(TestImage::small({.roots = 0, .node_bytes = 16 << 10}));
        const GroupId group = image.add_group();
        const auto net = [v4](unsigned i) {
            return prefix(v4 ? "10." + std::to_string(i) + ".0.1/32"
                             : "2001:" + std::to_string(i) + "::1/128");
        };
        unsigned count = 0;
        Result<void> result;
        while ((result = image->set(net(count), group)))
            count++;
        ASSERT_GT(count, 0u);
        EXPECT_EQ(result.error().where, net(count).to_string());
        EXPECT_TRUE(contains(result.error().message, "the FIB is full")) << result.error().to_string();
        EXPECT_TRUE(contains(result.error().message, "of 16 KiB")) << result.error().to_string();
        EXPECT_TRUE(contains(result.error().hint, "/fib/table_memory_mib"));
        EXPECT_EQ(image->find(net(count)), std::nullopt);
        EXPECT_EQ(image->lookup(net(count).address), 0u);
        EXPECT_EQ(image->prefix_count(v4 ? Family::ipv4 : Family::ipv6), count);
        for (unsigned i = 0; i < count; i++)
            EXPECT_EQ(image->lookup(net(i).address), group);
        // What goes makes room.
        EXPECT_EQ(image->erase(net(0)), true);
        EXPECT_TRUE(image->set(net(count), group));
        EXPECT_EQ(image->lookup(net(count).address), group);
        for (unsigned i = 1; i <= count; i++)
            EXPECT_EQ(image->erase(net(i)), true);
        EXPECT_EQ(image->usage().node_bytes4 + image->usage().node_bytes6, 0u);
    }
}

TEST(Exhaustion, GroupsAndAdjacencies) {
    for (const bool groups : {true, false}) {
        SCOPED_TRACE(groups ? "groups" : "adjacencies");
        TestImage image(TestImage::small({.groups = 4, .adjacencies = 4}));
        const auto add = [&] { return groups ? image->add_group({}) : image->add_adjacency({}); };
        const uint32_t ids[] = {add().value(), add().value(), add().value()};
        const auto before = image.bytes();
        const auto result = add();
        ASSERT_FALSE(result);
        EXPECT_TRUE(contains(result.error().message,
                             groups ? "no next-hop group left: 3 of 3" : "no adjacency left: 3 of 3"));
        EXPECT_TRUE(contains(result.error().hint, groups ? "/fib/next_hop_groups" : "/fib/adjacencies"));
        EXPECT_EQ(image.bytes(), before);
        groups ? image->remove_group(ids[1]) : image->remove_adjacency(ids[1]);
        EXPECT_EQ(add(), ids[1]);
        EXPECT_EQ(image.grace_periods(), 1u);
    }
}

TEST(Exhaustion, Buckets) {
    TestImage image(TestImage::small({.buckets = 512}));
    Members members;
    for (int i = 0; i < 4; i++)
        members.push_back({image->add_adjacency({}).value(), 1});
    const Members three(members.begin(), members.begin() + 3);  // takes 256
    const GroupId first = image->add_group(three).value();
    const GroupId second = image->add_group(members).value();  // takes 4
    const auto before = image.bytes();
    const auto usage = image->usage();
    const auto added = image->add_group(three);
    ASSERT_FALSE(added);
    EXPECT_TRUE(contains(added.error().message, "no room for 256 next-hop group buckets: 260 of 512"));
    EXPECT_TRUE(contains(added.error().hint, "/fib/next_hop_groups"));
    // A member that comes, too, is refused where the shares ask for more buckets than there are.
    Members more = members;
    more.push_back({members[0].first + 4, 1});
    const auto replaced = image->replace_group(second, more);
    ASSERT_FALSE(replaced);
    EXPECT_EQ(image.bytes(), before);
    EXPECT_EQ(image->usage().groups, usage.groups);
    EXPECT_EQ(image->usage().buckets, usage.buckets);
    // One that goes is not: its link has failed. There is room for 128 buckets, where the shares ask for 256.
    ASSERT_TRUE(image->replace_group(second, three));
    std::map<uint32_t, uint32_t> seen;
    for (uint32_t i = 0; i < 128; i++)
        seen[image.member(second, i << 25)]++;
    EXPECT_EQ(seen.size(), 3u);
    EXPECT_FALSE(seen.contains(members[3].first));
    for (const auto& [id, buckets] : seen)
        EXPECT_NEAR(buckets, 128 / 3.0, 1);
    EXPECT_EQ(image->usage().buckets, 256u + 128u);

    // No room for a second copy, but a member must be able to leave: in place then.
    const Members two(members.begin(), members.begin() + 2);
    std::vector<uint32_t> flows;
    for (uint32_t i = 0; i < 256; i++)
        flows.push_back(image.member(first, i << 24));
    ASSERT_TRUE(image->replace_group(first, two));
    for (uint32_t i = 0; i < 256; i++) {
        EXPECT_NE(image.member(first, i << 24), three[2].first);
        if (flows[i] != three[2].first) {
            EXPECT_EQ(image.member(first, i << 24), flows[i]);
        }
    }
    EXPECT_EQ(image->usage().buckets, 256u + 128u);
    image->remove_group(second);
    image->remove_group(first);
    EXPECT_EQ(image->usage().buckets, 0u);
    EXPECT_TRUE(image->add_group(three));
    EXPECT_TRUE(image->add_group(three));
}

// Full to the last page, a grace period may be needed for a change: never more than one.
TEST(Exhaustion, ChurnAtTheBrink) {
    TestImage image(TestImage::small({.roots = 0, .node_bytes = 8 << 10}));
    const GroupId group = image.add_group();
    for (uint32_t i = 0; i < 1000; i++) {
        const Prefix net = Prefix::of(IpAddress::v4(i << 16 | 1), 32);
        ASSERT_TRUE(image->set(net, group));
        ASSERT_EQ(image->erase(net), true);
        ASSERT_EQ(image->usage().node_bytes4, 0u);
    }
    EXPECT_LE(image.grace_periods(), 1000u);
}

}  // namespace
}  // namespace pktpit::fib
