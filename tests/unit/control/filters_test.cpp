// SPDX-License-Identifier: BSD-3-Clause
// Filters over reloads: bound to the interfaces that there are, counters go on with rules that stay.
#include <gtest/gtest.h>

#include "tests/unit/control/control_rig.h"

namespace pktpit::router {
namespace {

struct FilteredRouter : fake::ControlRig<> {
    FilteredRouter() : ControlRig("filters", {"eth0", "eth1"}) {
        EXPECT_TRUE(control->read_kernel());
        EXPECT_TRUE(control->apply(with({}), true));
    }
    /// `filters` by name; eth0 has the first one coming in, eth1 the last one going out.
    static config::Config with(const config::Filters& filters) {
        config::Config config;
        config.interfaces["eth0"].name = "eth0";
        config.interfaces["eth1"].name = "eth1";
        config.filters = filters;
        if (filters.empty()) return config;
        config.interfaces["eth0"].filter_in = filters.begin()->first;
        config.interfaces["eth1"].filter_out = filters.rbegin()->first;
        return config;
    }
    void reload(const config::Filters& filters) { EXPECT_TRUE(control->apply(with(filters), false)); }
    uint64_t packets(const std::string& name, size_t rule) const {
        return control->filter_counts(name).at(rule).packets;
    }
};

config::Filter rules(size_t count) {
    return config::Filter(count, config::FilterRule{.action = config::FilterAction::drop});
}

TEST(FiltersOfTheControlPlane, CountersGoOnWithFiltersThatStay) {
    FilteredRouter router;
    router.reload({{"a", rules(3)}, {"b", rules(2)}});
    const uint32_t a = router.dataplane.filters.first_counter.at("a");
    const uint32_t b = router.dataplane.filters.first_counter.at("b");
    ASSERT_NE(a, 0u);
    router.dataplane.filter_packets = {{a, 7}, {a + 3, 1}, {b + 1, 5}};
    EXPECT_EQ(router.packets("a", 0), 7u);
    EXPECT_EQ(router.packets("a", 3), 1u) << "what no rule matches";
    router.reload({{"a", rules(4)}, {"b", rules(2)}});
    EXPECT_EQ(router.dataplane.filters.first_counter.at("b"), b);
    EXPECT_EQ(router.packets("b", 1), 5u);
    for (size_t rule = 0; rule <= 4; rule++)
        EXPECT_EQ(router.packets("a", rule), 0u) << "its rules are others";
    // Numbers that come again begin at 0, whatever they had counted for others.
    router.reload({{"b", rules(2)}});
    router.reload({{"a", rules(3)}, {"b", rules(2)}});
    EXPECT_EQ(router.packets("a", 0), 0u);
    EXPECT_EQ(router.packets("b", 1), 5u);
}

TEST(FiltersOfTheControlPlane, NobodysCountersAreUsedTwice) {
    FilteredRouter router;
    for (uint32_t round = 1; round < 40; round++) {
        router.reload({{"a", rules(round % 7)}, {"b", rules(round % 5 * 3)}});
        const auto& first = router.dataplane.filters.first_counter;
        const uint32_t end_a = first.at("a") + round % 7 + 1, end_b = first.at("b") + round % 5 * 3 + 1;
        EXPECT_TRUE(end_a <= first.at("b") || end_b <= first.at("a")) << round;
    }
}

TEST(FiltersOfTheControlPlane, GoWithTheInterfacesThatHadThem) {
    FilteredRouter router;
    router.reload({{"a", rules(1)}});
    EXPECT_EQ(router.dataplane.filters.interfaces.size(), 2u);
    router.reload({});
    EXPECT_FALSE(router.dataplane.filters.any());
    EXPECT_TRUE(router.control->filter_counts("a").empty());
}

TEST(FiltersOfTheControlPlane, ARefusedChangeLeavesThoseInForce) {
    FilteredRouter router;
    router.reload({{"a", rules(1)}});
    const uint32_t a = router.dataplane.filters.first_counter.at("a");
    router.dataplane.filter_packets = {{a, 7}};
    config::Config wanted = FilteredRouter::with({{"a", rules(2)}});
    config::NextHop by_nobody;
    by_nobody.interface = "nobody";
    wanted.routes.push_back({.prefix = Prefix::parse("20.0.0.0/8").value(), .next_hops = {by_nobody}});
    EXPECT_FALSE(router.control->apply(wanted, false));
    EXPECT_EQ(router.dataplane.filters.first_counter.at("a"), a);
    EXPECT_EQ(router.dataplane.filters.compiled->filters.at("a").rules, 1u);
    EXPECT_EQ(router.packets("a", 0), 7u);
}

}  // namespace
}  // namespace pktpit::router
