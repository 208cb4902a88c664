// SPDX-License-Identifier: BSD-3-Clause
// The last-level cache against closed formulas that are worked out here: what fits into the ways for I/O
// costs no bandwidth of main memory, what does not costs all of it; a load pushes out what goes around more
// slowly than it fills the cache; a core waits for what it misses.
#include <gtest/gtest.h>

#include "offload/model/build.h"
#include "offload/model/dma_pattern.h"
#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

constexpr uint64_t mib = 1 << 20;

LlcSettings ten_ways(double load = 0) {
    return {10 * mib, 10, 2, load, 20 * nanosecond};
}

/// Lines that hit in the third round of `bytes` of consecutive lines.
uint64_t hits_of_a_round(Llc& llc, uint64_t bytes, Time between = 1) {
    Time now = 0;
    for (int round = 0; round < 3; round++) {
        if (round == 2) llc.clear_counters();
        for (uint64_t line = 0; line < bytes / 64; line++)
            llc.device_writes(now += between, line);
    }
    return llc.counters().write_hits;
}

TEST(Llc, DevicesHaveTheirWaysAndNoMore) {
    // Least recently used, around and around: all or nothing, at exactly the size of the two ways.
    Llc fits(ten_ways());
    EXPECT_EQ(hits_of_a_round(fits, 2 * mib), 2 * mib / 64);
    EXPECT_EQ(fits.counters().written_back, 0U);
    Llc does_not(ten_ways());
    EXPECT_EQ(hits_of_a_round(does_not, 4 * mib), 0U);
    EXPECT_EQ(does_not.counters().written_back, 4 * mib / 64) << "each line makes room by a dirty one";
    // Half as much again: of each two sets one has three lines for two ways.
    Llc half(ten_ways());
    EXPECT_EQ(hits_of_a_round(half, 3 * mib / 2), 3 * mib / 2 / 64);
}

TEST(Llc, BuffersOfAPowerOfTwoUseAllOfIt) {
    // Two lines of each of 8,192 buffers of 2 KiB are a MiB. Without a hash they would meet in a 32nd of the
    // sets and never hit. Spread at random over 16,384 sets, 16,384 lines leave each a Poisson number with
    // mean 1 of lines: those that meet at most one other hit, that is e^-1 (1 + 1) of all but those of longer
    // queues. P(at most two in the set of a line) = P(Poisson(1) <= 1) = 0.736.
    Llc llc(ten_ways());
    Time now = 0;
    for (int round = 0; round < 3; round++) {
        if (round == 2) llc.clear_counters();
        for (uint64_t buffer = 0; buffer < 8192; buffer++)
            for (uint64_t line = 0; line < 2; line++)
                llc.device_writes(now++, buffer * 32 + line);
    }
    EXPECT_GT(static_cast<double>(llc.counters().write_hits) / 16384, 0.7);
}

TEST(Llc, ALoadPushesOutWhatGoesAroundMoreSlowly) {
    // 10 MiB at 10 bytes/ns are filled in 1,048,576 ns. 1,024 lines go around in 1,024 intervals.
    for (const double interval_ns : {900.0, 1020.0, 1030.0, 1200.0}) {
        Llc llc(ten_ways(10));
        const uint64_t hits = hits_of_a_round(llc, 1024 * 64, from_ns(interval_ns));
        EXPECT_EQ(hits, interval_ns * 1024 <= 10.0 * mib / 10 ? 1024U : 0U) << interval_ns;
    }
}

/// Writes of 256 bytes around and around `bytes` of main memory, GB/s.
double write_rate(const Profile& profile, uint64_t bytes, double load = 0) {
    BuildOptions options;
    options.write_load = load;
    options.memory_bytes = 64 * mib;
    Machine machine = build_machine(*Topology::open("two-nics"), profile, options);
    const uint64_t base = machine.fabric->root().memory().settings().base;
    DmaPattern pattern(*machine.fabric, *machine.nic_endpoints[0], {{false, base, 256, bytes / 256, 256}},
                       64);
    return measure(*machine.fabric, pattern, 3000 * microsecond, 1000 * microsecond) * 256 / 1e9;
}

TEST(Llc, MemoryIsSparedByWhatFits) {
    // Main memory takes 2 GB/s, the link 6.6.
    const Constants slow = {
        {"llc.mib", 10}, {"llc.ways", 10}, {"llc.io_ways", 2}, {"memory.write_gbytes", 2}};
    const Profile profile = with("kakenhi", slow);
    const double link = write_rate(*Profile::open("kakenhi"), mib);
    EXPECT_NEAR(write_rate(profile, 2 * mib), link, 0.01 * link);
    EXPECT_NEAR(write_rate(profile, 4 * mib), 2, 0.01) << "each line written makes room by one written back";
    // Without a cache there is no difference.
    const Profile without = with("kakenhi", {{"memory.write_gbytes", 2}});
    EXPECT_NEAR(write_rate(without, 2 * mib), 2, 0.01);
    EXPECT_NEAR(write_rate(without, 4 * mib), 2, 0.01);
}

// Row 4's 70 % are those of what does not stay in the cache; what does is not touched by the load.
TEST(Llc, AWriteLoadHurtsWhatDoesNotStay) {
    const Profile profile = with("kakenhi", {{"llc.mib", 10}, {"llc.ways", 10}, {"llc.io_ways", 2}});
    const double large = write_rate(profile, 16 * mib), loaded = write_rate(profile, 16 * mib, 1);
    EXPECT_NEAR(loaded / large, 0.3, 0.02);
    EXPECT_NEAR(write_rate(profile, 64 << 10, 1) / write_rate(profile, 64 << 10), 1, 0.01);
}

// A core that misses waits: the burst's time grows by the misses, latency over as many as it waits for at
// once.
TEST(Llc, ACoreWaitsForWhatItMisses) {
    ExperimentSettings settings;
    settings.program = Program::l3fwd;
    settings.traffic.flows = {{0, 0, 1, 0, 1}};
    settings.duration = 1000 * microsecond;
    const auto rate = [&](const Constants& constants) {
        return run("two-nics", settings, with("kakenhi", constants));
    };
    const double packet = 34.05 + 60.0 / 32;
    const auto none = rate({});
    EXPECT_NEAR(none.packets_per_second * packet / 1e9, 1, 0.01);
    // Large enough: nothing misses.
    const auto large = rate({{"llc.mib", 256}, {"llc.io_ways", 8}, {"memory.read_latency_ns", 200}});
    EXPECT_EQ(large.llc.cpu_misses, 0U);
    EXPECT_NEAR(large.packets_per_second * packet / 1e9, 1, 0.01);
    // So small that each frame's line is gone before it is looked at: one miss more for each frame.
    const auto small = rate({{"llc.mib", 0.03}, {"llc.io_ways", 2}, {"memory.read_latency_ns", 200}});
    const double misses = static_cast<double>(small.llc.cpu_misses) / static_cast<double>(small.cpu.packets);
    EXPECT_GT(misses, 0.9);
    // Lines that the core fills, and does not wait for, are among the misses that are counted.
    EXPECT_LT(small.packets_per_second, 1e9 / (packet + 0.9 * 200 / 4));
    EXPECT_EQ(small.traffic.damaged, 0U);
}

TEST(Llc, ProgramsLoseNothingWithIt) {
    for (const Program program : {Program::l3fwd, Program::p2pnic, Program::pktpit}) {
        for (const double size : {0.05, 1.0, 30.0}) {
            ExperimentSettings settings = drained(program, {{0, 0, 1, 0, 0.1}, {1, 0, 0, 0, 0.1}});
            settings.transfer = program == Program::p2pnic ? Transfer::bounce : Transfer::write;
            settings.traffic.size = 0;
            settings.build.write_load = size < 1 ? 1 : 0;
            const ExperimentResult result = run("two-nics", settings, with("generic", {{"llc.mib", size}}));
            EXPECT_EQ(result.after_draining.delivered, result.after_draining.offered);
            EXPECT_EQ(result.after_draining.damaged, 0U) << "a descriptor was seen before its frame";
            EXPECT_EQ(result.tlps_left, 0U);
            EXPECT_GT(result.llc.write_hits + result.llc.write_misses, 0U);
        }
    }
}

}  // namespace
}  // namespace pktpit::model
