// SPDX-License-Identifier: BSD-3-Clause
// What a line of `pktpit model check` says of itself is so: constants are changed, and lines move, or do not,
// as their label says.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "offload/model/check_programs.h"
#include "offload/model/result_json.h"

namespace pktpit::model {
namespace {

using Changes = std::vector<std::pair<std::string, double>>;

CheckReport report_of(std::vector<unsigned> rows, const Changes& changes = {}) {
    auto report = run_check(rows, {"", changes}, {});
    EXPECT_TRUE(report) << report.error().to_string();
    return std::move(*report);
}

const CheckLine& line_of(const CheckReport& report, const std::string& part) {
    for (const CheckLine& line : report.lines)
        if (line.what.find(part) != std::string::npos && line.value) return line;
    ADD_FAILURE() << "no line with a value says " << part;
    static const CheckLine none{};
    return none;
}

/// Without what is said of a line whose completion rule is not the profile's.
std::string name_of(const CheckLine& line) {
    const size_t at = line.what.find("P2P less bounce");
    return at == std::string::npos ? line.what : line.what.substr(at);
}

double value_of(const CheckReport& report, const std::string& part) {
    return line_of(report, part).value.value_or(NAN);
}

/// Every constant that is a time or a size of a buffer, all at once.
const Changes much = {{"root.latency_ns", 400},
                      {"switch.latency_ns", 300},
                      {"memory.read_latency_ns", 200},
                      {"memory.write_latency_ns", 120},
                      {"device.read_latency_ns", 500},
                      {"link.propagation_ns", 20},
                      {"link.credit_latency_ns", 20},
                      {"nic.receive_latency_ns", 600},
                      {"nic.ingress_ns", 900},
                      {"cpu.packet_ns", 70},
                      {"cpu.slice_packet_ns", 45},
                      {"cpu.poll_ns", 90},
                      {"memory.read_gbytes", 90},
                      {"memory.write_gbytes", 90},
                      {"memory.write_by_write_load", 0.5},
                      {"dma.tags", 200},
                      {"nic.operation_ns", 5},
                      {"completion.at_boundary", 0}};

TEST(Labels, NoConstantMovesWhatIsExact) {
    const std::vector<unsigned> rows{2, 4, 8};
    const CheckReport before = report_of(rows), after = report_of(rows, much);
    size_t exact = 0, moved = 0;
    for (const CheckLine& line : before.lines) {
        if (!line.value) continue;
        const auto same = std::ranges::find_if(after.lines, [&](const CheckLine& other) {
            return other.row == line.row && other.value && name_of(other) == name_of(line);
        });
        ASSERT_NE(same, after.lines.end()) << line.what;
        const double apart = std::abs(*same->value - *line.value);
        if (line.origin == Origin::exact) {
            exact++;
            EXPECT_EQ(same->origin, Origin::exact) << line.what;
            EXPECT_LE(apart, line.tolerance ? line.tolerance->value : 0) << line.what;
        } else {
            moved += apart > 0;
        }
    }
    EXPECT_GE(exact, 18U);
    EXPECT_GE(moved, 3U) << "the changes change nothing: the test shows nothing";
}

TEST(Labels, WhatWasPutInComesOutAgainAndNothingElseMovesIt) {
    const CheckReport other = report_of({4, 7}, {{"root.latency_ns", 900}, {"memory.read_latency_ns", 300}});
    const CheckReport plain = report_of({4, 7});
    for (const CheckLine& line : plain.lines) {
        if (line.origin != Origin::put_in || !line.value) continue;
        EXPECT_FALSE(line.follows_from.empty()) << line.what;
        EXPECT_NEAR(value_of(other, line.what), *line.value, 1) << line.what;
    }
    // Four hops more are five chips of which one is there already, and each is passed by one link more.
    const double chips = 132 + 170 + 132 + 150;
    EXPECT_NEAR(value_of(plain, "added one way"), chips, 0.5);
    const CheckReport slow = report_of({7}, {{"link.propagation_ns", 10}});
    EXPECT_NEAR(value_of(slow, "added one way"), chips + 4 * 10, 0.5);
    EXPECT_NEAR(value_of(slow, "over 3 chips"), 2 * (132 + 132 + 2 * 10), 0.5);
    // Transmit is unaffected because a constant is 0. If it is 0.95, a GB/s is left of the 20, and a packet
    // and its descriptor are five lines.
    const CheckReport loaded = report_of({4}, {{"memory.read_by_write_load", 0.95}});
    const CheckLine& transmit = line_of(loaded, "transmit");
    EXPECT_EQ(transmit.origin, Origin::put_in);
    EXPECT_EQ(transmit.verdict, Verdict::unmet);
    const double idle = 19.45e6, left = 1e9 / (5 * 64);
    EXPECT_NEAR(*transmit.value, (left / idle - 1) * 100, 0.5);
}

TEST(Labels, ItsConstantMovesWhatIsCalibrated) {
    const CheckReport row4 = report_of({4}, {{"memory.write_by_write_load", 0.5}});
    // 10 GB/s are left: more than the link's 6.6.
    EXPECT_NEAR(value_of(row4, "DMA write to main memory"), 0, 0.5);
    EXPECT_EQ(line_of(row4, "DMA write to main memory").verdict, Verdict::unmet);
    const CheckReport row7 = report_of({7}, {{"device.read_latency_ns", 964}});
    EXPECT_LT(value_of(row7, "K40c reads its peer"), 10.2 * 0.75);
    const CheckReport row5 = report_of({5}, {{"nic.ingress_ns", 2675.2}, {"cpu.packet_ns", 50}});
    EXPECT_NEAR(value_of(row5, "P2PNIC at 64 B"), 54 / 2.6752, 0.2);
    EXPECT_NEAR(value_of(row5, "against the CPU-driven forwarder"), 54 / 2.6752 * (0.050 + 0.060 / 32), 0.02);
}

TEST(Labels, WhatEmergesMovesAsPhysicsSays) {
    // A line that is written in part costs what it is said to cost: 3 of them take 1.5 times as long as 2.
    const double two = value_of(report_of({4}), "packets to the peer");
    const double three = value_of(report_of({4}, {{"memory.partial_line_cost", 3}}), "packets to the peer");
    EXPECT_NEAR((100 + three) / (100 + two), 2.0 / 3, 0.01);
    // P2PNIC does not pass the root complex: a slower one makes it gain, and l3fwd's latency grow.
    const CheckReport row5 = report_of({5}), slower = report_of({5}, {{"root.latency_ns", 300}});
    EXPECT_GT(value_of(slower, "P2PNIC less than l3fwd"), value_of(row5, "P2PNIC less than l3fwd") + 5);
    // With completions of MPS reads cost a header for 256 bytes instead of four: write's lead goes.
    const CheckReport large = report_of({5}, {{"completion.at_boundary", 0}});
    for (const char* size : {"2 → 2 ports, 256 B: write", "2 → 2 ports, 512 B: write",
                             "2 → 2 ports, 1024 B: write", "2 → 2 ports, 1518 B: write"}) {
        EXPECT_EQ(line_of(row5, size).verdict, Verdict::holds) << size;
        EXPECT_EQ(line_of(large, size).verdict, Verdict::unmet) << size;
        EXPECT_EQ(line_of(row5, size).origin, Origin::emergent) << size;
    }
    // All of a port's line rate, or all of a calibrated firmware: that is no lead.
    for (const char* size : {"1 → 1 ports, 64 B: write", "1 → 1 ports, 512 B: write"})
        EXPECT_EQ(line_of(row5, size).verdict, Verdict::tie) << size;
    EXPECT_EQ(line_of(row5, "1 → 1 ports, 64 B: write").origin, Origin::calibrated);
    EXPECT_EQ(line_of(row5, "1 → 1 ports, 512 B: write").origin, Origin::exact);
}

TEST(Labels, ALineThatAnUnknownConstantTurnsSaysSo) {
    const CheckReport row4 = report_of({4});
    EXPECT_EQ(line_of(row4, "packets to the peer").verdict, Verdict::depends);
    EXPECT_EQ(line_of(report_of({4}, {{"memory.partial_line_cost", 1}}), "packets to the peer").verdict,
              Verdict::unmet);
    EXPECT_EQ(turn_sign({{"a", 1, 2}, {"b", -1, 2}, {"c", 3, -4}}, 1), "b, c");
    EXPECT_EQ(turn_sign({{"a", 1, 2}}, 1), "");
}

TEST(Labels, ALeadBelowTheToleranceIsATie) {
    constexpr Tolerance half{0.5, "%"};
    EXPECT_EQ(ahead(100.6, 100, half), Verdict::holds);
    EXPECT_EQ(ahead(100.4, 100, half), Verdict::tie);
    EXPECT_EQ(ahead(99.6, 100, half), Verdict::tie);
    EXPECT_EQ(ahead(99.4, 100, half), Verdict::unmet);
    const Limit line{Origin::exact, "line rate"}, cpu{Origin::calibrated, "cpu.packet_ns"},
        slice{Origin::put_in, "cpu.slice_packet_ns"};
    EXPECT_EQ(limit_of_all({line, line}).origin, Origin::exact);
    EXPECT_EQ(limit_of_all({line, line}).name, "line rate");
    EXPECT_EQ(limit_of_all({line, cpu}).origin, Origin::calibrated);
    EXPECT_EQ(limit_of_all({cpu, slice}).origin, Origin::put_in);
    EXPECT_EQ(limit_of_all({slice, cpu}).origin, Origin::put_in);
    EXPECT_EQ(limit_of_all({slice, cpu}).name, "cpu.slice_packet_ns, cpu.packet_ns");
    EXPECT_EQ(limit_of_all({line, {}}).origin, Origin::emergent);
}

TEST(Labels, ABandMeetsOnlyWhatLiesInIt) {
    EXPECT_EQ(within(34, 36, 5, {0, 0}), Verdict::holds);
    EXPECT_EQ(within(12, 36, 5, {12, 40}), Verdict::in_band);
    EXPECT_EQ(within(12, 36, 5, {12, 35}), Verdict::unmet);
    EXPECT_EQ(within(50, 36, 5, {40, 60}), Verdict::unmet);
}

// One core each: the ratio is that of two CPU times that were put in, and the line says so.
TEST(Labels, ARatioOfTwoTimesThatWerePutInIsPutIn) {
    const Profile gen5 = own_profile("gen5");
    const Topology topology = own_topology("gen5-400g");
    std::vector<Limit> limits;
    std::vector<double> rates;
    for (const Contender& contender : {l3fwd_contender, pktpit_contender}) {
        const ExperimentResult result = run_checked(topology, gen5, settings_for(contender, 64, 1, 1));
        limits.push_back(limit_of(result, gen5, contender.program));
        rates.push_back(mpps(result));
    }
    EXPECT_EQ(limit_of_all(limits).origin, Origin::put_in);
    EXPECT_EQ(limit_of_all(limits).name, "cpu.packet_ns, cpu.slice_packet_ns");
    const double burst = gen5.value("cpu.burst_ns") / 32;
    EXPECT_NEAR(rates[1] / rates[0],
                (gen5.value("cpu.packet_ns") + burst) / (gen5.value("cpu.slice_packet_ns") + burst), 0.02);
}

TEST(Labels, JsonHasThemAll) {
    const nlohmann::json json = to_json(report_of({4, 7}));
    for (const nlohmann::json& line : json.at("lines")) {
        const std::string what = line.at("what"), origin = line.at("origin"), verdict = line.at("verdict");
        EXPECT_TRUE(origin == "exact" || origin == "put in" || origin == "calibrated" ||
                    origin == "emergent");
        if (origin == "put in" || origin == "calibrated") {
            EXPECT_FALSE(line.at("follows_from").get<std::string>().empty()) << what;
        }
        if (verdict == "information" || !line.contains("value")) continue;
        EXPECT_GT(line.at("tolerance").at("value").get<double>(), 0) << what;
        EXPECT_FALSE(line.at("tolerance").at("unit").get<std::string>().empty()) << what;
    }
}

TEST(Labels, AConstantThatCannotBeIsRefused) {
    const std::vector<unsigned> rows{7};
    EXPECT_FALSE(run_check(rows, {"", {{"no.such", 1}}}, {}));
    EXPECT_FALSE(run_check(rows, {"", {{"cpu.cores", 65}}}, {}));
}

}  // namespace
}  // namespace pktpit::model
