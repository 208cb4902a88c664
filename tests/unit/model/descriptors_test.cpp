// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that are written several at once: lines that a NIC fills before it writes them back, and what
// firmware gathers while the link is busy.
#include <gtest/gtest.h>

#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

ExperimentSettings one_way(Program program, Transfer transfer, double load, uint32_t size, uint64_t packets) {
    ExperimentSettings settings = drained(program, {{0, 0, 1, 0, load}}, 1000 * microsecond);
    settings.transfer = transfer;
    settings.traffic.size = size;
    settings.traffic.most = packets;
    settings.traffic.stop = never;
    return settings;
}

ExperimentResult run(const Profile& profile, const ExperimentSettings& settings) {
    ExperimentResult result = run("two-nics", settings, profile);
    expect_at_rest(result);
    // Read: a slot is free when the credit has come back, and credits come in batches.
    EXPECT_LT(result.slots_lost, settings.transfer == Transfer::read ? profile.count("nic.credit_batch") : 1);
    expect_whole_and_in_order(result);
    return result;
}

uint64_t writes(const ExperimentResult& result, const char* from, const char* to) {
    return result.link(from, to)->counters.tlps[static_cast<size_t>(TlpType::memory_write)];
}
uint64_t written_bytes(const ExperimentResult& result, const char* from, const char* to) {
    return result.link(from, to)->counters.payload_bytes[static_cast<size_t>(TlpType::memory_write)];
}

// A frame of 64 B at 1/40 of 40 GbE comes each 672 ns. The k-th of a line of n waits for n - 1 - k others.
TEST(WriteBack, AFrameWaitsForItsLine) {
    constexpr double frame_interval = 84 * 8 / 40.0 * 40;
    const double alone =
        run(with("kakenhi", {}), one_way(Program::l3fwd, Transfer::write, 1.0 / 40, 64, 512)).latency_mean_ns;
    for (const unsigned line : {2U, 4U, 8U}) {
        const ExperimentResult result = run(with("kakenhi", {{"nic.writeback_batch", line}}),
                                            one_way(Program::l3fwd, Transfer::write, 1.0 / 40, 64, 512));
        // A burst's part of the CPU's time is shared by what it has: a few nanoseconds.
        EXPECT_NEAR(result.latency_mean_ns - alone, frame_interval * (line - 1) / 2,
                    0.1 * frame_interval * line)
            << line;
        // Each frame is a TLP, and each line of descriptors.
        EXPECT_EQ(writes(result, "nic0", "switch"), 512 + 512 / line) << line;
        EXPECT_EQ(written_bytes(result, "nic0", "switch"), 512 * (64 + 16)) << line;
    }
}

// Three frames and no fourth: the timer.
TEST(WriteBack, NoLongerThanItMay) {
    const ExperimentResult result =
        run(with("kakenhi", {{"nic.writeback_batch", 4}, {"nic.writeback_wait_ns", 5000}}),
            one_way(Program::l3fwd, Transfer::write, 1.0 / 40, 64, 3));
    EXPECT_EQ(result.after_draining.delivered, 3U);
    EXPECT_EQ(writes(result, "nic0", "switch"), 3 + 1U);
    const ExperimentResult alone =
        run(with("kakenhi", {}), one_way(Program::l3fwd, Transfer::write, 1.0 / 40, 64, 1));
    // The first waits for 5 us, the last for 5 us less two intervals.
    EXPECT_NEAR(result.latency_mean_ns - alone.latency_mean_ns, 5000 - 672, 100);
}

class Gathering : public testing::TestWithParam<std::tuple<Program, Transfer>> {};

// The same bytes in fewer TLPs, and the link carries more frames.
TEST_P(Gathering, SavesHeadersWhereTheLinkIsFull) {
    const auto [program, transfer] = GetParam();
    const Constants fast = {{"nic.threads", 4096}, {"cpu.slice_packet_ns", 5}};
    Constants gathered = fast;
    gathered.emplace_back("nic.descriptor_batch", 4);
    ExperimentSettings settings = one_way(program, transfer, 1, 64, 20000);
    const ExperimentResult each = run(with("kakenhi", fast), settings),
                           four = run(with("kakenhi", gathered), settings);
    const auto of = [](const ExperimentResult& result, const auto& count) {
        return static_cast<double>(count(result, "nic0", "switch")) /
               static_cast<double>(result.after_draining.delivered);
    };
    EXPECT_NEAR(of(each, written_bytes), of(four, written_bytes), 0.02) << "bytes";
    EXPECT_LT(of(four, writes), of(each, writes) - 0.05) << "TLPs";
    EXPECT_GE(static_cast<double>(four.after_draining.delivered),
              0.99 * static_cast<double>(each.after_draining.delivered));
}

// Nothing is held back: alone on the link, frames take as long as ever.
TEST_P(Gathering, TakesNoTimeWhereTheLinkIsFree) {
    const auto [program, transfer] = GetParam();
    const ExperimentSettings settings = one_way(program, transfer, 0.02, 64, 500);
    const double each = run(with("kakenhi", {}), settings).latency_mean_ns;
    EXPECT_NEAR(run(with("kakenhi", {{"nic.descriptor_batch", 8}}), settings).latency_mean_ns, each, 1);
}

INSTANTIATE_TEST_SUITE_P(All, Gathering,
                         testing::Values(std::tuple(Program::p2pnic, Transfer::write),
                                         std::tuple(Program::p2pnic, Transfer::read),
                                         std::tuple(Program::p2pnic, Transfer::bounce),
                                         std::tuple(Program::pktpit, Transfer::write),
                                         std::tuple(Program::pktpit, Transfer::read)),
                         name_of_case);

}  // namespace
}  // namespace pktpit::model
