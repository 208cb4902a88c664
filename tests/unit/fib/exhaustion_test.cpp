// Each part of an image filled up: the error says what is full, how full and what raises it; nothing has
// changed.
#include <gtest/gtest.h>

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

TEST(Exhaustion, Ipv4Blocks) {
    Capacity capacity = TestImage::small();
    capacity.blocks4 = 4;
    TestImage image(capacity);
    const GroupId group = image.add_group();
    ASSERT_TRUE(image->set(prefix("10.0.0.0/24"), group));
    ASSERT_TRUE(image->set(prefix("10.1.0.0/32"), group));
    const auto before = image.bytes();
    // One block is left and two are needed.
    const auto result = image->set(prefix("10.2.3.4/32"), group);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where, "10.2.3.4/32");
    EXPECT_TRUE(contains(result.error().message, "IPv4 table full: 3 of 4 blocks"))
        << result.error().to_string();
    EXPECT_TRUE(contains(result.error().hint, "/fib/ipv4_blocks"));
    EXPECT_EQ(image.bytes(), before);
    EXPECT_EQ(image->find(prefix("10.2.3.4/32")), std::nullopt);
    EXPECT_EQ(image->prefix_count(Family::ipv4), 2u);
    EXPECT_EQ(image->lookup(address("10.2.3.4")), 0u);
    // What fits still goes in, also where it needs no block; what goes makes room.
    EXPECT_TRUE(image->set(prefix("10.2.0.0/16"), group));
    EXPECT_TRUE(image->set(prefix("10.2.3.0/24"), group));
    EXPECT_FALSE(image->set(prefix("10.3.0.0/24"), group));
    EXPECT_TRUE(image->erase(prefix("10.1.0.0/32")));
    EXPECT_TRUE(image->set(prefix("10.2.3.4/32"), group));
    EXPECT_EQ(image->lookup(address("10.2.3.4")), group);
    EXPECT_EQ(image.grace_periods(), 1u);
}

TEST(Exhaustion, Ipv6Blocks) {
    Capacity capacity = TestImage::small();
    capacity.blocks6 = 16;
    TestImage image(capacity);
    const GroupId group = image.add_group();
    ASSERT_TRUE(image->set(prefix("2001:db8::1/128"), group));
    const auto before = image.bytes();
    const auto result = image->set(prefix("2001:db9::/56"), group);
    ASSERT_FALSE(result);
    EXPECT_TRUE(contains(result.error().message, "IPv6 table full: 14 of 16 blocks in use by 1 prefixes"));
    EXPECT_TRUE(contains(result.error().hint, "/fib/ipv6_blocks"));
    EXPECT_EQ(image.bytes(), before);
    ASSERT_TRUE(image->set(prefix("2001:db8::2/128"), group)) << "shares all blocks";
    ASSERT_TRUE(image->set(prefix("::/0"), group)) << "needs none";
    ASSERT_TRUE(image->erase(prefix("2001:db8::2/128")));
    ASSERT_TRUE(image->erase(prefix("2001:db8::1/128")));
    EXPECT_EQ(image->usage().blocks6, 0u);
}

TEST(Exhaustion, Groups) {
    Capacity capacity = TestImage::small();
    capacity.groups = 4;
    TestImage image(capacity);
    const AdjacencyId adjacency = image->add_adjacency({}).value();
    const Members members = {{adjacency, 1}};
    std::vector<GroupId> groups;
    for (int i = 0; i < 3; i++)
        groups.push_back(image->add_group(members).value());
    const auto before = image.bytes();
    const auto result = image->add_group(members);
    ASSERT_FALSE(result);
    EXPECT_TRUE(contains(result.error().message, "no next-hop group left: 3 of 3"));
    EXPECT_TRUE(contains(result.error().hint, "/fib/next_hop_groups"));
    EXPECT_EQ(image.bytes(), before);
    image->remove_group(groups[1]);
    EXPECT_EQ(image->add_group(members), groups[1]);
    EXPECT_EQ(image.grace_periods(), 1u);
}

TEST(Exhaustion, Buckets) {
    Capacity capacity = TestImage::small();
    capacity.buckets = 512;
    TestImage image(capacity);
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
    const auto replaced = image->replace_group(second, three);
    ASSERT_FALSE(replaced);
    EXPECT_EQ(image.bytes(), before);
    EXPECT_EQ(image->usage().groups, usage.groups);
    EXPECT_EQ(image->usage().buckets, usage.buckets);

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
    EXPECT_EQ(image->usage().buckets, usage.buckets);
    image->remove_group(second);
    image->remove_group(first);
    EXPECT_EQ(image->usage().buckets, 0u);
    EXPECT_TRUE(image->add_group(three));
    EXPECT_TRUE(image->add_group(three));
}

TEST(Exhaustion, Adjacencies) {
    Capacity capacity = TestImage::small();
    capacity.adjacencies = 4;
    TestImage image(capacity);
    std::vector<AdjacencyId> ids;
    for (int i = 0; i < 3; i++)
        ids.push_back(image->add_adjacency({}).value());
    const auto before = image.bytes();
    const auto result = image->add_adjacency({});
    ASSERT_FALSE(result);
    EXPECT_TRUE(contains(result.error().message, "no adjacency left: 3 of 3"));
    EXPECT_TRUE(contains(result.error().hint, "/fib/adjacencies"));
    EXPECT_EQ(image.bytes(), before);
    image->remove_adjacency(ids[0]);
    EXPECT_EQ(image->add_adjacency({}), ids[0]);
    EXPECT_EQ(image.grace_periods(), 1u);
}

// Full to the last block, a grace period may be needed for a change: never more than one.
TEST(Exhaustion, ChurnAtTheBrink) {
    Capacity capacity = TestImage::small();
    capacity.blocks4 = 2;
    TestImage image(capacity);
    const GroupId group = image.add_group();
    for (uint32_t i = 0; i < 1000; i++) {
        const Prefix net = Prefix::of(IpAddress::v4(i << 16 | 1), 32);
        ASSERT_TRUE(image->set(net, group));
        ASSERT_FALSE(image->set(Prefix::of(IpAddress::v4((i + 1) << 16), 24), group));
        ASSERT_TRUE(image->erase(net));
        ASSERT_EQ(image->usage().blocks4, 0u);
    }
    EXPECT_LE(image.grace_periods(), 1000u);
}

}  // namespace
}  // namespace pktpit::fib
