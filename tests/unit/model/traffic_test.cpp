// SPDX-License-Identifier: BSD-3-Clause
// Who sends to whom, in which rhythm: what was offered is what was asked for, and all of it is accounted for,
// flow by flow, whatever the matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "offload/model/traffic_pattern.h"
#include "tests/sanitized.h"
#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

/// Nothing vanishes, nothing appears, nothing is left over.
void expect_conserved(const ExperimentResult& result) {
    expect_at_rest(result);
    expect_whole_and_in_order(result);
    uint64_t offered = 0, accepted = 0, delivered = 0;
    for (const FlowCounters& flow : result.flows) {
        offered += flow.offered;
        accepted += flow.accepted;
        delivered += flow.delivered;
        EXPECT_LE(flow.delivered, flow.accepted);
    }
    const NicSums nics(result);
    EXPECT_EQ(offered, result.after_draining.offered);
    EXPECT_EQ(delivered, result.after_draining.delivered);
    EXPECT_EQ(nics.received, offered);
    EXPECT_EQ(accepted, offered - nics.no_slot);
    EXPECT_EQ(nics.sent, delivered);
    EXPECT_EQ(offered, delivered + nics.dropped + result.cpu.tx_full);
    EXPECT_GT(delivered, 0U);
}

/// Every NIC sends to some others, more or less, and may be overloaded as a receiver.
std::vector<Flow> random_matrix(size_t nics, uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Flow> flows;
    for (unsigned from = 0; from < nics; from++) {
        double left = 1;
        for (unsigned to = 0; to < nics; to++) {
            if (random() % 3 == 0) continue;
            const double load = left * static_cast<double>(1 + random() % 50) / 100;
            flows.push_back({from, 0, to, 0, load});
            left -= load;
        }
    }
    return flows;
}

class Matrices : public testing::TestWithParam<std::tuple<Program, Transfer>> {};

TEST_P(Matrices, ConserveEveryFlow) {
    for (const uint64_t seed : {1U, 2U, 3U}) {
        for (const char* name : {"four-nics", "two-nics-acs", "root-ports"}) {
            SCOPED_TRACE(std::string(name) + ", seed " + std::to_string(seed));
            const Topology topology = *Topology::open(name);
            const auto flows = random_matrix(topology.nics(), seed);
            if (flows.empty()) continue;
            ExperimentSettings settings = drained(std::get<0>(GetParam()), flows, 30 * microsecond);
            settings.transfer = std::get<1>(GetParam());
            settings.traffic.size = seed == 1 ? 0 : 64 * static_cast<uint32_t>(seed);
            settings.traffic.poisson = seed == 2;
            settings.traffic.burst = seed == 3 ? 20 : 1;
            expect_conserved(run(topology, settings));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Matrices,
                         testing::Values(std::tuple(Program::l3fwd, Transfer::write),
                                         std::tuple(Program::p2pnic, Transfer::write),
                                         std::tuple(Program::p2pnic, Transfer::read),
                                         std::tuple(Program::p2pnic, Transfer::bounce),
                                         std::tuple(Program::pktpit, Transfer::write),
                                         std::tuple(Program::pktpit, Transfer::bounce)),
                         name_of_case);

TEST(Patterns, AreWhatTheirNamesSay) {
    const Topology four = *Topology::open("four-nics");
    const auto sums = [](const std::vector<Flow>& flows) {
        std::array<double, 4> sent{}, got{};
        for (const Flow& flow : flows) {
            EXPECT_NE(flow.from_nic, flow.to_nic);
            sent.at(flow.from_nic) += flow.load;
            got.at(flow.to_nic) += flow.load;
        }
        return std::pair(sent, got);
    };
    using Loads = std::array<double, 4>;
    const auto expect = [&](const char* name, const Loads& sent, const Loads& got) {
        const auto [out, in] = sums(*pattern_flows(name, four, 1, 0.6));
        for (size_t i = 0; i < 4; i++) {
            EXPECT_NEAR(out.at(i), sent.at(i), 1e-12) << name;
            EXPECT_NEAR(in.at(i), got.at(i), 1e-12) << name;
        }
    };
    expect("one-way", {0.6, 0, 0, 0}, {0, 0.6, 0, 0});
    expect("both-ways", {0.6, 0.6, 0, 0}, {0.6, 0.6, 0, 0});
    expect("ring", {0.6, 0.6, 0.6, 0.6}, {0.6, 0.6, 0.6, 0.6});
    expect("all-to-all", {0.6, 0.6, 0.6, 0.6}, {0.6, 0.6, 0.6, 0.6});
    expect("incast", {0, 0.6, 0.6, 0.6}, {1.8, 0, 0, 0});
    EXPECT_EQ(pattern_flows("all-to-all", four, 1, 1)->size(), 12U);
    EXPECT_EQ(pattern_flows("sideways", four, 1, 1).error().where, "traffic");
    EXPECT_EQ(pattern_flows("ring", four, 9, 1).error().where, "ports");
}

TEST(Patterns, AMatrixIsReadOrRefusedWithItsLine) {
    const Topology four = *Topology::open("four-nics");
    const auto flows = read_matrix("# to\n0 0.5 0.25,0.25\n0 0 0 0\n\n1 0 0 0\n0 0 0 1\n", four, "m");
    ASSERT_TRUE(flows) << flows.error().to_string();
    ASSERT_EQ(flows->size(), 5U);
    EXPECT_EQ((*flows)[1].to_nic, 2U);
    EXPECT_EQ((*flows)[1].load, 0.25);
    EXPECT_EQ((*flows)[4].from_nic, 3U);
    for (const auto& [text, where] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "m"},
             {"0 1 0 0\n", "m"},
             {"0 1 0 0\n0 1\n", "m:2"},
             {"0 1 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n", "m:5"},
             {"0 0.6 0.6 0\n", "m:1"},
             {"0 -1 0 0\n", "m:1"},
             {"0 nan 0 0\n", "m:1"},
             {"0 1x 0 0\n", "m:1"},
             {"0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n", "m"}}) {
        const auto refused = read_matrix(text, four, "m");
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().where, where) << text;
    }
}

// Flows of one port share its wire: a frame never comes faster than line rate, and each gets its share.
TEST(Flows, ShareAWire) {
    const Topology four = *Topology::open("four-nics");
    ExperimentSettings settings = drained(
        Program::p2pnic, {{0, 0, 1, 0, 0.5}, {0, 0, 2, 0, 0.3}, {0, 0, 3, 0, 0.2}}, 500 * microsecond);
    settings.traffic.size = 512;
    const ExperimentResult result = run(four, settings);
    expect_conserved(result);
    const double all = 500e-6 * 40e9 / 8 / (512 + 20);
    EXPECT_NEAR(static_cast<double>(result.flows[0].offered), 0.5 * all, 2);
    EXPECT_NEAR(static_cast<double>(result.flows[1].offered), 0.3 * all, 2);
    EXPECT_NEAR(static_cast<double>(result.flows[2].offered), 0.2 * all, 2);
    settings.traffic.flows[2].load = 0.21;
    const auto refused = run_experiment(four, *Profile::open("generic"), settings);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().where, "load");
}

// Three senders to one port: it leaves at line rate, what is too much is counted, none starves.
TEST(Flows, IncastFillsOnePort) {
    const Topology four = *Topology::open("four-nics");
    ExperimentSettings settings =
        drained(Program::p2pnic, *pattern_flows("incast", four, 1, 0.9), 1000 * microsecond);
    settings.traffic.size = 512;
    settings.warm_up = 500 * microsecond;
    settings.traffic.stop = never;
    settings.drain = false;
    const ExperimentResult result = run(four, settings);
    EXPECT_NEAR(result.packets_per_second / (40e9 / 8 / (512 + 20)), 1, 0.01);
    for (const FlowCounters& flow : result.flows)
        EXPECT_NEAR(static_cast<double>(flow.delivered) * 3 / static_cast<double>(result.traffic.delivered),
                    1, 0.1);
}

// The mean is the load's, and within a burst frames are as near as the wire lets them: the queue in front of
// a slower egress port grows to what a burst of N leaves, N (1 - slow / fast) frames.
TEST(Bursts, HaveTheLoadOnAverageAndAQueueByFormula) {
    Topology topology = *Topology::open("two-nics");
    topology.root_ports[0].below[1].gbps = {20, 20};
    for (const unsigned burst : {1U, 8U, 32U}) {
        ExperimentSettings settings = drained(Program::p2pnic, {{0, 0, 1, 0, 0.25}}, 1000 * microsecond);
        settings.traffic.size = 512;
        settings.traffic.burst = burst;
        const ExperimentResult result = run(topology, settings);
        expect_conserved(result);
        const double frame = (512 + 20) * 8;
        EXPECT_NEAR(static_cast<double>(result.after_draining.offered), 1e-3 * 10e9 / frame,
                    static_cast<double>(burst) + 1);
        settings.traffic.burst = 1;
        const double alone = run(topology, settings).latency_mean_ns;
        // The k-th waits for k times the difference of the two ports' times.
        EXPECT_NEAR(result.latency_mean_ns - alone, (burst - 1) / 2.0 * (frame / 20 - frame / 40), 8)
            << burst;
    }
}

std::vector<std::byte> udp(uint8_t host, uint16_t port) {
    std::vector<std::byte> frame(60);
    frame[12] = std::byte{8};
    frame[14] = std::byte{0x45};
    frame[23] = std::byte{17};
    frame[33] = std::byte{host};
    frame[35] = static_cast<std::byte>(port);
    return frame;
}

TEST(Recordings, KeepTimesSizesAndConversations) {
    Recording recording;
    const Time t = 5 * second;
    recording.add(t, udp(1, 1), 60);
    recording.add(t + 2000, udp(1, 2), 1514);
    recording.add(t + 1000, udp(1, 1), 9000);                // the clock went back; too long
    recording.add(t + 9000, std::vector<std::byte>(3), 10);  // too short, cut off
    const auto& frames = recording.frames();
    ASSERT_EQ(frames.size(), 4U);
    EXPECT_EQ(frames[0].at, 0U);
    EXPECT_EQ(frames[0].size, 64U);
    EXPECT_EQ(frames[1].at, 2000U);
    EXPECT_EQ(frames[1].size, 1518U);
    EXPECT_EQ(frames[2].at, 2000U);
    EXPECT_EQ(frames[2].size, largest_frame);
    EXPECT_EQ(frames[3].size, 64U);
    EXPECT_EQ(recording.resized(), 2U);
    EXPECT_EQ(frames[0].flow, frames[2].flow);
    EXPECT_NE(frames[0].flow, frames[1].flow);
    EXPECT_EQ(frames[0].destination, 1U);
    EXPECT_FALSE(frames[3].destination.has_value());
    EXPECT_EQ(recording.span(), 9000 + 9000 / 3U);
}

TEST(Recordings, AreSentAtTheirTimesOverAndOver) {
    auto recording = std::make_shared<Recording>();
    for (Time i = 0; i < 10; i++)
        recording->add(i * 300 * nanosecond, udp(1, static_cast<uint16_t>(i)), i % 2 ? 1000 : 100);
    ExperimentSettings settings = drained(Program::p2pnic, {{0, 0, 1, 0, 1}});
    settings.traffic.recording = recording;
    const ExperimentResult result = run("two-nics", settings);
    expect_conserved(result);
    // The first may come up to 10 ns late.
    EXPECT_NEAR(static_cast<double>(result.after_draining.delivered), 100e-6 / 300e-9, 1);
    EXPECT_EQ(result.after_draining.delivered_bytes,
              (result.after_draining.delivered + 1) / 2 * 104 + result.after_draining.delivered / 2 * 1004);
    settings.traffic.recording_speed = 2;
    EXPECT_NEAR(static_cast<double>(run("two-nics", settings).after_draining.delivered), 100e-6 / 150e-9, 1);
    // Faster than the wire: it is full, and nothing comes twice.
    settings.traffic.recording_speed = 1000;
    const ExperimentResult full = run("two-nics", settings);
    expect_conserved(full);
    EXPECT_NEAR(
        static_cast<double>(full.after_draining.offered) * ((104 + 1004) / 2.0 + 20) * 8 / 100e-6 / 40e9, 1,
        0.02);
}

// Two tiers of switches, every NIC to every other.
TEST(SixtyFourNics, AllToAll) {
    const Topology topology = *Topology::open("sixty-four-nics");
    ASSERT_EQ(topology.nics(), 64U);
    for (const Program program : {Program::p2pnic, Program::pktpit}) {
        ExperimentSettings settings = drained(program, *pattern_flows("all-to-all", topology, 1, 0.2),
                                              pktpit::test::rounds_of(24) * microsecond);
        settings.traffic.size = 512;
        const Profile profile = with("gen4", {{"cpu.cores", 4}});
        const ExperimentResult first = run(topology, settings, profile);
        expect_conserved(first);
        EXPECT_EQ(first.flows.size(), 64 * 63U);
        const ExperimentResult again = run(topology, settings, profile);
        EXPECT_EQ(first.events, again.events);
        EXPECT_EQ(first.latency_p99_ns, again.latency_p99_ns);
    }
}

}  // namespace
}  // namespace pktpit::model
