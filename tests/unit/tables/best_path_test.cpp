// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/best_path.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pktpit::fib {
namespace {

/// The rule word by word: each step removes candidates until one is left.
PathCandidate by_elimination(std::vector<PathCandidate> left) {
    const auto keep_lowest = [&](auto value) {
        auto lowest = value(left[0]);
        for (const auto& candidate : left)
            lowest = std::min(lowest, value(candidate));
        std::erase_if(left, [&](const auto& candidate) { return value(candidate) != lowest; });
    };
    keep_lowest([](const auto& c) { return -static_cast<int64_t>(c.local_pref); });
    keep_lowest([](const auto& c) { return c.as_path_length; });
    keep_lowest([](const auto& c) { return c.origin; });
    const auto all = left;
    std::erase_if(left, [&](const auto& candidate) {
        return std::any_of(all.begin(), all.end(), [&](const auto& other) {
            return other.neighbour_as == candidate.neighbour_as && other.med < candidate.med;
        });
    });
    keep_lowest([](const auto& c) { return c.peer; });
    keep_lowest([](const auto& c) { return c.path_id; });
    return left[0];
}

TEST(BestPath, AgreesWithEliminationWhateverTheOrder) {
    std::mt19937 random(1);
    for (int round = 0; round < 20000; round++) {
        std::vector<PathCandidate> candidates(1 + random() % 12);
        for (uint32_t i = 0; i < candidates.size(); i++) {
            // Few values, so that every step has to decide at times; peer and path identifier are unique
            // together.
            candidates[i] = {random() % 8 ? 100u : 200u,
                             1 + static_cast<uint32_t>(random() % 2),
                             static_cast<uint8_t>(random() % 8 == 0),
                             static_cast<uint32_t>(random() % 3),
                             static_cast<uint32_t>(random() % 3),
                             i / 2,
                             i % 2,
                             IpAddress::v4(i)};
        }
        const PathCandidate expected = by_elimination(candidates);
        for (int order = 0; order < 3; order++) {
            std::shuffle(candidates.begin(), candidates.end(), random);
            auto copy = candidates;
            ASSERT_EQ(best_path(copy).next_hop, expected.next_hop);
        }
    }
}

// Comparing MEDs pair by pair would depend on the order here: RFC 4271 section 9.1.2.2 eliminates instead.
TEST(BestPath, MedCountsOnlyWithinANeighbour) {
    std::vector<PathCandidate> candidates = {{100, 1, 0, 7, 20, 0, 0, IpAddress::v4(1)},
                                             {100, 1, 0, 8, 90, 1, 0, IpAddress::v4(2)},
                                             {100, 1, 0, 7, 10, 2, 0, IpAddress::v4(3)}};
    EXPECT_EQ(best_path(candidates).next_hop, IpAddress::v4(2));
}

}  // namespace
}  // namespace pktpit::fib
