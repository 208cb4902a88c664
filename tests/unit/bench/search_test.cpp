// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rfc2544/search.h"

#include <gtest/gtest.h>

#include <map>

namespace pktpit::bench::rfc2544 {
namespace {

/// A device that carries `capacity` frames a second and drops the rest.
double loss_at(double load, double capacity) {
    return load > capacity ? (load - capacity) / load : 0;
}

SearchPlan plan_for(double highest) {
    return {.highest = highest, .seconds = {0.25, 1}, .resolution = 0.01};
}

TEST(Search, FindsWhatADeviceCarriesWithinTheResolution) {
    for (const double capacity : {1e3, 3.3e5, 9.9e5}) {
        const auto goals = search({0.0, 0.005}, plan_for(1e6), [&](double load, double seconds) {
            return Trial{load, seconds, loss_at(load, capacity)};
        });
        EXPECT_LE(goals[0].lower, capacity);
        EXPECT_GE(goals[0].lower, capacity * 0.985);
        // A load that loses half a percent is as much above it.
        EXPECT_NEAR(goals[1].lower, capacity / 0.995, capacity * 0.015);
        EXPECT_GE(goals[1].lower, goals[0].lower);
    }
}

TEST(Search, TakesTheHighestLoadIfNothingIsLost) {
    unsigned trials = 0;
    const auto goals = search({0.0, 0.005}, plan_for(1e6), [&](double load, double seconds) {
        trials++;
        return Trial{load, seconds, 0};
    });
    EXPECT_EQ(goals[0].lower, 1e6);
    EXPECT_EQ(goals[1].lower, 1e6);
    EXPECT_LE(trials, 6u);
}

TEST(Search, EndsWhereNothingGetsThrough) {
    const auto goals = search({0.0, 0.005}, plan_for(1e6), [&](double load, double seconds) {
        return Trial{load, seconds, 1};
    });
    EXPECT_EQ(goals[0].lower, 0);
    EXPECT_EQ(goals[1].lower, 0);
}

// Short trials that saw no loss are hints; a bound is what a trial of full length stands for.
TEST(Search, DoesNotBelieveShortTrials) {
    const auto goals = search({0.0}, plan_for(1e6), [&](double load, double seconds) {
        return Trial{load, seconds, loss_at(load, seconds < 1 ? 8e5 : 5e5)};
    });
    EXPECT_LE(goals[0].lower, 5e5);
    EXPECT_GE(goals[0].lower, 4.9e5);
}

TEST(Search, ALoadThatLostIsNoThroughputThoughAHigherOneDidNot) {
    const auto goals = search({0.0}, plan_for(1e6), [&](double load, double seconds) {
        const bool unlucky = load > 4e5 && load < 6e5;
        return Trial{load, seconds, unlucky ? 0.1 : loss_at(load, 8e5)};
    });
    EXPECT_TRUE(goals[0].lower <= 4e5 || goals[0].lower >= 6e5);
}

// What the generator cannot make is neither throughput nor loss.
TEST(Search, TellsTheGeneratorsLimitFromTheDevices) {
    const auto carried = [](double capacity, double generator) {
        return search({0.0}, plan_for(1e6), [=](double load, double seconds) {
            const double offered = std::min(load, generator);
            return Trial{load, seconds, loss_at(offered, capacity), offered, offered >= 0.95 * load};
        })[0];
    };
    const Goal by_generator = carried(8e5, 6e5);
    EXPECT_TRUE(by_generator.generators_limit);
    EXPECT_NEAR(by_generator.lower, 6e5 / 0.95, 1e4);
    const Goal by_device = carried(4e5, 6e5);
    EXPECT_FALSE(by_device.generators_limit);
    EXPECT_NEAR(by_device.lower, 4e5, 5e3);
    EXPECT_FALSE(carried(1e6, 2e6).generators_limit);
}

TEST(Search, SpendsFewFullTrials) {
    std::map<double, unsigned> by_length;
    search({0.0, 0.005}, plan_for(1e6), [&](double load, double seconds) {
        by_length[seconds]++;
        return Trial{load, seconds, loss_at(load, 4.4e5)};
    });
    EXPECT_LE(by_length[1], 14u);
}

}  // namespace
}  // namespace pktpit::bench::rfc2544
