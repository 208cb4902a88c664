// SPDX-License-Identifier: BSD-3-Clause
// Peer operations: a modelled NIC executes verified programs over the fabric, and routes by them.
#include <gtest/gtest.h>

#include <cstring>

#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/queue.h"
#include "tests/unit/model/experiments.h"
#include "tests/unit/model/two_behind_switch.h"

namespace pktpit::model {
namespace {

using offload::PeerOpcode;
using offload::PeerOperand;
using offload::PeerProgram;
using offload::PeerQueue;
using offload::PeerRing;

/// Two devices behind a switch: one executes, the other has rings and gives completions back when it is told.
struct Bench : TwoBehindSwitch, Device, PeerEngineClient {
    static constexpr PeerRing ring{bar_b, bar_b + 0x50000, bar_a + 0x80000, 64, 2048, 2048};

    explicit Bench(bool need_fences = true, const LinkSettings& to_a = links(),
                   const LinkSettings& to_b = links())
        : TwoBehindSwitch({}, {}, to_a, to_b) {
        PeerEngineSettings engine_settings;
        engine_settings.lanes = 2;
        engine_settings.verify.need_fences = need_fences;
        engine = std::make_unique<PeerEngine>(fabric, *a, *this, engine_settings);
        a->attach(*this);
        egress.bench = this;
        b->attach(egress);
        auto& windows = engine->windows();
        EXPECT_TRUE(windows.add({bar_a, 0x80000, true, false, false, true, "own"}));
        EXPECT_TRUE(windows.add({bar_a + 0x80000, 64, true, false, false, true, "completions"}));
        EXPECT_TRUE(windows.add({bar_b, 0x40000, true, true, false, false, "landing"}));
        EXPECT_TRUE(windows.add({bar_b + 0x50000, 8, false, false, true, false, "doorbell"}));
        const auto& memory = fabric.root().memory().settings();
        EXPECT_TRUE(windows.add({memory.base, 4096, true, true, false, false, "main memory"}));
    }
    void memory_written(uint64_t, uint32_t, uint64_t) override { engine->memory_written(); }
    void dma_done(uint64_t cookie, DmaResult result) override {
        if (cookie >= PeerEngine::first_cookie) engine->dma_done(cookie, result);
    }
    void launch_done(unsigned, const PeerOutcome& outcome) override { outcomes.push_back(outcome); }

    /// The egress device: at its doorbell it looks at the newest descriptor, and gives all back.
    struct Egress : Device {
        void memory_written(uint64_t offset, uint32_t, uint64_t) override {
            if (offset != 0x50000) return;
            doorbells++;
            uint64_t count = 0;
            std::memcpy(&count, bench->b->memory().at(offset), sizeof(count));
            for (; seen < count; seen++) {
                offload::PeerDescriptor found;
                std::memcpy(&found, bench->b->memory().at((seen & 63) * 2048), sizeof(found));
                stale += found.lap != offload::peer_descriptor_lap(seen, 64);
            }
            if (give_back)
                bench->b->dma().write_copy(ring.completions, std::as_bytes(std::span(&seen, 1)), {});
        }
        void dma_done(uint64_t, DmaResult) override {}
        Bench* bench = nullptr;
        uint64_t doorbells = 0, seen = 0, stale = 0;
        bool give_back = true;
    } egress;

    PeerEngine::Launch run(const PeerProgram& program) {
        const auto loaded = engine->load(offload::encode(program));
        EXPECT_TRUE(loaded) << loaded.error().to_string();
        const auto launched = engine->launch(program.egress, 0, {});
        EXPECT_TRUE(fabric.events().run_all(100000));
        return launched;
    }

    std::unique_ptr<PeerEngine> engine;
    std::vector<PeerOutcome> outcomes;
};

TEST(PeerEngine, PostCommitPeekPollWithoutTheRoot) {
    Bench bench;
    PeerQueue queue(Bench::ring, 1, {.fence = true, .relaxed = true});
    for (uint32_t i = 0; i < 20; i++) {
        std::memset(bench.a->memory().at(i * 128), static_cast<int>(i + 1), 128);
        ASSERT_TRUE(queue.post({Bench::bar_a + i * 128, 128, 0, i}));
    }
    ASSERT_TRUE(bench.fabric.events().run_all(1000));
    EXPECT_EQ(bench.egress.doorbells, 0U) << "posting rings nothing";
    EXPECT_EQ(bench.run(*queue.commit(1)), PeerEngine::Launch::begun);
    EXPECT_EQ(bench.egress.doorbells, 1U);
    EXPECT_EQ(bench.egress.stale, 0U);
    EXPECT_EQ(bench.run(*queue.peek(20, 1)), PeerEngine::Launch::begun);
    ASSERT_EQ(bench.outcomes.size(), 2U);
    EXPECT_TRUE(bench.outcomes[0].done && bench.outcomes[1].done);
    uint32_t completed = 0;
    std::memcpy(&completed, bench.a->memory().at(0x80000), sizeof(completed));
    EXPECT_EQ(queue.poll(completed).value(), 20U);
    for (uint32_t i = 0; i < 20; i++)
        EXPECT_EQ(std::memcmp(bench.b->memory().at(i * 2048 + 16), bench.a->memory().at(i * 128), 128), 0);
    const Port& root_port = bench.fabric.root().port(0);
    EXPECT_EQ(root_port.counters().all_tlps(), 0U);
    EXPECT_EQ(bench.fabric.find("switch")->port(0).counters().all_tlps(), 0U);
    EXPECT_EQ(bench.fabric.tlps().out(), 0U);
}

TEST(PeerEngine, APollThatIsNeverAnsweredTimesOut) {
    Bench bench;
    bench.egress.give_back = false;
    PeerQueue queue(Bench::ring, 1);
    ASSERT_TRUE(queue.post({Bench::bar_a, 128, 0, 0}));
    bench.run(*queue.commit(1));
    bench.run(*queue.peek(1, 1));
    ASSERT_EQ(bench.outcomes.size(), 2U);
    EXPECT_FALSE(bench.outcomes[1].done);
    EXPECT_FALSE(bench.engine->busy(1));
    EXPECT_EQ(bench.engine->counters().failed, 1U);
}

TEST(PeerEngine, RefusesWhatReachesOutsideAndGoesOnWithWhatItHas) {
    Bench bench;
    PeerRing wrong = Bench::ring;
    wrong.doorbell += 8;
    const auto loaded = bench.engine->load(offload::encode(offload::compile_egress(wrong, 1, 1)));
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().to_string().find("no registered window"), std::string::npos);
    EXPECT_EQ(bench.engine->launch(1, 0, {}), PeerEngine::Launch::stale) << "there is no program";
    EXPECT_FALSE(bench.engine->load(offload::encode(offload::compile_egress(Bench::ring, 2, 1))))
        << "no such lane";
    EXPECT_FALSE(bench.engine->load({}));
    EXPECT_EQ(bench.engine->counters().refused, 3U);
}

TEST(PeerEngine, DoesNotLaunchProgramsOfAnOlderGeneration) {
    Bench bench;
    ASSERT_TRUE(bench.engine->load(offload::encode(offload::compile_egress(Bench::ring, 1, 4))));
    bench.engine->set_generation(5);
    EXPECT_EQ(bench.engine->launch(1, 0, {}), PeerEngine::Launch::stale);
    ASSERT_TRUE(bench.engine->load(offload::encode(offload::compile_egress(Bench::ring, 1, 5))));
    EXPECT_EQ(bench.engine->launch(1, 0, {}), PeerEngine::Launch::begun);
    EXPECT_EQ(bench.engine->launch(1, 0, {}), PeerEngine::Launch::busy);
    ASSERT_TRUE(bench.fabric.events().run_all(1000));
    EXPECT_EQ(bench.engine->counters().stale, 1U);
}

TEST(PeerEngine, AFencePushesWritesToOtherDevicesBeforeItGoesOn) {
    Bench bench;
    const uint64_t memory = bench.fabric.root().memory().settings().base;
    PeerProgram program{1, 1, 0, {}};
    program.operations.push_back(
        {PeerOpcode::store_dword, PeerOperand::immediate, false, 0, memory, 42, 0, 0});
    program.operations.emplace_back();
    program.operations.push_back(
        {PeerOpcode::doorbell, PeerOperand::immediate, false, 0, Bench::ring.doorbell, 0, 0, 0});
    struct Seen : Device {
        explicit Seen(Bench& of) : bench(of) {}
        void memory_written(uint64_t offset, uint32_t, uint64_t) override {
            if (offset == 0x50000)
                std::memcpy(&found,
                            bench.fabric.root().memory().at(bench.fabric.root().memory().settings().base), 4);
        }
        void dma_done(uint64_t, DmaResult) override {}
        Bench& bench;
        uint32_t found = 0;
    } seen(bench);
    bench.b->attach(seen);
    bench.run(program);
    EXPECT_EQ(bench.engine->counters().flushes, 1U);
    EXPECT_EQ(seen.found, 42U) << "the doorbell was there before what it tells of";
    // Without it the doorbell, which has the shorter way, is there first.
    Bench without(false);
    Seen unordered(without);
    without.b->attach(unordered);
    std::erase_if(program.operations, [](const auto& one) { return one.opcode == PeerOpcode::fence; });
    without.run(program);
    EXPECT_EQ(unordered.found, 0U);
}

/// Batches into an egress whose link is slow, so that the switch's buffer is full: the last block waits for
/// more data credits than its doorbell does.
uint64_t stale_descriptors(bool fence) {
    LinkSettings few = Bench::links(), slow = Bench::links();
    few.credits[0].data = 64;
    slow.link = {2.5, 1};
    Bench bench(false, few, slow);
    const auto program = offload::compile_egress(Bench::ring, 1, 1, {.fence = fence, .relaxed = true});
    EXPECT_TRUE(bench.engine->load(offload::encode(program)));
    for (uint64_t sequence = 0; sequence < 400; sequence += 20) {
        std::vector<PeerPacket> packets(20);
        for (uint64_t i = 0; i < packets.size(); i++) {
            packets[i].offset = i * 2048;
            packets[i].length = 16 + 128;
            packets[i].cookie = Requester::no_cookie;
            const offload::PeerDescriptor descriptor{0, 128, 0,
                                                     offload::peer_descriptor_lap(sequence + i, 64), 0};
            std::memcpy(bench.a->memory().at(i * 2048), &descriptor, sizeof(descriptor));
        }
        EXPECT_EQ(bench.engine->launch(1, sequence, packets), PeerEngine::Launch::begun);
        EXPECT_TRUE(bench.fabric.events().run_all(100000));
    }
    EXPECT_EQ(bench.egress.seen, 400U);
    return bench.egress.stale;
}

TEST(PeerEngine, WithoutTheFenceAStaleDescriptorIsSeen) {
    EXPECT_EQ(stale_descriptors(true), 0U);
    EXPECT_GT(stale_descriptors(false), 0U);
}

ExperimentSettings routed(OperationsMode mode, uint32_t size, double load) {
    ExperimentSettings settings = drained(Program::p2pnic, both_ways(load));
    settings.operations = OperationsSettings{};
    settings.operations->mode = mode;
    settings.traffic.size = size;
    settings.traffic.poisson = true;
    return settings;
}

void expect_clean(const ExperimentResult& result) {
    expect_at_rest(result);
    expect_whole_and_in_order(result);
    EXPECT_EQ(result.slots_lost, 0U);
    for (const NicCounters& nic : result.nics)
        EXPECT_EQ(nic.stale_descriptors, 0U);
    const NicSums sums(result);
    EXPECT_EQ(sums.received, sums.sent + sums.dropped);
    EXPECT_GT(sums.sent, 0U);
    EXPECT_EQ(result.operations.last_refusal, "");
}

class RoutedByOperations : public testing::TestWithParam<OperationsMode> {};

TEST_P(RoutedByOperations, NothingIsLostDoubledOrReordered) {
    for (const char* name : {"two-nics", "root-ports", "two-nics-acs"})
        for (const double load : {0.05, 1.0}) {
            SCOPED_TRACE(name);
            expect_clean(run(name, routed(GetParam(), load < 1 ? 0 : 64, load)));
        }
}

TEST_P(RoutedByOperations, SurvivesChangesOfTheFib) {
    auto settings = routed(GetParam(), 256, 0.3);
    settings.operations->generation_every = 5 * microsecond;
    const ExperimentResult result = run("two-nics", settings);
    expect_clean(result);
    EXPECT_GT(result.operations.control.generations, 10U);
    EXPECT_GT(result.operations.control.programs, 10U);
    if (GetParam() == OperationsMode::economy) {
        EXPECT_GT(result.operations.interrupts, 5U);
    } else {
        EXPECT_EQ(result.operations.interrupts, 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, RoutedByOperations,
                         testing::Values(OperationsMode::economy, OperationsMode::performance),
                         name_of_parameter);

TEST(RoutedByOperations, EconomySparesDoorbellsAndCpuPerformanceTime) {
    auto settings = routed(OperationsMode::economy, 128, 0.02);
    const ExperimentResult economy = run("two-nics", settings);
    settings.operations->mode = OperationsMode::performance;
    const ExperimentResult performance = run("two-nics", settings);
    EXPECT_LT(economy.operations.engine.doorbells * 2, performance.operations.engine.doorbells);
    EXPECT_LT(economy.cpu_utilisation, 0.01);
    EXPECT_EQ(performance.cpu_utilisation, 1.0);
    EXPECT_LT(performance.latency_median_ns, economy.latency_median_ns);
}

TEST(RoutedByOperations, AreForP2pNicWrite) {
    auto settings = routed(OperationsMode::economy, 64, 1);
    settings.transfer = Transfer::read;
    EXPECT_FALSE(run_experiment(*Topology::open("two-nics"), *Profile::open("generic"), settings));
    settings.transfer = Transfer::write;
    settings.program = Program::pktpit;
    EXPECT_FALSE(run_experiment(*Topology::open("two-nics"), *Profile::open("generic"), settings));
}

}  // namespace
}  // namespace pktpit::model
