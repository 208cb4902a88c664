// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/panel.h"

#include <gtest/gtest.h>

#include "bench/fib/targets.h"

namespace pktpit::bench::fib {
namespace {

Panel panel_of(std::vector<double> own, std::vector<double> other) {
    Panel panel;
    panel.subject = "own";
    panel.cells[{"row", "own"}].samples = std::move(own);
    panel.cells[{"row", "other"}].samples = std::move(other);
    return panel;
}

TEST(Panel, RatiosAreWithinRounds) {
    // Each round twice as fast, though the machine changes by a factor of ten: of the medians it would be
    // 0.2.
    const Panel panel = panel_of({20, 2, 2, 2, 20}, {10, 1, 1, 10, 10});
    EXPECT_DOUBLE_EQ(ratio(panel, "row", "other").median, 2);
    EXPECT_DOUBLE_EQ(ratio(panel, "row", "other").lower_quartile, 2);
}

TEST(Panel, WhatTakesLessIsBetterWhereTheUnitIsTime) {
    Panel panel = panel_of({1, 1}, {3, 5});
    panel.lower_is_better = true;
    EXPECT_DOUBLE_EQ(ratio(panel, "row", "other").median, 4);
}

TEST(Panel, MissingCellsGiveNoRatio) {
    const Panel panel = panel_of({1}, {});
    EXPECT_EQ(ratio(panel, "row", "other").median, 0);
    EXPECT_EQ(ratio(panel, "row", "nobody").median, 0);
}

TEST(Panel, OfSeveralTheWorstRatioStandsForAll) {
    std::vector<Panel> panels{panel_of({4}, {2}), panel_of({1}, {2}), panel_of({3}, {2}), panel_of({1}, {})};
    for (size_t i = 0; i < panels.size(); i++) {
        panels[i].title = std::to_string(i);
        panels[i].rows = {"row"};
        panels[i].columns = {"other", "own"};
    }
    const std::vector<WorstRatio> worst = worst_ratios(panels);
    ASSERT_EQ(worst.size(), 1u);
    EXPECT_EQ(worst[0].row, "row");
    EXPECT_EQ(worst[0].column, "other");
    EXPECT_DOUBLE_EQ(worst[0].factor.median, 0.5);
    EXPECT_EQ(worst[0].panel, "1");
    EXPECT_EQ(worst[0].panels, 3u);
}

TEST(Targets, AreFoundByRowAndColumn) {
    const RatioTarget* target = find_target("IPv4 in-prefix", "rte_fib 2B");
    ASSERT_NE(target, nullptr);
    EXPECT_DOUBLE_EQ(target->factor, 1.9);
    EXPECT_EQ(find_target("IPv4 in-prefix", "rte_lpm"), nullptr);
    ASSERT_NE(find_target(set_targets, "IPv4 hot16", "rte_fib 2B"), nullptr);
    EXPECT_EQ(find_target("IPv4 hot16", "rte_fib 2B"), nullptr);
}

}  // namespace
}  // namespace pktpit::bench::fib
