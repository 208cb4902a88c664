// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/workloads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/unit/bench/tables.h"

namespace pktpit::bench::fib {
namespace {

constexpr size_t count = 1 << 14;

Table disjoint(size_t prefixes) {
    Table table{Family::ipv4, {}, static_cast<uint32_t>(prefixes), "test"};
    for (uint32_t i = 0; i < prefixes; i++)
        table.routes.push_back({Prefix::of(IpAddress::v4(0x0b000000 + (i << 8)), 24), i + 1});
    return table;
}

TEST(Workloads, AreTheSameEachTimeAndOthersWithAnotherSeed) {
    const Table table = generate_internet(Family::ipv6, 2000);
    for (const Traffic traffic : all_traffic) {
        const auto first = make_destinations<Address6>(table, traffic, count, 1);
        EXPECT_EQ(first.size(), count);
        EXPECT_EQ(first, make_destinations<Address6>(table, traffic, count, 1)) << name_of(traffic);
        EXPECT_NE(first, make_destinations<Address6>(table, traffic, count, 2)) << name_of(traffic);
    }
}

TEST(Workloads, UniformCoversTheWholeSpace) {
    const Table table4 = disjoint(1);
    std::set<uint32_t> tops;
    for (const Address4 address : make_destinations<Address4>(table4, Traffic::uniform, count, 1))
        tops.insert(address >> 24);
    EXPECT_EQ(tops.size(), 256u);
    const Table table6 = table_of(Family::ipv6, {{"2001:db8::/32", 1}});
    tops.clear();
    for (const Address6& address : make_destinations<Address6>(table6, Traffic::uniform, count, 1)) {
        ASSERT_EQ(address[0] >> 5, 1);
        tops.insert(address[0]);
    }
    EXPECT_EQ(tops.size(), 32u);
}

TEST(Workloads, InPrefixAndBuffersSpreadOverPrefixesAndTheirHostBits) {
    const Table table = disjoint(64);
    for (const Traffic traffic : {Traffic::in_prefix, Traffic::buffers}) {
        SCOPED_TRACE(name_of(traffic));
        std::map<uint32_t, size_t> by_prefix;
        std::set<uint32_t> hosts;
        for (const Address4 address : make_destinations<Address4>(table, traffic, count, 1)) {
            ASSERT_NE(longest_match(table, IpAddress::v4(address)), 0u);
            by_prefix[address >> 8]++;
            hosts.insert(address & 0xff);
        }
        EXPECT_EQ(by_prefix.size(), 64u);
        EXPECT_EQ(hosts.size(), 256u);
        // 256 each; six standard deviations of a fair draw.
        for (const auto& [prefix, times] : by_prefix)
            EXPECT_NEAR(static_cast<double>(times), 256, 96) << prefix;
    }
}

TEST(Workloads, ZipfGivesRankKAShareOfOneOverK) {
    const Table table = disjoint(100);
    std::map<uint32_t, size_t> by_prefix;
    constexpr size_t many = 1 << 17;
    for (const Address4 address : make_destinations<Address4>(table, Traffic::zipf, many, 1))
        by_prefix[address >> 8]++;
    std::vector<double> shares;
    shares.reserve(by_prefix.size());
    for (const auto& [prefix, times] : by_prefix)
        shares.push_back(static_cast<double>(times) / many);
    std::sort(shares.rbegin(), shares.rend());
    double harmonic = 0;
    for (int k = 1; k <= 100; k++)
        harmonic += 1.0 / k;
    for (const size_t k : {1, 2, 4, 10})
        EXPECT_NEAR(shares[k - 1] * harmonic * static_cast<double>(k), 1, 0.1) << "rank " << k;
    // The ranking is not the table's order.
    EXPECT_NE(std::max_element(by_prefix.begin(), by_prefix.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; })
                  ->first,
              0x0b0000u);
}

TEST(Workloads, Hot16HasSixteenDestinations) {
    const Table table = disjoint(1000);
    const auto destinations = make_destinations<Address4>(table, Traffic::hot16, count, 1);
    EXPECT_EQ(std::set<Address4>(destinations.begin(), destinations.end()).size(), 16u);
}

TEST(Workloads, ConsecutiveCountsAddressesOfIPv4AndSubnetsOfIPv6) {
    const auto four = make_destinations<Address4>(disjoint(1000), Traffic::consecutive, count, 1);
    for (size_t i = 1; i < four.size(); i++)
        ASSERT_EQ(four[i], four[i - 1] + 1);
    const Table table6 = table_of(Family::ipv6, {{"2001:db8::/32", 1}});
    const auto six = make_destinations<Address6>(table6, Traffic::consecutive, count, 1);
    const auto subnet = [](const Address6& address) {
        uint64_t value = 0;
        for (size_t i = 0; i < 8; i++)
            value = value << 8 | address[i];
        return value;
    };
    for (size_t i = 1; i < six.size(); i++)
        ASSERT_EQ(subnet(six[i]), subnet(six[i - 1]) + 1);
}

}  // namespace
}  // namespace pktpit::bench::fib
