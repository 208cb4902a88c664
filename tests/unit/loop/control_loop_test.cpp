// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/control_loop.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/differential/random_traffic.h"
#include "tests/sanitized.h"
#include "tests/unit/forward/vectors.h"
#include "tests/unit/loop/loop_rig.h"

namespace pktpit::router::test {
namespace {

class ControlLoops : public testing::Test {
  protected:
    ControlLoops() { fill_test_router(rig.image.image(), rig.image.base()); }
    LoopRig rig;
    const Buffer to_port2 = frame(arriving, Ipv4{.payload = transport(600)});
    const Buffer to_host = frame(arriving, Ipv4{.destination = "192.0.2.1", .payload = transport(600)});
    const Buffer no_route = frame(arriving, Ipv4{.destination = "172.16.0.1", .payload = transport(600)});
};

TEST_F(ControlLoops, EveryVectorLeavesAsForwardSays) {
    for (const Vector& vector : all_vectors()) {
        SCOPED_TRACE(vector.name);
        const uint64_t before = rig.counted(vector.port, vector.verdict);
        rig.io.arrive({vector.port, vector.in});
        rig.run();
        EXPECT_EQ(rig.counted(vector.port, vector.verdict), before + 1);
        std::vector<FakeIo::Departure> departures;
        std::vector<QueuedFrame> queued;
        if (vector.verdict == PP_FORWARDED) departures.push_back({vector.egress_port, vector.out});
        const auto action = action_of(vector.verdict);
        if (action == PP_ACTION_HOST || action == PP_ACTION_PUNT)
            queued.push_back({vector.port, vector.verdict, vector.in});
        EXPECT_EQ(rig.io.take_departures(), departures);
        EXPECT_EQ(rig.loop.take_wake(), !queued.empty());
        EXPECT_EQ(rig.take_queued(), queued);
        EXPECT_EQ(rig.io.free_slots(), rig.io.slots());
    }
}

// Where it gets tags it grows into the headroom.
TEST_F(ControlLoops, AHeaderThatTheNicSplitOffLeavesInFrontOfThePayload) {
    const Buffer to_vlans = frame(arriving, Ipv4{.destination = "10.3.0.1", .payload = transport(600)});
    for (const auto& [in, port, tags] : {std::tuple(to_port2, uint16_t{2}, 0), {to_vlans, uint16_t{3}, 8}}) {
        const Decision whole = forward_frame(rig.image.view(), 1, in);
        ASSERT_EQ(whole.header_length, whole.consumed + tags);
        for (const size_t split : {34u, 38u, 42u, 60u, 127u, 128u}) {
            rig.io.arrive({1, in, split});
            rig.run();
            EXPECT_EQ(rig.io.take_departures(),
                      (std::vector<FakeIo::Departure>{{port, egress_frame(whole, in)}}))
                << split;
        }
    }
}

TEST_F(ControlLoops, AVetoIsForWhatWouldBeForwardedOnly) {
    rig.io.arrive({1, to_port2, 42, PP_DROP_MEMORY_REVOKED});
    rig.io.arrive({1, to_host, 42, PP_DROP_MEMORY_REVOKED});
    rig.run();
    EXPECT_TRUE(rig.io.take_departures().empty());
    EXPECT_EQ(rig.io.submits, 0u);
    EXPECT_EQ(rig.counted(1, PP_DROP_MEMORY_REVOKED), 1u);
    EXPECT_EQ(rig.counted(1, PP_FORWARDED), 0u);
    EXPECT_EQ(rig.take_queued(), (std::vector<QueuedFrame>{{1, PP_HOST_LOCAL, to_host}}));
    EXPECT_EQ(rig.io.free_slots(), rig.io.slots());
}

TEST_F(ControlLoops, APayloadThatCannotBeReadIsADropUnderItsName) {
    rig.io.payload_gone = true;
    const Buffer arp =
        frame(Ethernet{.to = Mac{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, .from = peer}, Buffer(46), 0x0806);
    rig.io.arrive({1, no_route, 42});
    rig.io.arrive({1, arp, 128});
    rig.run();
    EXPECT_EQ(rig.counted(1, PP_DROP_MEMORY_REVOKED), 1u);
    EXPECT_EQ(rig.counted(1, PP_PUNT_NO_ROUTE), 0u);
    EXPECT_EQ(rig.take_queued(), (std::vector<QueuedFrame>{{1, PP_HOST_ARP, arp}}))
        << "no half record before it";
    EXPECT_EQ(rig.io.free_slots(), rig.io.slots());
}

TEST_F(ControlLoops, CountsFramesAndBytesAtTheIngressPort) {
    rig.io.arrive({1, to_port2});
    rig.io.arrive({1, no_route});
    rig.io.arrive({2, to_port2});
    rig.run();
    EXPECT_EQ(rig.counters.port(1).rx_packets, 2u);
    EXPECT_EQ(rig.counters.port(1).rx_bytes, to_port2.size() + no_route.size());
    EXPECT_EQ(rig.counters.port(2).rx_packets, 1u);
    EXPECT_EQ(rig.counted(2, PP_HOST_OTHER_MAC), 1u);
    EXPECT_EQ(rig.counters.port(1).tx_packets, 0u) << "counted by whoever sends";
}

TEST_F(ControlLoops, CountsRoutesInBytesAsTheyLeave) {
    const auto adjacency = rig.image.image().add_adjacency(
        adjacency_of(PP_ADJ_FORWARD, 3, port3, next_hop3, 31, 1500, std::array{Tag{0x8100, tci100}}));
    const std::pair<fib::AdjacencyId, uint16_t> member{adjacency.value(), 1};
    const auto group = rig.image.image().add_group({&member, 1}, 77);
    ASSERT_TRUE(rig.image.image().set(Prefix::parse("10.77.0.0/16").value(), group.value()).has_value());
    const Buffer counted = frame(arriving, Ipv4{.destination = "10.77.0.1", .payload = transport(300)});
    const Buffer too_big = frame(arriving, Ipv4{.destination = "10.77.0.1", .payload = transport(1600)});
    rig.io.arrive({1, counted});
    rig.io.arrive({1, counted, 42});
    rig.io.arrive({1, too_big});
    rig.io.arrive({1, counted, 42, PP_DROP_MEMORY_REVOKED});
    rig.run();
    EXPECT_EQ(rig.counters.route(77).packets, 2u) << "forwarded ones only";
    EXPECT_EQ(rig.counters.route(77).bytes, 2 * (counted.size() + 4));
    EXPECT_EQ(rig.counters.route(0).packets, 0u);
}

TEST_F(ControlLoops, CopiesOneThatReturnsWhenItIsAsked) {
    const auto route = [&](const char* prefix, uint16_t interface, std::span<const Tag> tags) {
        const auto adjacency = rig.image.image().add_adjacency(
            adjacency_of(PP_ADJ_FORWARD, 1, port1, next_hop2, interface, 1500, tags));
        const std::pair<fib::AdjacencyId, uint16_t> member{adjacency.value(), 1};
        const auto group = rig.image.image().add_group({&member, 1});
        ASSERT_TRUE(rig.image.image().set(Prefix::parse(prefix).value(), group.value()));
    };
    route("10.91.0.0/16", 1, {});
    route("10.92.0.0/16", 11, std::array{Tag{0x8100, 10}});
    const auto to = [](const char* destination, std::vector<Tag> tags = {}) {
        Ethernet ethernet = arriving;
        ethernet.tags = std::move(tags);
        return frame(ethernet, Ipv4{.destination = destination, .payload = transport(300)});
    };
    const auto copies = [&](const Buffer& in) {
        for (int i = 0; i < 3; i++)
            rig.io.arrive({1, in});
        rig.run();
        EXPECT_EQ(rig.io.take_departures().size(), 3U);
        size_t count = 0;
        rig.for_daemon.pop(SIZE_MAX, [&](const pp_punt& head, std::span<uint8_t> bytes) {
            EXPECT_EQ(head.copy, 1);
            EXPECT_EQ(head.port, 1);
            EXPECT_EQ(bytes.size(), in.size());
            EXPECT_TRUE(std::equal(in.end() - 50, in.end(), bytes.end() - 50));
            count++;
        });
        EXPECT_EQ(rig.loop.take_wake(), count != 0);
        return count;
    };
    const Buffer plain = to("10.91.0.1"), tagged = to("10.92.0.1", {{0x8100, 10}});
    EXPECT_EQ(copies(plain), 0U);
    rig.loop.copy_returning();
    EXPECT_EQ(copies(plain), 0U) << "its payload is in a device's memory";
    rig.io.in_one_piece = true;
    EXPECT_EQ(copies(plain), 1U) << "the next that is not";
    for (const Buffer& returning : {plain, tagged, plain}) {
        rig.loop.copy_returning();
        EXPECT_EQ(copies(to_port2), 0U);
        EXPECT_EQ(copies(to("10.92.0.1")), 0U) << "another VLAN of the port";
        EXPECT_EQ(copies(returning), 1U);
        EXPECT_EQ(copies(returning), 0U);
    }
    EXPECT_EQ(rig.counted(1, PP_FORWARDED), 45U);
}

TEST_F(ControlLoops, LatencyIsOfWhatIsSentOnlyAndByItsIngressPort) {
    const auto ago = [](std::chrono::milliseconds time) {
        return static_cast<uint64_t>(
            std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch() - time).count());
    };
    const uint64_t long_ago = ago(std::chrono::seconds(30));
    const uint64_t lately = ago(std::chrono::milliseconds(20));
    rig.io.arrive({1, to_port2, 42, PP_NONE, long_ago});
    rig.io.arrive({1, to_port2, 42, PP_NONE, lately});
    rig.io.arrive({1, to_port2, 42, PP_NONE, lately});
    rig.io.arrive({1, to_port2, 42, PP_DROP_MEMORY_REVOKED, long_ago});
    rig.io.arrive({1, no_route, 42, PP_NONE, long_ago});
    rig.io.arrive({2, to_port2, 42, PP_NONE, long_ago});  // another station's
    rig.run();
    const LatencyCounts counts = rig.counters.latency(1);
    EXPECT_EQ(counts.count(), 3u);
    EXPECT_GE(counts.longest, 30'000'000'000u);
    EXPECT_GE(counts.percentile(0.5), 20'000'000u);
    EXPECT_LT(counts.percentile(0.5), counts.longest);
    EXPECT_EQ(rig.counters.latency(2).count(), 0u);
}

// 200 packets wait: three doorbells of 64 and one of 8, or, four batches a doorbell, one.
TEST(ControlLoopDoorbell, OneForAsManyBatchesAsItMayTake) {
    for (const auto& [doorbell, submits] :
         {std::pair<size_t, size_t>{64, 4}, {127, 4}, {128, 2}, {192, 2}, {256, 1}}) {
        LoopRig rig(1 << 20, small_capacity(), doorbell);
        fill_test_router(rig.image.image(), rig.image.base());
        const Buffer in = frame(arriving, Ipv4{.payload = transport(40)});
        ASSERT_EQ(forward_frame(rig.image.view(), 1, in).verdict, PP_FORWARDED);
        for (int i = 0; i < 200; i++)
            rig.io.arrive({1, in});
        EXPECT_EQ(rig.loop.turn(), std::min<size_t>(200, doorbell / 64 * 64));
        rig.run();
        EXPECT_EQ(rig.io.submits, submits) << doorbell;
        EXPECT_EQ(rig.io.take_departures().size(), 200u);
        EXPECT_EQ(rig.counters.latency(1).count(), 200u);
        EXPECT_EQ(rig.counters.port(1).rx_packets, 200u);
        EXPECT_EQ(rig.io.free_slots(), rig.io.slots());
    }
}

TEST(ControlLoopQueue, AFullQueueIsADropUnderItsName) {
    LoopRig rig(2048);
    fill_test_router(rig.image.image(), rig.image.base());
    const Buffer in = frame(arriving, Ipv4{.destination = "192.0.2.1", .payload = transport(600)});
    for (int i = 0; i < 5; i++)
        rig.io.arrive({1, in, 42});
    rig.run();
    EXPECT_EQ(rig.counted(1, PP_HOST_LOCAL), 3u);
    EXPECT_EQ(rig.counted(1, PP_DROP_PUNT_FULL), 2u);
    EXPECT_EQ(rig.take_queued(), std::vector<QueuedFrame>(3, {1, PP_HOST_LOCAL, in}));
    EXPECT_EQ(rig.io.free_slots(), rig.io.slots());
    rig.io.arrive({1, in, 42});
    rig.run();
    EXPECT_EQ(rig.take_queued().size(), 1u);
}

class ControlLoopRandom : public testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(PacketsADoorbell, ControlLoopRandom, testing::Values(64, 256));

TEST_P(ControlLoopRandom, AHundredThousandFramesLoseNoSlotAndNoFrame) {
    pktpit::test::Random random(2026);
    LoopRig rig(1 << 22, pktpit::test::random_capacity(), GetParam());
    const auto fib = pktpit::test::fill_randomly(rig.image.image(), rig.image.base(), random);
    uint64_t frames = 0;
    while (frames < pktpit::test::rounds_of(uint64_t{100'000})) {
        const uint32_t burst = 1 + random.below(200);
        std::vector<FakeIo::Departure> departures;
        std::vector<QueuedFrame> queued;
        std::array<uint64_t, PP_VERDICT_CAPACITY> wanted{}, before{};
        for (size_t verdict = 0; verdict < before.size(); verdict++)
            for (uint16_t port = 1; port <= pktpit::test::random_ports; port++)
                before[verdict] += rig.counted(port, static_cast<pp_verdict>(verdict));
        for (uint32_t i = 0; i < burst; i++) {
            const auto made = pktpit::test::random_frame(fib, random);
            const Decision decision = forward_frame(rig.image.view(), made.port, made.bytes);
            const bool veto = random.one_in(20);
            const auto verdict =
                decision.verdict == PP_FORWARDED && veto ? PP_DROP_MEMORY_REVOKED : decision.verdict;
            wanted[verdict]++;
            if (verdict == PP_FORWARDED)
                departures.push_back({decision.egress_port, egress_frame(decision, made.bytes)});
            if (action_of(verdict) == PP_ACTION_HOST || action_of(verdict) == PP_ACTION_PUNT)
                queued.push_back({made.port, verdict, made.bytes});
            rig.io.arrive({made.port, made.bytes, PP_SLICE_BYTES, veto ? PP_DROP_MEMORY_REVOKED : PP_NONE});
        }
        rig.run();
        frames += burst;
        ASSERT_EQ(rig.io.free_slots(), rig.io.slots());
        ASSERT_EQ(rig.io.take_departures(), departures) << "after " << frames;
        ASSERT_EQ(rig.take_queued(), queued) << "after " << frames;
        for (size_t verdict = 0; verdict < before.size(); verdict++) {
            uint64_t now = 0;
            for (uint16_t port = 1; port <= pktpit::test::random_ports; port++)
                now += rig.counted(port, static_cast<pp_verdict>(verdict));
            ASSERT_EQ(now - before[verdict], wanted[verdict]) << name_of(static_cast<pp_verdict>(verdict));
        }
    }
}

}  // namespace
}  // namespace pktpit::router::test
