// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/route_counters.h"

#include <gtest/gtest.h>

#include <set>

#include "bpf/abi.h"
#include "tests/unit/routing/memory_counters.h"

namespace pktpit::router {
namespace {

using fib::RouteSource;

CountedRoute route(uint32_t number, RouteSource source = RouteSource::config) {
    return {Prefix::of(IpAddress::v4(0x0a000000u + (number << 8)), 24), source};
}

class RouteCountersTest : public testing::Test {
  protected:
    MemoryCounters store;
    RouteCounters counters{store};
};

TEST_F(RouteCountersTest, ARouteKeepsItsCounterAndSharesItWithNobody) {
    const auto first = counters.acquire(route(1)).value();
    EXPECT_NE(first, 0);
    EXPECT_EQ(counters.acquire(route(1)).value(), first);
    EXPECT_NE(counters.acquire(route(2)).value(), first);
    EXPECT_NE(counters.acquire(route(1, RouteSource::cli)).value(), first) << "another source, another route";
}

TEST_F(RouteCountersTest, CountersAreAddedUpAndBeginAtZero) {
    store.counts[1] = {99, 9900};  // of a route long gone
    const auto counter = counters.acquire(route(1)).value();
    EXPECT_EQ(counters.read(counter).packets, 0U);
    store.counts[counter] = {5, 500};
    counters.add(counter, 70);
    counters.add(counter, 80);
    EXPECT_EQ(counters.read(counter).packets, 7U);
    EXPECT_EQ(counters.read(counter).bytes, 650U);
}

TEST_F(RouteCountersTest, OnlyUnwantedOnesAreGivenBack) {
    const auto first = counters.acquire(route(1)).value();
    const auto second = counters.acquire(route(2)).value();
    counters.add(first, 10);
    counters.release_unused([&](const CountedRoute& one, uint16_t counter) {
        EXPECT_EQ(counter, one == route(1) ? first : second);
        return one == route(2);
    });
    EXPECT_EQ(counters.all().size(), 1U);
    EXPECT_EQ(store.noted, (std::map<CountedRoute, uint16_t>{{route(2), second}}));
    EXPECT_NE(counters.acquire(route(1)).value(), second);
    EXPECT_EQ(counters.read(counters.all().at(route(1))).packets, 0U);
}

TEST_F(RouteCountersTest, ADaemonThatComesAfterGoesOnWithThem) {
    const auto before = counters.acquire(route(1)).value();
    store.counts[before] = {3, 300};
    RouteCounters later(store);
    EXPECT_EQ(later.acquire(route(1)).value(), before);
    EXPECT_EQ(later.read(before).packets, 3U) << "not zeroed";
    EXPECT_NE(later.acquire(route(2)).value(), before);
}

TEST_F(RouteCountersTest, WhenAllAreInUseTheRouteIsNamed) {
    std::set<uint16_t> seen;
    for (uint32_t i = 1; i < PP_ROUTE_COUNTERS; i++)
        seen.insert(counters.acquire(route(i)).value());
    EXPECT_EQ(seen.size(), PP_ROUTE_COUNTERS - 1U);
    const auto refused = counters.acquire(route(PP_ROUTE_COUNTERS));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, route(PP_ROUTE_COUNTERS).prefix.to_string());
    counters.release_unused([](const CountedRoute& one, uint16_t) { return one != route(7); });
    EXPECT_TRUE(counters.acquire(route(PP_ROUTE_COUNTERS)));
}

TEST_F(RouteCountersTest, WhatCannotBeNotedIsRefusedAndTakesNothing) {
    store.full = true;
    EXPECT_FALSE(counters.acquire(route(1)));
    EXPECT_TRUE(counters.all().empty());
    store.full = false;
    EXPECT_TRUE(counters.acquire(route(1)));
}

}  // namespace
}  // namespace pktpit::router
