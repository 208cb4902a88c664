// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/oracle.h"

#include <gtest/gtest.h>

#include "bench/fib/address.h"
#include "bench/fib/random.h"
#include "tests/unit/bench/tables.h"

namespace pktpit::bench::fib {
namespace {

/// Every prefix's first and last address and their neighbours: where a range can be wrong.
void compare_at_edges(const Table& table) {
    const Oracle oracle(table);
    const auto compare = [&](const IpAddress& address) {
        ASSERT_EQ(oracle.look_up(address), longest_match(table, address)) << address.to_string();
    };
    const auto step = [](IpAddress address, int by) {
        for (size_t i = address.size(); i-- > 0;) {
            const uint8_t before = address.bytes[i];
            address.bytes[i] = static_cast<uint8_t>(before + by);
            if (before != (by > 0 ? 0xff : 0)) break;
        }
        return address;
    };
    for (const Route& route : table.routes) {
        compare(route.prefix.address);
        compare(route.prefix.last());
        compare(step(route.prefix.address, -1));
        compare(step(route.prefix.last(), 1));
    }
}

TEST(Oracle, NestedPrefixesOfBothFamilies) {
    compare_at_edges(table_of(Family::ipv4, {{"10.0.0.0/8", 1},
                                             {"10.0.0.0/9", 2},
                                             {"10.0.0.0/32", 3},
                                             {"10.127.255.255/32", 4},
                                             {"10.128.0.0/9", 5},
                                             {"11.0.0.0/8", 1},
                                             {"255.255.255.255/32", 6}}));
    compare_at_edges(table_of(Family::ipv6, {{"2001:db8::/32", 1},
                                             {"2001:db8::/33", 2},
                                             {"2001:db8::/128", 3},
                                             {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128", 4},
                                             {"ffff::/16", 5},
                                             {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 6}}));
}

TEST(Oracle, DefaultRoutesAndEmptyTables) {
    compare_at_edges(table_of(Family::ipv4, {{"0.0.0.0/0", 9}, {"128.0.0.0/1", 1}}));
    compare_at_edges(table_of(Family::ipv6, {{"::/0", 9}, {"8000::/1", 1}}));
    EXPECT_EQ(Oracle(Table{}).look_up(*IpAddress::parse("10.0.0.1")), 0u);
}

TEST(Oracle, RandomTables) {
    Random random(7);
    for (const Family family : {Family::ipv4, Family::ipv6}) {
        Table table{family, {}, 1000, "random"};
        for (uint32_t i = 1; i <= 300; i++) {
            IpAddress address;
            address.family = family;
            // Few values a byte, so that prefixes nest.
            for (size_t byte = 0; byte < address.size(); byte++)
                address.bytes[byte] = below(random, 2) ? 0xff : 0;
            const auto length = static_cast<unsigned>(below(random, address.bits() + 1));
            table.routes.push_back({Prefix::of(address, length), i});
        }
        normalize(table.routes);
        compare_at_edges(table);
    }
}

}  // namespace
}  // namespace pktpit::bench::fib
