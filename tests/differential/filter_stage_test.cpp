// SPDX-License-Identifier: BSD-3-Clause
// Random FIBs, filters and frames: the eBPF port stage and forward() let the same packets pass, and count the
// same rules.
#include <gtest/gtest.h>

#include <iostream>
#include <optional>

#include "router/filter/filter_memory.h"
#include "tests/differential/random_traffic.h"
#include "tests/differential/router_stage.h"
#include "tests/sanitized.h"
#include "tests/unit/filter/random_filters.h"

namespace pktpit::test {
namespace {

constexpr uint16_t filtered_interfaces = 8;  // all that a random FIB has
constexpr uint32_t filter_count = 4;

/// A filter that the frames of a random FIB meet: of its prefixes, and of what random frames carry.
config::Filter filter_for(const RandomFib& fib, size_t rules, Random& random, Engine& engine) {
    config::Filter filter = random_filter(engine, rules, 64);
    constexpr std::array<uint8_t, 5> carried{1, 6, 17, 58, 132};
    for (config::FilterRule& rule : filter) {
        const bool v6 = random.one_in(2);
        const auto& prefixes = v6 ? fib.prefixes6 : fib.prefixes4;
        const auto net = [&](std::optional<Prefix>& out) {
            out.reset();
            if (random.one_in(2)) out = random.pick(prefixes);
        };
        if (random.one_in(4)) continue;
        net(rule.source);
        net(rule.destination);
        // What belonged to the other family's ICMP.
        rule.icmp_type.reset();
        if (rule.source_port || rule.destination_port || rule.tcp_flags) continue;
        rule.protocol.reset();
        if (random.one_in(2)) rule.protocol = random.pick(carried);
        if ((rule.protocol == 1 && !v6) || (rule.protocol == 58 && v6))
            rule.icmp_type = random.byte() % 4 * 64;
    }
    return filter;
}

router::FilterSet set_for(const RandomFib& fib, size_t rules, Random& random, Engine& engine) {
    std::vector<config::Filter> filters;
    for (uint32_t i = 0; i < filter_count; i++)
        filters.push_back(filter_for(fib, rules, random, engine));
    router::FilterSet set = filter_set_of(config_with(filters));
    // Each interface has one of them, or none.
    set.interfaces.clear();
    for (uint16_t id = 1; id <= filtered_interfaces; id++) {
        const auto one = [&] {
            return random.one_in(3) ? std::string() : "f" + std::to_string(1 + random.below(filter_count));
        };
        set.interfaces.push_back({id, id, one(), one()});
    }
    return set;
}

class FilterStage : public StageTest, public testing::WithParamInterface<size_t> {};

TEST_P(FilterStage, PortStageAndForwardLetTheSamePacketsPass) {
    const size_t rules = GetParam();
    // What five rules say depends on their seed: rounds are not spared, but where each compiles thousands.
    const uint32_t rounds = few_rounds() && rules > 1000 ? 4 : 8;
    const uint32_t frames_per_round = rounds_of(64'000u) / rounds;
    pp_filter_shape shape{};
    shape.nodes.node_bytes = 16 << 20;
    shape.data_offset = shape.nodes.node_bytes;
    shape.data_bytes = 32 << 20;
    shape.half_bytes = shape.data_offset + shape.data_bytes;
    shape.counters = 65536;
    LoadedPortStage stage(fib::plan_geometry(random_capacity()), all_ports, all_ports, {.filters = shape});
    std::cout << stage.program_facts(1) << "\n";
    const uint64_t seed = seed_of_run();

    std::array<uint32_t, PP_VERDICT_COUNT> seen{};
    uint64_t passed_both = 0;
    std::vector<uint64_t> expected(shape.counters), expected_bytes(shape.counters);
    for (uint32_t round = 0; round < rounds; round++) {
        Random random(seed + round);
        Engine engine(seed + round);
        fib::FibImage image(stage.memory(), stage.geometry(), [] {});
        const RandomFib fib = fill_randomly(image, stage.memory().data(), random);
        for (uint32_t i = 0; i < frames_per_round; i++) {
            // Sets change under way.
            if (i % (frames_per_round / 2) == 0) {
                const router::FilterSet set = set_for(fib, rules, random, engine);
                ASSERT_TRUE(router::filters_fit(shape, set));
                router::write_filters(stage.filter_block(), shape, set);
                router::publish_filters(stage.filter_block());
            }
            const RandomFrame frame = random_frame(fib, random);
            const Comparison c = compare(stage, frame.port, frame.bytes);
            ASSERT_EQ(c.difference, "")
                << "seed " << seed << " round " << round << " frame " << i << " port " << frame.port << "\n"
                << hex(frame.bytes);
            seen[c.decision.verdict]++;
            for (const uint32_t counter : {c.decision.filter_in, c.decision.filter_out}) {
                expected.at(counter)++;
                expected_bytes.at(counter) += frame.bytes.size();
            }
            passed_both += c.decision.filter_in != 0 && c.decision.filter_out != 0;
        }
    }
    uint64_t counted = 0;
    for (uint32_t counter = 1; counter < shape.counters; counter++) {
        const pp_filter_counters found = stage.filter_counters(counter);
        ASSERT_EQ(found.packets, expected[counter]) << "counter " << counter;
        ASSERT_EQ(found.bytes, expected_bytes[counter]) << "counter " << counter;
        counted += found.packets != 0 ? 1 : 0;
    }
    // Agreeing is worth something only where it is tried.
    EXPECT_GT(seen[PP_DROP_FILTER], rounds_of(20u));
    EXPECT_GT(seen[PP_HOST_FILTER], rounds_of(20u));
    EXPECT_GT(seen[PP_FORWARDED], rounds_of(500u));
    EXPECT_GT(passed_both, rounds_of(200u));
    EXPECT_GT(counted, rounds_of(std::min<size_t>(rules, 50)));
    std::cout << seen[PP_DROP_FILTER] << " dropped, " << seen[PP_HOST_FILTER] << " to the kernel, "
              << seen[PP_FORWARDED] << " forwarded, " << passed_both << " through two filters, " << counted
              << " rules met\n";
}

INSTANTIATE_TEST_SUITE_P(Rules, FilterStage, testing::Values(5, 60, 500, 5000));

}  // namespace
}  // namespace pktpit::test
