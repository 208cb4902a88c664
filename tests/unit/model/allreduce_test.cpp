// SPDX-License-Identifier: BSD-3-Clause
// A router that adds, against closed formulas that are worked out here.
#include "offload/model/allreduce.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pktpit::model {
namespace {

AllreduceResult run(const AllreduceSettings& settings) {
    const auto result = run_allreduce(settings);
    EXPECT_TRUE(result) << result.error().to_string();
    EXPECT_EQ(result->wrong_sums, 0U);
    return *result;
}

/// Messages are in the host's memory, and the way from there costs next to nothing.
AllreduceSettings bare(uint64_t frames, Buffering buffering, unsigned threshold = 1) {
    AllreduceSettings settings;
    settings.message_bytes = frames * settings.frame_bytes;
    settings.buffering = buffering;
    settings.threshold = threshold;
    settings.accelerator_gbytes = 0;
    settings.nic_gbytes = 1e6;
    settings.nic_latency = 0;
    settings.router_latency = 0;
    settings.buffers = 1 << 20;
    settings.chunk_bytes = settings.frame_bytes;
    return settings;
}

constexpr double frame_ns = 1538 * 8 / 10.0;

// N frames on the wire take N times a frame's. Stored, the sums leave when all have come; cut through, when
// the threshold's have, or, at a threshold of 0, a head of 58 bytes.
TEST(Allreduce, TakesWhatTwoWiresTake) {
    for (const uint64_t frames : {1U, 2U, 10U, 1000U}) {
        const auto ns = [](const AllreduceSettings& settings) { return to_ns(run(settings).all); };
        const auto all = static_cast<double>(frames);
        EXPECT_NEAR(ns(bare(frames, Buffering::store_and_forward)), 2 * all * frame_ns, 2) << frames;
        for (const unsigned threshold : {1U, 2U, 7U}) {
            const double waits = std::min<double>(threshold, all);
            EXPECT_NEAR(ns(bare(frames, Buffering::threshold, threshold)), (all + waits) * frame_ns, 2)
                << frames;
        }
        EXPECT_NEAR(ns(bare(frames, Buffering::threshold, 0)), all * frame_ns + 58 * 8 / 10.0, 2) << frames;
    }
}

TEST(Allreduce, CutThroughIsHalfOfStoreAndForward) {
    AllreduceSettings settings;
    settings.message_bytes = 100'000'000;
    const Time through = run(settings).all;
    settings.buffering = Buffering::store_and_forward;
    const double share = to_ns(through) / to_ns(run(settings).all);
    EXPECT_LE(share, 0.55);
    EXPECT_GE(share, 0.5) << "the bound";
}

TEST(Allreduce, FillsTheWireWithBuffersThatOverlap) {
    AllreduceSettings settings;
    settings.message_bytes = 65536;
    settings.messages = 60;
    EXPECT_NEAR(run(settings).gbps / 9.62, 1, 0.005);
    // With one buffer a chunk is copied, fetched and sent before the next begins: 64 KiB are 44 frames and
    // one more message's rest.
    settings.buffers = 1;
    EXPECT_LT(run(settings).gbps, 0.75 * 9.62);
    // What small messages are bounded by is the copy.
    settings.buffers = 4;
    settings.message_bytes = 1024;
    settings.messages = 4000;
    const double copy_ns = 6000 + 1024 / 6.0;
    EXPECT_NEAR(run(settings).gbps, 1024 * 8 / copy_ns, 0.01);
}

TEST(Allreduce, SlotsBoundWhatIsHeld) {
    AllreduceSettings settings = bare(1000, Buffering::threshold, 4);
    settings.router_slots = 8;
    const AllreduceResult few = run(settings);
    EXPECT_LE(few.most_held, 8U);
    EXPECT_EQ(few.frames, 4 * 1000U);
    // Eight frames a round trip: one up, four until the sum begins, one down.
    EXPECT_GE(to_ns(few.all), 1000 * frame_ns);
    settings.router_slots = 3;
    EXPECT_EQ(run_allreduce(settings).error().where, "slots");
}

TEST(Allreduce, IsTheSameEachTimeWhoeverTakesPart) {
    for (const unsigned workers : {1U, 2U, 16U}) {
        AllreduceSettings settings;
        settings.workers = workers;
        settings.messages = 3;
        settings.message_bytes = 123'457;
        const AllreduceResult first = run(settings), again = run(settings);
        EXPECT_EQ(first.all, again.all);
        EXPECT_EQ(first.events, again.events);
        EXPECT_EQ(first.frames, uint64_t{workers} * 3 * 84);
    }
}

TEST(Allreduce, RefusesWhatCannotBe) {
    const auto where = [](auto change) {
        AllreduceSettings settings;
        change(settings);
        const auto result = run_allreduce(settings);
        return result ? std::string() : result.error().where;
    };
    EXPECT_EQ(where([](auto& settings) { settings.workers = 0; }), "workers");
    EXPECT_EQ(where([](auto& settings) { settings.message_bytes = 0; }), "size");
    EXPECT_EQ(where([](auto& settings) { settings.messages = 0; }), "messages");
    EXPECT_EQ(where([](auto& settings) { settings.buffers = 0; }), "buffers");
    EXPECT_EQ(where([](auto& settings) { settings.chunk_bytes = 100; }), "chunk");
    EXPECT_EQ(where([](auto& settings) { settings.frame_bytes = 0; }), "frame");
    EXPECT_EQ(where([](auto& settings) { settings.gbps = 0; }), "rates");
}

}  // namespace
}  // namespace pktpit::model
