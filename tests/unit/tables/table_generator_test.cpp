// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_generator.h"

#include <gtest/gtest.h>

namespace pktpit::fib {
namespace {

TEST(TableGenerator, KeepsTheHistogram) {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
        const auto table = generate_table(family, 50000, 7);
        ASSERT_EQ(table.size(), 50000u);
        std::vector<size_t> counts(129);
        for (const TableEntry& entry : table)
            counts[entry.prefix.length]++;
        const double scale = 50000.0 / static_cast<double>(internet_table_size(family));
        size_t listed = 0;
        for (const auto& [length, count] : internet_histogram(family)) {
            EXPECT_NEAR(static_cast<double>(counts[length]), count * scale, 1.0) << int{length};
            listed += counts[length];
        }
        EXPECT_EQ(listed, table.size());
    }
    EXPECT_EQ(internet_table_size(Family::ipv4), 1168945u);
    EXPECT_EQ(internet_table_size(Family::ipv6), 279855u);
}

TEST(TableGenerator, IsSortedUniqueValidAndDeterministic) {
    for (const Family family : {Family::ipv4, Family::ipv6}) {
        const auto table = generate_table(family, 30000, 1);
        for (size_t i = 0; i < table.size(); i++) {
            const Prefix& prefix = table[i].prefix;
            if (i > 0) {
                ASSERT_LT(table[i - 1].prefix, prefix);
            }
            ASSERT_EQ(prefix, Prefix::of(prefix.address, prefix.length));
            ASSERT_FALSE(prefix.address.is_multicast() || prefix.address.is_loopback() ||
                         prefix.address.is_link_local());
            ASSERT_TRUE(table[i].next_hop >= 1 && table[i].next_hop <= 200);
        }
        const auto same = generate_table(family, 30000, 1);
        const auto other = generate_table(family, 30000, 2);
        const auto prefixes = [](const std::vector<TableEntry>& entries) {
            std::vector<Prefix> result;
            for (const TableEntry& entry : entries)
                result.push_back(entry.prefix);
            return result;
        };
        EXPECT_EQ(prefixes(table), prefixes(same));
        EXPECT_NE(prefixes(table), prefixes(other));
    }
}

// Fixed for all platforms: benchmarks of different machines look up in the same table.
TEST(TableGenerator, NeverChangesItsTables) {
    const auto table = generate_table(Family::ipv4, 1000, 42);
    EXPECT_EQ(table.front().prefix.to_string(), "1.171.135.0/24");
    EXPECT_EQ(table[500].prefix.to_string(), "177.185.192.0/18");
    EXPECT_EQ(table.back().prefix.to_string(), "204.88.0.0/16");
}

// Counted in the real tables: of the prefixes inside shorter ones, 778 (804) of 1,000 have their next hop.
TEST(TableGenerator, prefixes_have_the_next_hop_of_their_shorter_one_as_often_as_real_ones) {
    for (const auto& [family, real] : {std::pair{Family::ipv4, 0.778}, {Family::ipv6, 0.804}}) {
        std::vector<TableEntry> around;
        size_t inside = 0, alike = 0;
        for (const TableEntry& entry : generate_table(family, internet_table_size(family), 1)) {
            while (!around.empty() && !around.back().prefix.contains(entry.prefix))
                around.pop_back();
            if (!around.empty()) {
                inside++;
                alike += entry.next_hop == around.back().next_hop;
            }
            around.push_back(entry);
        }
        EXPECT_NEAR(static_cast<double>(alike) / static_cast<double>(inside), real, 0.02);
    }
}

TEST(TableGenerator, TakesSmallCounts) {
    for (size_t count : {0u, 1u, 2u, 10u})
        EXPECT_EQ(generate_table(Family::ipv6, count, 3).size(), count);
}

}  // namespace
}  // namespace pktpit::fib
