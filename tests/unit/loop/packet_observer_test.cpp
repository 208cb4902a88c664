// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/packet_observer.h"

#include <gtest/gtest.h>

#include "router/observe/observation.h"
#include "tests/unit/forward/vectors.h"
#include "tests/unit/loop/loop_rig.h"

namespace pktpit::router::test {
namespace {

constexpr uint8_t all_points = PP_POINT_EGRESS | PP_POINT_DROP | PP_POINT_OTHER;

pp_observing everything() {
    pp_observing wanted{UINT32_MAX, 2048, {}};
    std::ranges::fill(wanted.points, all_points);
    return wanted;
}

class PacketObservers : public testing::Test {
  protected:
    PacketObservers() { fill_test_router(rig.image.image(), rig.image.base()); }

    struct Seen {
        Observation observation;  ///< its spans are void
        Buffer ingress, frame;
    };
    std::vector<Seen> take(PacketObserver& observer) {
        std::vector<Seen> all;
        observer.pop(SIZE_MAX, [&](std::span<const uint8_t> record) {
            const auto seen = parse_observation(record);
            ASSERT_TRUE(seen);
            all.push_back({*seen, seen->ingress(65535), {seen->frame.begin(), seen->frame.end()}});
        });
        return all;
    }
    /// The observer has been told of one packet, by a turn of its own.
    Seen observe_one(PacketObserver& observer, FakeIo::Arrival arrival) {
        rig.loop.observe(&observer);
        rig.io.arrive(std::move(arrival));
        rig.run();
        auto all = take(observer);
        EXPECT_EQ(all.size(), 1u);
        return all.empty() ? Seen() : std::move(all.front());
    }

    LoopRig rig;
    const Buffer to_port2 = frame(arriving, Ipv4{.payload = transport(600)});
};

TEST_F(PacketObservers, EveryVectorIsWrittenDownAsItCameAndAsItWent) {
    PacketObserver observer(everything());
    for (const Vector& vector : all_vectors()) {
        SCOPED_TRACE(vector.name);
        if (vector.in.empty()) continue;
        const Seen seen = observe_one(observer, {vector.port, vector.in, PP_SLICE_BYTES, PP_NONE, 77});
        EXPECT_EQ(seen.observation.verdict, vector.verdict);
        EXPECT_EQ(seen.observation.port, vector.port);
        EXPECT_EQ(seen.observation.frame_length, vector.in.size());
        EXPECT_EQ(seen.observation.start, 77u);
        EXPECT_LE(seen.observation.decided, seen.observation.end);
        EXPECT_TRUE(seen.observation.by_worker);
        // What is not in main memory in one piece is not shown: only the slice.
        const auto known = std::min<size_t>(vector.in.size(), PP_SLICE_BYTES);
        EXPECT_EQ(seen.ingress, cut(vector.in, known));
        if (vector.verdict != PP_FORWARDED) continue;
        EXPECT_EQ(seen.observation.egress_port, vector.egress_port);
        EXPECT_EQ(seen.observation.end_length, vector.out.size());
        EXPECT_EQ(seen.frame, cut(vector.out, seen.frame.size()));
        const size_t trailer = forward_frame(rig.image.view(), vector.port, vector.in).trailer;
        const size_t packet_end = vector.in.size() - trailer;
        EXPECT_EQ(seen.frame.size(), vector.out.size() - (packet_end - std::min(packet_end, known)));
    }
    EXPECT_EQ(observer.lost(1), 0u);
}

TEST_F(PacketObservers, AVetoIsADropOfTheFrameAsItCame) {
    PacketObserver observer(everything());
    const Seen seen = observe_one(observer, {1, to_port2, 42, PP_DROP_MEMORY_REVOKED});
    EXPECT_EQ(seen.observation.verdict, PP_DROP_MEMORY_REVOKED);
    EXPECT_EQ(seen.frame, cut(to_port2, 42));
}

TEST_F(PacketObservers, WhatTheEgressPortRefusesIsADropUnderItsName) {
    PacketObserver observer(everything());
    rig.io.refuse = PP_DROP_EGRESS_FULL;
    const Seen seen = observe_one(observer, {1, to_port2});
    EXPECT_EQ(seen.observation.verdict, PP_DROP_EGRESS_FULL);
    EXPECT_EQ(seen.observation.egress_port, 2u);
    EXPECT_EQ(seen.ingress, cut(to_port2, 128));
}

TEST_F(PacketObservers, OnlyThePortsAndPointsThatAreWanted) {
    pp_observing wanted = everything();
    std::ranges::fill(wanted.points, uint8_t{0});
    wanted.points[1] = PP_POINT_DROP;
    PacketObserver observer(wanted);
    rig.loop.observe(&observer);
    rig.io.arrive({1, to_port2});
    rig.io.arrive({1, to_port2, 42, PP_DROP_MEMORY_REVOKED});
    rig.io.arrive({2, to_port2});
    rig.run();
    const auto seen = take(observer);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(seen[0].observation.verdict, PP_DROP_MEMORY_REVOKED);
    rig.loop.observe(nullptr);
    rig.io.arrive({1, to_port2, 42, PP_DROP_MEMORY_REVOKED});
    rig.run();
    EXPECT_TRUE(take(observer).empty()) << "nothing after its end";
}

TEST_F(PacketObservers, ASampleIsOfAboutTheSizeAskedFor) {
    pp_observing wanted = everything();
    wanted.threshold = UINT32_MAX / 10;
    PacketObserver observer(wanted);
    rig.loop.observe(&observer);
    size_t taken = 0;
    for (int i = 0; i < 10'000; i++) {
        rig.io.arrive({1, to_port2});
        rig.run();
        taken += take(observer).size();
    }
    EXPECT_NEAR(static_cast<double>(taken), 1000, 150);
}

TEST_F(PacketObservers, WhatFindsNoRoomIsCountedAndPacketsGoOn) {
    PacketObserver observer(everything());
    rig.loop.observe(&observer);
    const int packets = 30'000;  // some 10 MB of records; the queue has four
    for (int i = 0; i < packets; i++)
        rig.io.arrive({1, to_port2});
    rig.run();
    EXPECT_EQ(rig.io.take_departures().size(), static_cast<size_t>(packets));
    const auto seen = take(observer).size();
    EXPECT_GT(observer.lost(1), 0u);
    EXPECT_EQ(seen + observer.lost(1), static_cast<size_t>(packets));
}

}  // namespace
}  // namespace pktpit::router::test
