// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/event_log.h"

#include <gtest/gtest.h>

#include "router/control/ignored_routes.h"

namespace pktpit::router {
namespace {

TEST(EventLog, KeepsTheLastThousandWithoutGaps) {
    EventLog log;
    for (int i = 0; i < 2500; i++)
        log.add(EventKind::link, "event " + std::to_string(i));
    ASSERT_EQ(log.all().size(), EventLog::most);
    EXPECT_EQ(log.last(), 2500U);
    EXPECT_EQ(log.all().front().id, 1501U);
    EXPECT_EQ(log.all().back().text, "event 2499");
    log.add(EventKind::reload, std::string(100'000, 'x'));
    EXPECT_EQ(log.all().back().text.size(), EventLog::longest);
}

class IgnoredRoutesTest : public testing::Test {
  protected:
    using Kind = IgnoredRoutes::Kind;
    static IgnoredRoutes::Route of(uint32_t number, uint8_t tos = 0) {
        return {Prefix::of(IpAddress::v4(number << 8), 24), 254, 0, tos};
    }
    IgnoredRoutes ignored;
};

TEST_F(IgnoredRoutesTest, CountsByKindAndTellsTheFirst) {
    EXPECT_TRUE(ignored.add(of(1, 16), Kind::tos, 3));
    EXPECT_FALSE(ignored.add(of(2, 16), Kind::tos, 3));
    EXPECT_FALSE(ignored.add(of(2, 16), Kind::tos, 3)) << "a repetition";
    EXPECT_TRUE(ignored.add(of(3), Kind::thrown, 3));
    EXPECT_EQ(ignored.count(Kind::tos), 2U);
    EXPECT_FALSE(ignored.add(of(3), Kind::device, 3) && ignored.count(Kind::thrown) != 0)
        << "it is another now";
    EXPECT_EQ(ignored.count(Kind::device), 1U);
    ignored.remove(of(2, 16));
    ignored.remove(of(2, 16));
    EXPECT_EQ(ignored.count(Kind::tos), 1U);
    EXPECT_FALSE(ignored.add(of(4, 16), Kind::tos, 3)) << "told already";
}

TEST_F(IgnoredRoutesTest, WhatADumpDoesNotMentionIsGone) {
    ignored.add(of(1, 16), Kind::tos, 3);
    ignored.add(of(2, 16), Kind::tos, 3);
    ignored.add(of(3), Kind::thrown, 3);
    ignored.resynced();
    EXPECT_EQ(ignored.count(Kind::tos), 2U);
    ignored.add(of(2, 16), Kind::tos, 3);
    ignored.resynced();
    EXPECT_EQ(ignored.count(Kind::tos), 1U);
    EXPECT_EQ(ignored.count(Kind::thrown), 1U) << "whoever keeps it tells when it goes";
}

TEST_F(IgnoredRoutesTest, WhatNoRuleLeadsToAnyMoreIsGone) {
    const auto in = [](uint32_t table, uint32_t number) {
        IgnoredRoutes::Route route = of(number);
        route.table = table;
        return route;
    };
    const std::vector<uint32_t> both{100, 101}, one{101};
    EXPECT_TRUE(ignored.add(in(100, 1), Kind::table, 3));
    EXPECT_FALSE(ignored.add(in(101, 1), Kind::table, 3));
    ignored.ruled_tables(both, true);
    ignored.resynced();
    ignored.add(in(101, 2), Kind::table, 3);
    ignored.ruled_tables(both, false);
    EXPECT_EQ(ignored.count(Kind::table), 3U) << "not read yet";
    ignored.ruled_tables(one, false);
    EXPECT_EQ(ignored.count(Kind::table), 2U);
    ignored.ruled_tables(one, true);
    EXPECT_EQ(ignored.count(Kind::table), 1U) << "the other one was not mentioned";
    EXPECT_TRUE(ignored.all().contains(in(101, 2)));
}

TEST_F(IgnoredRoutesTest, IsBounded) {
    for (uint32_t i = 0; i < IgnoredRoutes::most + 5; i++)
        ignored.add(of(i), Kind::device, 3);
    EXPECT_EQ(ignored.all().size(), IgnoredRoutes::most);
    EXPECT_TRUE(ignored.more());
}

}  // namespace
}  // namespace pktpit::router
