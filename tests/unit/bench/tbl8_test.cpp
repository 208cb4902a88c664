// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "bench/fib/dpdk/sizing.h"
#include "tests/unit/bench/tables.h"

namespace pktpit::bench::fib {
namespace {

TEST(Tbl8, IPv4HasOneForEachSlash24WithLongerPrefixes) {
    EXPECT_EQ(count_tbl8(table_of(Family::ipv4, {{"10.0.0.0/8", 1}, {"10.0.0.0/24", 1}})), 0u);
    EXPECT_EQ(
        count_tbl8(table_of(Family::ipv4, {{"10.0.0.0/25", 1}, {"10.0.0.128/32", 1}, {"10.0.1.0/30", 1}})),
        2u);
}

TEST(Tbl8, IPv6HasOneForEachLevelThatAPrefixReaches) {
    EXPECT_EQ(count_tbl8(table_of(Family::ipv6, {{"2001:d00::/24", 1}})), 0u);
    EXPECT_EQ(count_tbl8(table_of(Family::ipv6, {{"2001:db8::/32", 1}})), 1u);
    EXPECT_EQ(count_tbl8(table_of(Family::ipv6, {{"2001:db8::/33", 1}})), 2u);
    // The second shares all three with the first.
    EXPECT_EQ(count_tbl8(table_of(Family::ipv6, {{"2001:db8:1::/48", 1}, {"2001:db8:2::/48", 1}})), 3u);
}

TEST(Tbl8, MoreAreReservedThanUsedWherePrefixesShareTables) {
    const Table table = table_of(Family::ipv6, {{"2001:db8:1::/48", 1}, {"2001:db8:2::/48", 1}});
    EXPECT_EQ(count_reserved_tbl8(table), 6u);
    // One for the /32, two for the /48 below it, none for the /47 beside that.
    const Table covered =
        table_of(Family::ipv6, {{"2001:db8::/32", 1}, {"2001:db8:1::/48", 1}, {"2001:db8:2::/47", 1}});
    EXPECT_EQ(count_reserved_tbl8(covered), 3u);
}

}  // namespace
}  // namespace pktpit::bench::fib
