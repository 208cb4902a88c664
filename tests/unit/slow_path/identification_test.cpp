// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/identification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "tests/sanitized.h"

namespace pktpit::router::test {
namespace {

std::vector<uint16_t> of(uint64_t secret, size_t count) {
    Identifications identifications(secret);
    std::vector<uint16_t> values(count);
    std::ranges::generate(values, [&] { return identifications.next(); });
    return values;
}

TEST(Identifications, none_comes_twice_among_all) {
    for (uint64_t secret = 0; secret < pktpit::test::rounds_of(uint64_t{20}); secret++) {
        const auto values = of(secret, 2 * 65536);
        for (const auto* from : {values.data(), values.data() + 65536})
            EXPECT_EQ(std::set<uint16_t>(from, from + 65536).size(), 65536U) << secret;
    }
}

TEST(Identifications, the_distance_of_two_says_nothing) {
    const auto values = of(7, 65536);
    std::vector<unsigned> distances(65536);
    for (size_t i = 1; i < values.size(); i++)
        distances[static_cast<uint16_t>(values[i] - values[i - 1])]++;
    // A counter has one distance, 65,535 times; at random the commonest comes some ten times.
    EXPECT_LT(*std::ranges::max_element(distances), 20U);
}

TEST(Identifications, each_secret_and_each_cycle_has_its_own_order) {
    const auto one = of(1, 2 * 65536);
    const auto other = of(2, 65536);
    size_t same = 0, again = 0;
    for (size_t i = 0; i < 65536; i++) {
        same += one[i] == other[i];
        again += one[i] == one[i + 65536];
    }
    EXPECT_LT(same, 20U);
    EXPECT_LT(again, 20U);
}

}  // namespace
}  // namespace pktpit::router::test
