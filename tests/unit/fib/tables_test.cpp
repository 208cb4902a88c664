// SPDX-License-Identifier: BSD-3-Clause
// Several routing tables in one image: each is on its own, and cheap.
#include <gtest/gtest.h>

#include <bitset>
#include <random>

#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;
using test::TestImage;

Capacity many_tables() {
    return TestImage::small({.groups = 1024, .adjacencies = 1024, .tables = 512, .node_bytes = 8 << 20});
}

TEST(FibTables, RoutesOfOneNeverShowInAnother) {
    TestImage image;
    const TableId first = image->add_table().value();
    const TableId second = image->add_table().value();
    EXPECT_NE(first, PP_FIB_DEFAULT_TABLE);
    EXPECT_NE(first, second);
    for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.1.2.3/32", "::/0",
                             "2001:db8::/32", "2001:db8::/64", "2001:db8::1/128"}) {
        const Prefix net = prefix(text);
        const GroupId group = image.add_group();
        ASSERT_TRUE(image->set(net, group, first));
        EXPECT_EQ(image->lookup(net.address, first), group) << text;
        EXPECT_EQ(image->match(net.address, first), std::pair(net, group));
        for (const TableId other : {TableId{PP_FIB_DEFAULT_TABLE}, second}) {
            EXPECT_EQ(image->lookup(net.address, other), 0u) << text;
            EXPECT_EQ(image->match(net.address, other), std::nullopt) << text;
            EXPECT_EQ(image->find(net, other), std::nullopt) << text;
            EXPECT_EQ(image->erase(net, other), false) << text;
            EXPECT_EQ(image->prefix_count(net.address.family, other), 0u);
        }
        EXPECT_EQ(image->find(net, first), group) << "nothing that another table was told counts here";
    }
    EXPECT_EQ(image->prefix_count(Family::ipv4, first), 5u);
    EXPECT_EQ(image->prefix_count(Family::ipv6, first), 4u);
    // The same prefix in each, with a group of its own.
    const GroupId groups[] = {image.add_group(), image.add_group(), image.add_group()};
    for (TableId table = 0; table < 3; table++)
        ASSERT_TRUE(image->set(prefix("10.1.2.0/25"), groups[table], table));
    for (TableId table = 0; table < 3; table++)
        EXPECT_EQ(image->lookup(address("10.1.2.9"), table), groups[table]);
    ASSERT_EQ(image->erase(prefix("10.1.2.0/25"), 1), true);
    EXPECT_EQ(image->lookup(address("10.1.2.9"), 0), groups[0]);
    EXPECT_EQ(image->lookup(address("10.1.2.9"), 2), groups[2]);
}

TEST(FibTables, AnEmptyTableTakesNoNodes) {
    TestImage image(many_tables());
    const uint64_t taken = image->usage().node_bytes_taken;
    for (int i = 1; i < 512; i++)
        ASSERT_TRUE(image->add_table());
    EXPECT_EQ(image->usage().tables, 512u);
    EXPECT_EQ(image->usage().node_bytes_taken, taken);
    EXPECT_EQ(image.nodes(), 0u);
    // Neither does one with nothing but a default route: the entry is the group itself.
    ASSERT_TRUE(image->set(prefix("0.0.0.0/0"), image.add_group(), 511));
    ASSERT_TRUE(image->set(prefix("::/0"), image.add_group(), 511));
    EXPECT_EQ(image.nodes(), 0u);
    const auto refused = image->add_table();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("no routing table left: 512"), std::string::npos)
        << refused.error().to_string();
}

TEST(FibTables, HundredsAtOnce) {
    TestImage image(many_tables());
    constexpr TableId count = 500;
    std::vector<GroupId> groups = {image.add_group()};
    for (TableId table = 1; table < count; table++) {
        ASSERT_EQ(image->add_table(), table);
        groups.push_back(image.add_group());
    }
    const auto own = [](TableId table) { return Prefix::of(IpAddress::v4(0x0a000000u + (table << 8)), 24); };
    for (TableId table = 0; table < count; table++) {
        ASSERT_TRUE(image->set(own(table), groups[table], table));
        ASSERT_TRUE(image->set(prefix("192.0.2.0/24"), groups[table], table));
        ASSERT_TRUE(image->set(prefix("2001:db8::/48"), groups[table], table));
    }
    for (TableId table = 0; table < count; table++) {
        EXPECT_EQ(image->lookup(own(table).last(), table), groups[table]);
        EXPECT_EQ(image->lookup(own((table + 1) % count).last(), table), 0u);
        EXPECT_EQ(image->lookup(address("192.0.2.1"), table), groups[table]);
        EXPECT_EQ(image->lookup(address("2001:db8::1"), table), groups[table]);
    }
    EXPECT_LE(image.nodes(), count * 16u << 10) << "three routes are cheap in each";
    for (TableId table = count; table-- > 1;)
        image->remove_table(table);
    EXPECT_EQ(image->usage().tables, 1u);
    EXPECT_EQ(image->lookup(own(0).last()), groups[0]);
    EXPECT_EQ(image->lookup(address("2001:db8::1")), groups[0]);
}

TEST(FibTables, RemovingGivesAllBack) {
    TestImage image;
    const GroupId group = image.add_group();
    std::mt19937 random(1);
    for (int round = 0; round < 200; round++) {
        const TableId table = image->add_table().value();
        EXPECT_EQ(image->prefix_count(Family::ipv4, table), 0u) << "ids come again, what was there does not";
        for (int i = 0; i < 300; i++) {
            const auto length = static_cast<unsigned>(1 + random() % 32);
            const Prefix net = Prefix::of(IpAddress::v4(static_cast<uint32_t>(random())), length);
            ASSERT_TRUE(image->set(net, group, table));
            IpAddress six{.bytes = {0x20, 0x01}, .family = Family::ipv6};
            for (size_t byte = 2; byte < 6; byte++)
                six.bytes[byte] = static_cast<uint8_t>(random());
            ASSERT_TRUE(image->set(Prefix::of(six, length + 16), group, table));
        }
        EXPECT_GT(image.nodes(), 0u);
        image->remove_table(table);
        ASSERT_EQ(image.nodes(), 0u);
        ASSERT_EQ(image->usage().prefixes4 + image->usage().prefixes6, 0u);
    }
}

// From 2,048 prefixes on a table begins with a root, if there is one: no answer changes on the way, in either
// family; without one to be had the table goes on as it is.
TEST(FibTables, GrowsARoot) {
    for (const Family family : {Family::ipv4, Family::ipv6})
        for (const uint32_t roots : {4u, 2u}) {
            TestImage image(TestImage::small({.roots = roots, .node_bytes = 16 << 20}));
            const TableId table = image->add_table().value();
            const GroupId groups[] = {image.add_group(), image.add_group(), image.add_group()};
            std::vector<std::pair<Prefix, GroupId>> set;
            const auto check = [&] {
                const FibReader reader(image->memory());
                for (const auto& [net, group] : set) {
                    const IpAddress last = net.last();
                    ASSERT_EQ(image->lookup(last, table), group) << net.to_string();
                    ASSERT_EQ(family == Family::ipv4 ? reader.lookup(last.v4_host_order(), table)
                                                     : reader.lookup(last.bytes, table),
                              group);
                }
            };
            // Disjoint prefixes, each in 12 bits of its own: each decides its last address.
            std::bitset<4096> taken;
            for (uint32_t i = 0; i < 4096; i++) {
                IpAddress address = IpAddress::v4((i * 0x9e3779b1u) & 0xfff00000u);
                address.family = family;
                const unsigned lengths[] = {12, 18, 25, 32};
                const Prefix net = Prefix::of(address, lengths[i % 4]);
                if (taken[address.v4_host_order() >> 20]) continue;
                taken.set(address.v4_host_order() >> 20);
                if (set.size() == 2046) check();
                ASSERT_TRUE(image->set(net, groups[i % 3], table));
                set.emplace_back(net, groups[i % 3]);
                if (set.size() >= 2046 && set.size() <= 2050) check();
                if (HasFatalFailure()) return;
            }
            ASSERT_GT(set.size(), 2100u);
            check();
            pp_fib_table entries;
            std::memcpy(&entries, image.base() + pp_fib_table_offset(&image.geometry(), table),
                        sizeof entries);
            const uint32_t entry = family == Family::ipv4 ? entries.entry4 : entries.entry6;
            EXPECT_TRUE(entry & PP_FIB_NODE);
            EXPECT_EQ(PP_FIB_KIND(entry) == PP_FIB_ROOT, roots == 4);
            for (const auto& [net, group] : set)
                ASSERT_EQ(image->erase(net, table), true);
            for (const auto& [net, group] : set)
                ASSERT_EQ(image->lookup(net.address, table), 0u);
            image->remove_table(table);
            EXPECT_EQ(image.nodes(), 0u);
        }
}

TEST(FibTables, ReadersSeeTheTableTheyAskFor) {
    TestImage image;
    const TableId table = image->add_table().value();
    const GroupId here = image.add_group(), there = image.add_group();
    ASSERT_TRUE(image->set(prefix("10.0.0.0/9"), here));
    ASSERT_TRUE(image->set(prefix("10.0.0.0/9"), there, table));
    ASSERT_TRUE(image->set(prefix("2001:db8::/33"), here));
    ASSERT_TRUE(image->set(prefix("2001:db8::/33"), there, table));
    const std::vector<uint32_t> v4(200, 0x0a000001);
    const std::vector<Ip6Bytes> v6(200, address("2001:db8::1").bytes);
    std::vector<GroupId> found(200);
    for (const CpuVariant variant : test::cpu_variants()) {
        const FibReader reader(image->memory(), variant);
        for (const auto& [id, group] : {std::pair{TableId{0}, here}, {table, there}}) {
            reader.lookup_batch(v4, found, id);
            EXPECT_EQ(found, std::vector<GroupId>(200, group));
            reader.lookup_batch(v6, found, id);
            EXPECT_EQ(found, std::vector<GroupId>(200, group));
        }
    }
}

}  // namespace
}  // namespace pktpit::fib
