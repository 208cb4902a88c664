// SPDX-License-Identifier: BSD-3-Clause
// Compiled filters against the naive answer: random rules and packets that often meet them.
#include <gtest/gtest.h>

#include "tests/sanitized.h"
#include "tests/unit/filter/random_filters.h"

namespace pktpit::test {
namespace {

uint32_t expected_word(const config::Filter& filter, const FilteredPacket& packet, uint32_t first_counter) {
    const size_t rule = first_of(filter, packet);
    uint32_t action = PP_FILTER_ACCEPT;
    if (rule < filter.size() && filter[rule].action == config::FilterAction::drop) action = PP_FILTER_DROP;
    if (rule < filter.size() && filter[rule].action == config::FilterAction::to_kernel)
        action = PP_FILTER_TO_KERNEL;
    return action | (first_counter + static_cast<uint32_t>(rule)) << 8;
}

/// How many packets met a rule.
size_t expect_naive_answers(const std::vector<config::Filter>& filters, const HeapFilters& compiled,
                            Engine& engine, size_t packets) {
    size_t matched = 0;
    for (size_t i = 0; i < packets; i++) {
        const size_t number = engine() % filters.size();
        const config::Filter& filter = filters[number];
        const FilteredPacket packet = random_packet(engine, filter);
        const std::string name = "f" + std::to_string(number + 1);
        const uint32_t expected = expected_word(filter, packet, compiled.set().first_counter.at(name));
        const uint32_t found = compiled.rule_of(static_cast<uint16_t>(number + 1), engine() % 2 == 0, packet);
        EXPECT_EQ(found, expected) << "packet " << i << " from " << packet.source.to_string() << " to "
                                   << packet.destination.to_string() << " protocol " << int{packet.protocol};
        if (found != expected) break;
        matched += first_of(filter, packet) < filter.size() ? 1 : 0;
    }
    return matched;
}

/// Rules of a filter, and how many prefixes and ports there are.
using Size = std::pair<size_t, uint32_t>;
class FilterOracle : public testing::TestWithParam<Size> {};

TEST_P(FilterOracle, TheFirstRuleThatMatchesDecides) {
    const auto [rules, variety] = GetParam();
    const uint64_t seed = seed_of_run();
    const size_t rounds = rules > 1000 ? 1 : pktpit::test::rounds_of(20U);
    const size_t packets = pktpit::test::rounds_of(4000U);
    size_t matched = 0;
    for (size_t round = 0; round < rounds; round++) {
        Engine engine(seed + round);
        std::vector<config::Filter> filters;
        for (int i = 0; i < 3; i++)
            filters.push_back(random_filter(engine, rules, variety));
        const HeapFilters compiled(config_with(filters));
        matched += expect_naive_answers(filters, compiled, engine, packets);
        if (HasFailure()) return;
    }
    if (rules != 0) {
        EXPECT_GT(matched, rounds * packets / 4) << "too few packets meet a rule";
    }
}

// Around a word of 64 rules, a second one, and an aggregate of 4,096; few prefixes and many.
INSTANTIATE_TEST_SUITE_P(Sizes, FilterOracle,
                         testing::Values(Size{0, 1}, Size{1, 1}, Size{10, 8}, Size{63, 8}, Size{64, 30},
                                         Size{65, 30}, Size{129, 500}, Size{1000, 40}, Size{4097, 20000},
                                         Size{10000, 200}));

TEST(FilterOracleLimits, AsManyRulesAsThereMayBe) {
    Engine engine(1);
    const std::vector<config::Filter> filters{random_filter(engine, config::most_filter_rules, 3000)};
    const HeapFilters compiled(config_with(filters));
    EXPECT_GT(expect_naive_answers(filters, compiled, engine, pktpit::test::rounds_of(2000)),
              pktpit::test::rounds_of(500u));
}

}  // namespace
}  // namespace pktpit::test
