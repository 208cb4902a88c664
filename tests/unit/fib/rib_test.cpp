// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::address;
using test::prefix;

/// A RIB whose best routes land in a map, and which can be made to refuse a change.
class RibTest : public testing::Test {
  protected:
    RibTest()
        : rib_([this](const Prefix& changed, const std::optional<Route>& best, NextHopSetId) -> Result<void> {
              told_++;
              if (refuse_after_ > 0 && --refuse_after_ == 0) return fail(changed.to_string(), "table full");
              if (best) {
                  EXPECT_EQ(best->prefix, changed);
                  fib_[changed] = best->next_hops;
              } else {
                  const bool was_there = fib_.erase(changed) == 1;
                  EXPECT_TRUE(was_there || in_pieces_) << "told that something is gone that was not there";
              }
              return {};
          }) {}

    Result<void> set(const char* text, RouteSource source, NextHopSetId next_hops, uint8_t preference = 10,
                     uint32_t metric = 0) {
        return rib_.set({prefix(text), source, preference, metric, next_hops});
    }
    std::vector<NextHopSetId> candidates(const char* text) {
        std::vector<NextHopSetId> result;
        for (const Route& route : rib_.candidates(prefix(text)))
            result.push_back(route.next_hops);
        return result;
    }

    std::map<Prefix, NextHopSetId> fib_;
    int told_ = 0;
    bool in_pieces_ = false;  ///< settle() may tell again what has gone
    int refuse_after_ = 0;    ///< the how-manieth call from now on is refused; 0: none
    Rib rib_;
};

using enum RouteSource;

TEST_F(RibTest, PreferenceThenMetricThenSource) {
    ASSERT_TRUE(set("10.0.0.0/8", kernel, 1, 20, 0));
    ASSERT_TRUE(set("10.0.0.0/8", cli, 2, 10, 5));
    ASSERT_TRUE(set("10.0.0.0/8", config, 3, 10, 4));
    ASSERT_TRUE(set("10.0.0.0/8", connected, 4, 10, 5));
    EXPECT_EQ(candidates("10.0.0.0/8"), (std::vector<NextHopSetId>{3, 4, 2, 1}));
    EXPECT_EQ(fib_, (std::map<Prefix, NextHopSetId>{{prefix("10.0.0.0/8"), 3}}));
    EXPECT_EQ(rib_.best(prefix("10.0.0.0/8"))->source, config);
    EXPECT_EQ(told_, 4) << "4 never was the best, but the second best is told, too";
    EXPECT_EQ(rib_.size(Family::ipv4), 1u);
    EXPECT_EQ(rib_.size(Family::ipv6), 0u);
    EXPECT_EQ(rib_.size(kernel), 1u);
}

TEST_F(RibTest, SaysNothingWhereNothingChanges) {
    ASSERT_TRUE(set("10.0.0.0/8", config, 1));
    ASSERT_TRUE(set("10.0.0.0/8", config, 1));
    EXPECT_EQ(told_, 1);
    EXPECT_EQ(rib_.erase(prefix("10.0.0.0/8"), kernel), false);
    EXPECT_EQ(rib_.erase(prefix("10.0.0.0/9"), config), false);
    EXPECT_EQ(told_, 1);
}

TEST_F(RibTest, TheNextBestFollows) {
    ASSERT_TRUE(set("2001:db8::/32", config, 1, 10));
    ASSERT_TRUE(set("2001:db8::/32", kernel, 2, 20));
    EXPECT_EQ(rib_.erase(prefix("2001:db8::/32"), config), true);
    EXPECT_EQ(fib_.at(prefix("2001:db8::/32")), 2u);
    EXPECT_EQ(rib_.erase(prefix("2001:db8::/32"), kernel), true);
    EXPECT_TRUE(fib_.empty());
    EXPECT_EQ(rib_.size(Family::ipv6), 0u);
    EXPECT_EQ(rib_.size(config) + rib_.size(kernel), 0u);
}

TEST_F(RibTest, UnusableNextHopsGiveWay) {
    ASSERT_TRUE(set("10.0.0.0/8", config, 1, 10));
    ASSERT_TRUE(set("10.0.0.0/8", kernel, 2, 20));
    ASSERT_TRUE(set("10.1.0.0/16", config, 1));
    ASSERT_TRUE(set("2001:db8::/32", config, 1));
    ASSERT_TRUE(set("10.2.0.0/16", config, 3));
    told_ = 0;
    ASSERT_TRUE(rib_.set_usable(1, false));
    EXPECT_EQ(told_, 3);
    EXPECT_EQ(fib_, (std::map<Prefix, NextHopSetId>{{prefix("10.0.0.0/8"), 2}, {prefix("10.2.0.0/16"), 3}}));
    EXPECT_EQ(candidates("10.0.0.0/8"), (std::vector<NextHopSetId>{2, 1})) << "unusable ones last";
    EXPECT_EQ(rib_.best(prefix("10.1.0.0/16")), std::nullopt);
    EXPECT_EQ(rib_.match(address("10.1.0.1"))->prefix, prefix("10.0.0.0/8"))
        << "past a prefix without a best route";
    ASSERT_TRUE(rib_.set_usable(1, false));
    EXPECT_EQ(told_, 3) << "nothing new";
    // A route that comes meanwhile is kept, but not used.
    ASSERT_TRUE(set("10.3.0.0/16", config, 1));
    EXPECT_FALSE(fib_.contains(prefix("10.3.0.0/16")));
    ASSERT_TRUE(rib_.set_usable(1, true));
    EXPECT_EQ(fib_.at(prefix("10.0.0.0/8")), 1u);
    EXPECT_EQ(fib_.at(prefix("10.3.0.0/16")), 1u);
    EXPECT_EQ(fib_.at(prefix("2001:db8::/32")), 1u);
    EXPECT_EQ(fib_.size(), 5u);
}

TEST_F(RibTest, ARefusedSetChangesNothing) {
    ASSERT_TRUE(set("10.0.0.0/8", config, 1));
    refuse_after_ = 1;
    const auto result = set("10.0.0.0/8", cli, 2, 5);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "table full");
    EXPECT_EQ(candidates("10.0.0.0/8"), std::vector<NextHopSetId>{1});
    EXPECT_EQ(rib_.size(cli), 0u);
    refuse_after_ = 1;
    ASSERT_FALSE(set("10.1.0.0/16", cli, 2));
    EXPECT_EQ(rib_.size(Family::ipv4), 1u);
    EXPECT_EQ(rib_.best(prefix("10.1.0.0/16")), std::nullopt);
}

TEST_F(RibTest, ARefusedEraseChangesNothing) {
    ASSERT_TRUE(set("10.0.0.0/8", config, 1));
    refuse_after_ = 1;
    ASSERT_FALSE(rib_.erase(prefix("10.0.0.0/8"), config));
    EXPECT_EQ(candidates("10.0.0.0/8"), std::vector<NextHopSetId>{1});
    EXPECT_EQ(rib_.erase(prefix("10.0.0.0/8"), config), true);
}

TEST_F(RibTest, RefusesARouteWithoutNextHops) {
    EXPECT_FALSE(set("10.0.0.0/8", config, 0));
    EXPECT_EQ(told_, 0);
}

TEST_F(RibTest, MatchesTheLongest) {
    ASSERT_TRUE(set("0.0.0.0/0", config, 1));
    ASSERT_TRUE(set("10.0.0.0/8", config, 2));
    ASSERT_TRUE(set("10.1.2.3/32", config, 3));
    ASSERT_TRUE(set("2001:db8::/32", config, 4));
    EXPECT_EQ(rib_.match(address("10.1.2.3"))->next_hops, 3u);
    EXPECT_EQ(rib_.match(address("10.1.2.4"))->next_hops, 2u);
    EXPECT_EQ(rib_.match(address("11.1.2.4"))->prefix, prefix("0.0.0.0/0"));
    EXPECT_EQ(rib_.match(address("2001:db8:ffff::"))->next_hops, 4u);
    EXPECT_EQ(rib_.match(address("2001:db9::")), std::nullopt);
}

TEST_F(RibTest, VisitsEveryRouteAroundAnAddressLongestPrefixAndBestFirst) {
    for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16", "10.1.2.3/32"})
        ASSERT_TRUE(set(text, config, 3));
    ASSERT_TRUE(set("10.1.0.0/16", kernel, 4, 5));
    ASSERT_TRUE(rib_.set_usable(4, false)) << "which does not hide it";
    const auto around = [&](const char* text, int most) {
        std::vector<std::string> seen;
        rib_.for_each_containing(address(text), [&](const Route& route) {
            seen.push_back(route.prefix.to_string() + " " + std::string(to_string(route.source)));
            return static_cast<int>(seen.size()) < most;
        });
        return seen;
    };
    EXPECT_EQ(around("10.1.2.3", 9),
              (std::vector<std::string>{"10.1.2.3/32 config", "10.1.0.0/16 kernel", "10.1.0.0/16 config",
                                        "10.0.0.0/8 config", "0.0.0.0/0 config"}));
    EXPECT_EQ(around("10.1.2.3", 2), (std::vector<std::string>{"10.1.2.3/32 config", "10.1.0.0/16 kernel"}));
    EXPECT_TRUE(around("2001:db8::1", 9).empty());
}

TEST_F(RibTest, WalksInPrefixOrder) {
    ASSERT_TRUE(set("192.0.2.0/24", config, 1));
    ASSERT_TRUE(set("10.0.0.0/8", kernel, 2, 20));
    ASSERT_TRUE(set("10.0.0.0/8", cli, 3, 10));
    ASSERT_TRUE(set("10.0.0.0/16", cli, 3));
    ASSERT_TRUE(set("9.255.0.0/16", cli, 3));
    ASSERT_TRUE(set("2001:db8::/32", cli, 3));
    std::vector<std::string> seen;
    rib_.for_each(Family::ipv4, [&](const Route& route, bool best) {
        seen.push_back(route.prefix.to_string() + " " + std::string(to_string(route.source)) +
                       (best ? " best" : ""));
        return true;
    });
    EXPECT_EQ(seen,
              (std::vector<std::string>{"9.255.0.0/16 cli best", "10.0.0.0/8 cli best", "10.0.0.0/8 kernel",
                                        "10.0.0.0/16 cli best", "192.0.2.0/24 config best"}));
    int visits = 0;
    rib_.for_each(Family::ipv4, [&](const Route&, bool) { return ++visits < 2; });
    EXPECT_EQ(visits, 2);
}

// More prefixes of one next-hop set than lie in one list.
class RibOfManyPrefixes : public RibTest {
  protected:
    static constexpr uint32_t many = 40'000;
    static Prefix number(uint32_t i) { return Prefix::of(IpAddress::v4(0x14000000u + (i << 8)), 24); }
    void add(uint32_t first, uint32_t last, NextHopSetId next_hops = 1, uint8_t preference = 10) {
        for (uint32_t i = first; i < last; i++)
            ASSERT_TRUE(rib_.set({number(i), preference == 10 ? kernel : config, preference, 0, next_hops}));
    }
    void remove(uint32_t first, uint32_t last) {
        for (uint32_t i = first; i < last; i++)
            ASSERT_TRUE(rib_.erase(number(i), kernel));
    }
    void settle(size_t pieces = SIZE_MAX) { ASSERT_TRUE(rib_.settle(pieces)); }
    [[nodiscard]] size_t leads_to(NextHopSetId next_hops) const {
        return static_cast<size_t>(
            std::ranges::count_if(fib_, [&](const auto& entry) { return entry.second == next_hops; }));
    }
};

TEST_F(RibOfManyPrefixes, some_come_and_go_while_the_rest_is_being_told) {
    add(0, many);
    add(0, many / 2, 2, 20);
    in_pieces_ = true;
    rib_.begin_set_usable(1, false);
    for (uint32_t i = 0; i < 390; i++) {
        settle(50);
        // What is weeded out meanwhile has the walk begin anew in its part, and nobody is left out.
        const uint32_t first = (i * 7919 % 400) * 100;
        remove(first, first + 100);
        add(first, first + 20);
    }
    while (!rib_.settled())
        settle(1000);
    EXPECT_EQ(leads_to(1), 0U);
    EXPECT_EQ(leads_to(2), many / 2);
    EXPECT_EQ(fib_.size(), many / 2);
    rib_.begin_set_usable(1, true);
    while (!rib_.settled())
        settle(1000);
    EXPECT_EQ(leads_to(1), rib_.size(Family::ipv4, kernel));
}

TEST_F(RibOfManyPrefixes, a_list_that_has_grown_shrinks_by_what_is_gone) {
    add(0, many);
    const size_t full = rib_.memory_bytes();
    for (int flap = 0; flap < (pktpit::test::few_rounds() ? 2 : 5); flap++) {
        remove(10, many);
        add(10, many);
    }
    EXPECT_LT(rib_.memory_bytes(), full + full / 2);
    told_ = 0;
    ASSERT_TRUE(rib_.set_usable(1, false));
    EXPECT_EQ(told_, static_cast<int>(many)) << "told twice of a prefix that stands twice in its list";
    EXPECT_EQ(fib_.size(), 0U);
    ASSERT_TRUE(rib_.set_usable(1, true));
    EXPECT_EQ(fib_.size(), many);
}

TEST(RibInsideTest, WhatIsNextInsideAPrefixIsToldAgainWhereWhatIsAroundItMatters) {
    std::vector<std::string> told;
    Rib rib([&](const Prefix& changed, const std::optional<Route>&, NextHopSetId) -> Result<void> {
        told.push_back(changed.to_string());
        return {};
    });
    const auto set = [&](const char* text, NextHopSetId next_hops, RouteSource source = kernel) {
        ASSERT_TRUE(rib.set({prefix(text), source, 10, 0, next_hops}));
    };
    for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/16", "10.0.0.0/24", "10.255.255.255/32",
                             "11.0.0.0/8", "2001:db8::/32", "2001:db8:1::/48", "2001:db9::/32"})
        set(text, 1);
    set("10.1.0.0/16", 2);
    set("10.2.0.0/16", 3);  // cannot be used, so what is inside it hangs on what is around it
    set("10.2.0.0/24", 1);
    set("10.3.0.0/16", 1);
    set("10.3.0.0/16", 2, config);  // has a second best
    set("10.3.0.0/24", 1);
    ASSERT_TRUE(rib.set_usable(3, false));
    told.clear();
    rib.tell_inside(prefix("11.0.0.0/8"));
    EXPECT_TRUE(rib.settled()) << "nothing inside";
    for (const char* text : {"10.0.0.0/8", "2001:db8::/32", "10.0.0.0/8"})
        rib.tell_inside(prefix(text));
    EXPECT_FALSE(rib.settled());
    ASSERT_TRUE(rib.settle_best(1000));
    EXPECT_TRUE(rib.best_settled());
    EXPECT_TRUE(told.empty()) << "that comes behind all else";
    while (!rib.settled())
        ASSERT_TRUE(rib.settle(1));
    EXPECT_EQ(told, (std::vector<std::string>{"10.0.0.0/16", "10.1.0.0/16", "10.2.0.0/24",
                                              "10.255.255.255/32", "2001:db8:1::/48"}));
}

}  // namespace
}  // namespace pktpit::fib
