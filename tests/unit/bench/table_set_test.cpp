// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/table_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "bench/fib/dpdk/sizing.h"

namespace pktpit::bench::fib {
namespace {

size_t longer_than_24(const Table& table) {
    return static_cast<size_t>(std::count_if(table.routes.begin(), table.routes.end(),
                                             [](const Route& route) { return route.prefix.length > 24; }));
}

TEST(TableSet, HoldsEveryCombinationOnce) {
    std::set<std::string> names;
    for (const Family family : {Family::ipv4, Family::ipv6})
        for (const TableVariant& variant : table_set(family))
            names.insert(name_of(variant, family));
    EXPECT_EQ(table_set(Family::ipv4).size(), 18u);
    EXPECT_EQ(names.size(), 24u);
    EXPECT_TRUE(names.contains("generated, 3771 next hops, 10 % longer than /24"));
}

TEST(TableSet, TablesHaveTheShareOfLongPrefixesAndTheNextHopsThatTheirNameSays) {
    for (const double share : {0.0, 0.01, 0.1}) {
        const Table table = make_variant({true, 3771, share}, Family::ipv4, 50'000, "");
        EXPECT_EQ(table.groups, 3771u);
        uint32_t largest = 0;
        for (const Route& route : table.routes)
            largest = std::max(largest, route.group);
        EXPECT_GT(largest, 255u);
        EXPECT_LE(largest, 3771u);
        // Equal ones among the added are kept once.
        const double found =
            static_cast<double>(longer_than_24(table)) / static_cast<double>(table.routes.size());
        EXPECT_LE(found, share + 1e-9);
        EXPECT_GE(found, share * 0.9);
    }
}

TEST(TableSet, LongPrefixesLieInsideRoutesSideBySide) {
    const Table table = make_variant({true, 200, 0.1}, Family::ipv4, 50'000, "");
    const size_t added = longer_than_24(table);
    ASSERT_GT(added, 0u);
    EXPECT_LE(count_tbl8(table), added / 7 + 1);
    std::set<Prefix> shorter;
    for (const Route& route : table.routes)
        if (route.prefix.length == 24) shorter.insert(route.prefix);
    for (const Route& route : table.routes)
        if (route.prefix.length > 24) {
            EXPECT_TRUE(shorter.contains(Prefix::of(route.prefix.address, 24))) << route.prefix.to_string();
        }
}

TEST(TableSet, Ipv6KeepsItsPrefixes) {
    const Table table = make_variant({true, 200, 0}, Family::ipv6, 5'000, "");
    EXPECT_GE(longer_than_24(table), 4'000u);
    EXPECT_EQ(table.name, "generated, 200 next hops");
}

}  // namespace
}  // namespace pktpit::bench::fib
