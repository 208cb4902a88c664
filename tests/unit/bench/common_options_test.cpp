// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/common_options.h"

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>

namespace pktpit::bench::harness {
namespace {

using testing::ElementsAre;

/// What bench_wire and bench_cpu have in common.
struct Options : CommonOptions, RoundOptions {
    std::vector<Family> families{Family::ipv4, Family::ipv6};
    std::vector<Cores> cores;
    std::vector<Traffic> traffic{Traffic::uniform};
    std::vector<size_t> routes{16384};
    std::vector<std::string> forwarders{"pktpit"};
};

Parsed<Options> parse(const std::vector<std::string>& words) {
    Options options;
    CLI::App app("a benchmark");
    add_families(app, "--families", options.families);
    add_cores(app, options.cores, "where");
    add_traffic(app, options.traffic);
    add_routes(app, options.routes, "of each family");
    add_forwarders(app, options.forwarders, {"pktpit", "kernel"});
    add_round_options(app, options, "row", "ms");
    add_data(app, options);
    add_quick(app, options);
    if (const auto exit_code = parse_arguments(app, words)) return *exit_code;
    if (options.quick) options.shorten();
    return options;
}

Options parsed(const std::vector<std::string>& words) {
    return std::get<Options>(parse(words));
}

TEST(CommonOptions, what_is_not_named_stays_as_it_was_preset) {
    const Options options = parsed({});
    EXPECT_THAT(options.families, ElementsAre(Family::ipv4, Family::ipv6));
    EXPECT_TRUE(options.cores.empty());
    EXPECT_THAT(options.traffic, ElementsAre(Traffic::uniform));
    EXPECT_EQ(options.rounds, 7u);
    EXPECT_EQ(options.timing.window, std::chrono::milliseconds(400));
    EXPECT_EQ(options.timing.warm_up, std::chrono::milliseconds(100));
    EXPECT_EQ(options.data, "");
}

TEST(CommonOptions, what_is_named_comes_instead) {
    const Options options = parsed({"--families", "6", "--cores", "one-core,free-receive", "--traffic",
                                    "zipf,one", "--routes", "0,64", "--forwarders", "kernel", "--rounds", "3",
                                    "--window", "40", "--warm-up", "0", "--data", "/tables"});
    EXPECT_THAT(options.families, ElementsAre(Family::ipv6));
    EXPECT_THAT(options.cores, ElementsAre(Cores::one_core, Cores::free_receive));
    EXPECT_THAT(options.traffic, ElementsAre(Traffic::zipf, Traffic::one_flow));
    EXPECT_THAT(options.routes, ElementsAre(0u, 64u));
    EXPECT_THAT(options.forwarders, ElementsAre("kernel"));
    EXPECT_EQ(options.rounds, 3u);
    EXPECT_EQ(options.timing.window, std::chrono::milliseconds(40));
    EXPECT_EQ(options.timing.warm_up, std::chrono::milliseconds(0));
    EXPECT_EQ(options.data, "/tables");
}

TEST(CommonOptions, quick_is_short_and_keeps_the_batch) {
    const Options options = parsed({"--quick", "--families", "4"});
    EXPECT_EQ(options.rounds, 5u);
    EXPECT_EQ(options.timing.window, std::chrono::milliseconds(100));
    EXPECT_EQ(options.timing.warm_up, std::chrono::milliseconds(50));
    EXPECT_EQ(options.timing.batch, 64u);
}

TEST(CommonOptions, help_ends_the_process_well_and_anything_wrong_does_not) {
    EXPECT_EQ(std::get<int>(parse({"--help"})), 0);
    for (const auto& words : std::vector<std::vector<std::string>>{{"--families", "5"},
                                                                   {"--cores", "no-io"},
                                                                   {"--traffic", "some"},
                                                                   {"--forwarders", "other"},
                                                                   {"--rounds", "0"},
                                                                   {"--window", "19"},
                                                                   {"--unknown"}})
        EXPECT_NE(std::get<int>(parse(words)), 0) << words.front();
}

}  // namespace
}  // namespace pktpit::bench::harness
