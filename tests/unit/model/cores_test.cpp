// SPDX-License-Identifier: BSD-3-Clause
// Cores that are cores: RSS spreads conversations over queues, each core polls its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "offload/model/rss.h"
#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

std::array<std::byte, 12> tuple(std::array<uint8_t, 4> from, uint16_t from_port, std::array<uint8_t, 4> to,
                                uint16_t to_port) {
    std::array<std::byte, 12> bytes{};
    for (size_t i = 0; i < 4; i++) {
        bytes[i] = std::byte{from[i]};
        bytes[4 + i] = std::byte{to[i]};
    }
    for (const auto& [at, port] : {std::pair(8, from_port), {10, to_port}}) {
        bytes[static_cast<size_t>(at)] = static_cast<std::byte>(port >> 8);
        bytes[static_cast<size_t>(at) + 1] = static_cast<std::byte>(port);
    }
    return bytes;
}

// The verification suite of Microsoft's definition.
TEST(Rss, IsToeplitz) {
    const auto first = tuple({66, 9, 149, 187}, 2794, {161, 142, 100, 80}, 1766);
    EXPECT_EQ(toeplitz(first), 0x51ccc178U);
    EXPECT_EQ(toeplitz(std::span(first).first(8)), 0x323e8fc2U);
    const auto second = tuple({199, 92, 111, 2}, 14230, {65, 69, 140, 83}, 4739);
    EXPECT_EQ(toeplitz(second), 0xc626b0eaU);
    EXPECT_EQ(toeplitz(std::span(second).first(8)), 0xd718262aU);
}

TEST(Rss, LooksAtPortsOfWholePacketsAlone) {
    std::vector<std::byte> frame(64);
    frame[12] = std::byte{8};
    frame[14] = std::byte{0x45};
    frame[23] = std::byte{17};
    std::array<bool, 8> seen{};
    for (unsigned port = 0; port < 256; port++) {
        frame[35] = static_cast<std::byte>(port);
        seen.at(rss_queue(frame, 8)) = true;
    }
    EXPECT_EQ(std::ranges::count(seen, true), 8);
    frame[20] = std::byte{0x20};  // more fragments
    const uint32_t fragments = rss_queue(frame, 8);
    for (unsigned port = 0; port < 256; port++) {
        frame[35] = static_cast<std::byte>(port);
        EXPECT_EQ(rss_queue(frame, 8), fragments);
    }
    EXPECT_EQ(rss_queue(std::span(frame).first(20), 8), 0U);
    frame[12] = std::byte{0x86};
    EXPECT_EQ(rss_queue(frame, 8), 0U);
}

ExperimentSettings settings_of(Program program, double load, uint32_t size) {
    ExperimentSettings settings;
    settings.program = program;
    settings.traffic.size = size;
    settings.traffic.flows = {{0, 0, 1, 0, load}};
    settings.warm_up = 300 * microsecond;
    settings.duration = 300 * microsecond;
    return settings;
}

class Cores : public testing::TestWithParam<Program> {};

// Nothing but the CPU holds them up: n cores take n bursts in the time of one.
TEST_P(Cores, ForwardInProportion) {
    constexpr double packet = 800, burst = 60;
    for (const unsigned cores : {1U, 2U, 5U, 8U}) {
        const Profile profile = with("gen5", {{"cpu.cores", cores},
                                              {"cpu.packet_ns", packet},
                                              {"cpu.slice_packet_ns", packet},
                                              {"cpu.burst_ns", burst}});
        ExperimentSettings settings = settings_of(GetParam(), 1, 128);
        settings.duration = 1000 * microsecond;  // 40 bursts: one more or less is 2.5 %
        const ExperimentResult result = run("gen4-100g", settings, profile);
        const double most = cores * 1e9 / (packet + burst / 32);
        // Packet memory is one for all queues: what waits for the busiest of them leaves less to the others.
        EXPECT_LT(result.packets_per_second, most * 1.03) << cores;
        EXPECT_GT(result.packets_per_second, most * 0.85) << cores;
        EXPECT_GT(result.busiest_core, 0.97) << cores;
        EXPECT_EQ(result.traffic.reordered, 0U) << cores;
        EXPECT_EQ(result.traffic.damaged, 0U) << cores;
    }
}

// Cores that have time take smaller bursts and ring more doorbells: what dividing the CPU's times would not
// show.
TEST_P(Cores, WithTimeTakeSmallerBursts) {
    double last = 0;
    for (const unsigned cores : {1U, 4U, 16U}) {
        const ExperimentResult result =
            run("gen4-100g", settings_of(GetParam(), 0.15, 64), with("gen5", {{"cpu.cores", cores}}));
        EXPECT_NEAR(result.packets_per_second / 148.8e6, 0.15, 0.002) << cores;
        const double doorbells =
            static_cast<double>(result.cpu.doorbells) / static_cast<double>(result.cpu.packets);
        EXPECT_GT(doorbells, last) << cores;
        last = doorbells;
    }
}

TEST_P(Cores, LoseNothingAtModestLoadBothWays) {
    for (const char* name : {"two-nics", "root-ports", "two-nics-acs"}) {
        ExperimentSettings settings = drained(GetParam(), both_ways(0.05));
        settings.traffic.size = 0;
        settings.traffic.poisson = true;
        settings.duration = 300 * microsecond;
        const ExperimentResult result = run(name, settings, with("generic", {{"cpu.cores", 3}}));
        expect_at_rest(result);
        EXPECT_GT(result.after_draining.delivered, 100U);
        EXPECT_EQ(result.after_draining.delivered, result.after_draining.offered);
        EXPECT_EQ(result.after_draining.reordered, 0U) << "of a conversation";
        EXPECT_EQ(result.after_draining.doubled, 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(Both, Cores, testing::Values(Program::l3fwd, Program::pktpit), name_of_parameter);

TEST(Cores, OneConversationIsOneCores) {
    ExperimentSettings settings = settings_of(Program::l3fwd, 1, 128);
    settings.traffic.conversations = 1;
    const auto rate = [&](double cores) {
        const Profile profile = with("generic", {{"cpu.packet_ns", 800}, {"cpu.cores", cores}});
        return run("two-nics", settings, profile).packets_per_second;
    };
    EXPECT_NEAR(rate(8) / rate((*Profile::open("generic")).value("cpu.cores")), 1, 0.01);
}

TEST(Cores, MoreThanMemoryHoldsAreRefused) {
    const ExperimentSettings settings = settings_of(Program::l3fwd, 1, 128);
    Topology topology = *Topology::open("four-nics");
    std::vector<TopologyDevice>& below = topology.root_ports[0].below;
    for (const char* name : {"nic4", "nic5", "nic6", "nic7"})
        below.emplace_back(below.front()).name = name;
    const auto refused = run_experiment(topology, with("generic", {{"cpu.cores", 64}}), settings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "cpu.cores");
}

}  // namespace
}  // namespace pktpit::model
