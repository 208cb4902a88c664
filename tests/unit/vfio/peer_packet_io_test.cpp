// SPDX-License-Identifier: BSD-3-Clause
// The queues between a peer device and the daemon's worker; the device's side is played here, well and badly.
#include "router/vfio/peer_packet_io.h"

#include <gtest/gtest.h>

#include <thread>

#include "offload/peer_ops/queue.h"
#include "tests/unit/vfio/peer_rig.h"
#include "tests/until.h"

namespace pktpit::router::test {
namespace {

using Frame = std::vector<uint8_t>;
using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::PeerDescriptor;
using offload::PeerMemoryMap;

constexpr uint32_t queue_frames = 16;
constexpr uint32_t patience_ms = 20;

Frame made(size_t length, uint8_t seed) {
    Frame frame(length);
    for (size_t i = 0; i < length; i++)
        frame[i] = static_cast<uint8_t>(seed + i * 7);
    return frame;
}

class PeerPacketIos : public testing::Test {
  protected:
    PeerPacketIos() {
        io.add({11, 0, nullptr, nullptr});
        io.add({12, 1, nullptr, nullptr});
    }

    /// The device puts a frame into the queue for the host.
    void hand_over(const Frame& frame, uint8_t lane, std::optional<uint16_t> said = {}) {
        auto& tail = rig.at<uint64_t>(PeerMemoryMap::to_host_tail);
        std::byte* at = slot(rig.plan.to_host, tail);
        const PeerDescriptor descriptor{0, said.value_or(static_cast<uint16_t>(frame.size())), lane, 0, 0};
        std::memcpy(at, &descriptor, sizeof descriptor);
        std::memcpy(at + sizeof descriptor, frame.data(), frame.size());
        tail++;
    }
    /// And takes one out of the other queue: lane and frame.
    std::optional<std::pair<uint8_t, Frame>> take() {
        auto& taken = rig.at<uint32_t>(PeerMemoryMap::from_host_completions);
        if (taken == rig.at<uint64_t>(PeerMemoryMap::from_host_tail)) return std::nullopt;
        const std::byte* at = slot(rig.plan.from_host, taken++);
        PeerDescriptor descriptor;
        std::memcpy(&descriptor, at, sizeof descriptor);
        Frame frame(descriptor.length);
        std::memcpy(frame.data(), at + sizeof descriptor, frame.size());
        return std::pair(descriptor.port, frame);
    }
    std::vector<HeaderSlice> receive(size_t most = 64) {
        std::vector<HeaderSlice> slices(most);
        slices.resize(io.receive(slices));
        return slices;
    }
    void release(const std::vector<HeaderSlice>& slices) {
        for (const HeaderSlice& slice : slices)
            io.release({&slice.slot, 1});
    }
    /// Whole, to a port, with `grown` bytes in front.
    static EgressDescriptor to(uint16_t port, const HeaderSlice& slice, uint16_t grown = 0) {
        return {slice.slot, port, static_cast<uint16_t>(slice.length + grown), slice.bytes - grown,
                slice.frame_length - slice.length};
    }
    [[nodiscard]] uint64_t dropped(uint16_t port, pp_verdict verdict) const {
        return counters.port(port).verdict[verdict];
    }
    /// Frames that may still be received at once.
    size_t room() {
        size_t received = 0;
        std::vector<HeaderSlice> all;
        while (true) {
            for (uint32_t i = 0; i < queue_frames; i++)
                hand_over(made(60, 1), 0);
            const auto some = receive();
            all.insert(all.end(), some.begin(), some.end());
            received += some.size();
            if (some.size() < queue_frames) break;
        }
        release(all);
        release(receive());
        return received;
    }

    PeerRig rig{patience_ms};
    std::unique_ptr<PeerHost> host = rig.host();
    fib::Epochs epochs;
    WorkerCounters counters;
    PeerPacketIo io{*host, rig.settings, epochs, counters};

  private:
    std::byte* slot(uint64_t queue, uint64_t number) {
        return rig.memory().data() + queue + number % queue_frames * rig.plan.queue_slot_bytes;
    }
};

TEST_F(PeerPacketIos, AFrameOfTheDevicesIsASlice) {
    const Frame shorter = made(60, 1), longer = made(1514, 2);
    hand_over(shorter, 0);
    hand_over(longer, 1);
    const auto slices = receive();
    ASSERT_EQ(slices.size(), 2U);
    EXPECT_EQ(slices[0].port, 11);
    EXPECT_EQ(slices[0].length, 60);
    EXPECT_EQ(slices[0].frame_length, 60U);
    EXPECT_EQ(slices[1].port, 12);
    EXPECT_EQ(slices[1].length, PP_SLICE_BYTES);
    EXPECT_EQ(slices[1].frame_length, 1514U);
    Frame whole(1514);
    EXPECT_TRUE(io.copy_frame(slices[1], whole));
    EXPECT_EQ(whole, longer);
    EXPECT_EQ(rig.at<uint32_t>(PeerMemoryMap::to_host_completions), 2U)
        << "the device's places are free again";
    EXPECT_TRUE(receive().empty());
}

TEST_F(PeerPacketIos, GoesRoundTheRing) {
    for (uint32_t i = 0; i < 5 * queue_frames; i++) {
        hand_over(made(100 + i, static_cast<uint8_t>(i)), i % 2);
        const auto slices = receive();
        ASSERT_EQ(slices.size(), 1U);
        Frame whole(slices[0].frame_length);
        io.copy_frame(slices[0], whole);
        EXPECT_EQ(whole, made(100 + i, static_cast<uint8_t>(i)));
        release(slices);
        ASSERT_TRUE(io.send(11, made(64 + i, static_cast<uint8_t>(i))));
        EXPECT_EQ(take(), std::pair(uint8_t{0}, made(64 + i, static_cast<uint8_t>(i))));
    }
    EXPECT_EQ(io.malformed(), 0U);
}

TEST_F(PeerPacketIos, WhatCannotBeIsCountedAndTheNextIsTaken) {
    hand_over(made(60, 1), 9);                                                    // of no lane
    hand_over(made(60, 2), 0, 13);                                                // no Ethernet header
    hand_over(made(60, 3), 0, static_cast<uint16_t>(rig.plan.queue_slot_bytes));  // beyond its slot
    hand_over(made(60, 4), 0);
    const auto slices = receive();
    ASSERT_EQ(slices.size(), 1U);
    EXPECT_EQ(slices[0].bytes[0], 4);
    EXPECT_EQ(io.malformed(), 3U);
    release(slices);
    EXPECT_EQ(room(), 256U) << "no place is lost";
}

TEST_F(PeerPacketIos, ATailThatNoRingHasIsNotFollowed) {
    rig.at<uint64_t>(PeerMemoryMap::to_host_tail) = queue_frames + 1;
    EXPECT_TRUE(receive().empty());
    EXPECT_EQ(io.malformed(), 1U);
    hand_over(made(60, 5), 1);
    EXPECT_EQ(receive().size(), 1U) << "and goes on from there";
}

TEST_F(PeerPacketIos, TakesNoMoreThanItHasPlacesFor) {
    EXPECT_EQ(room(), 256U);
    EXPECT_EQ(room(), 256U) << "all were given back";
    for (uint32_t i = 0; i < queue_frames; i++)
        hand_over(made(60, 1), 0);
    EXPECT_EQ(receive(3).size(), 3U) << "no more than the caller takes";
}

TEST_F(PeerPacketIos, WhatIsSubmittedLeavesHeaderFirst) {
    const Frame frame = made(1000, 3);
    hand_over(frame, 0);
    const auto slices = receive();
    ASSERT_EQ(slices.size(), 1U);
    std::memset(slices[0].bytes - 4, 0xee, 4);  // a VLAN tag more
    const EgressDescriptor out = to(12, slices[0], 4);
    io.submit({&out, 1});
    Frame wanted(4, 0xee);
    wanted.insert(wanted.end(), frame.begin(), frame.end());
    EXPECT_EQ(take(), std::pair(uint8_t{1}, wanted));
    EXPECT_EQ(counters.port(12).tx_packets, 1U);
    EXPECT_EQ(counters.port(12).tx_bytes, 1004U);
    EXPECT_EQ(room(), 256U);
}

TEST_F(PeerPacketIos, WhatCannotLeaveIsDroppedUnderItsName) {
    hand_over(made(60, 1), 0);
    EgressDescriptor out = to(99, receive().at(0));
    io.submit({&out, 1});
    EXPECT_EQ(dropped(99, PP_DROP_NO_EGRESS), 1U);
    while (io.send(11, made(60, 1))) {
    }
    hand_over(made(60, 1), 0);
    out = to(12, receive().at(0));
    io.submit({&out, 1});
    EXPECT_EQ(dropped(12, PP_DROP_EGRESS_FULL), 1U);
    EXPECT_EQ(counters.port(12).tx_packets, 0U);
    EXPECT_EQ(room(), 256U);
}

TEST_F(PeerPacketIos, AFullQueueTakesOneWhenOneWasTaken) {
    uint32_t sent = 0;
    while (io.send(12, made(60, static_cast<uint8_t>(sent))))
        sent++;
    EXPECT_EQ(sent, queue_frames);
    EXPECT_EQ(take()->second, made(60, 0));
    EXPECT_TRUE(io.send(12, made(60, 77)));
    EXPECT_FALSE(io.send(12, made(60, 78)));
}

TEST_F(PeerPacketIos, SendsNoFrameThatIsNone) {
    EXPECT_FALSE(io.send(99, made(60, 1)));
    EXPECT_FALSE(io.send(11, made(14, 1)));
    EXPECT_FALSE(io.send(11, made(rig.plan.queue_slot_bytes - sizeof(PeerDescriptor) + 1, 1)));
    EXPECT_FALSE(take());
    EXPECT_TRUE(io.send(11, made(rig.plan.queue_slot_bytes - sizeof(PeerDescriptor), 1)));
}

TEST_F(PeerPacketIos, APortThatHasGoneIsNobody) {
    io.remove(11);
    hand_over(made(60, 1), 0);
    EXPECT_TRUE(receive().empty());
    EXPECT_FALSE(io.send(11, made(60, 1)));
    EXPECT_TRUE(io.send(12, made(60, 1)));
}

TEST_F(PeerPacketIos, WhatTheDeviceMayStillReadIsReusedWhenItHasGoneOn) {
    (void)receive();
    const uint64_t ticket = epochs.retire_ticket();
    EXPECT_FALSE(epochs.passed(ticket));
    rig.device_goes_on();
    (void)receive();
    EXPECT_FALSE(epochs.passed(ticket)) << "of a turn that may have begun before";
    rig.device_goes_on();
    (void)receive();
    rig.device_goes_on();
    (void)receive();
    EXPECT_TRUE(epochs.passed(ticket));
    EXPECT_FALSE(io.device_is_silent());
}

TEST_F(PeerPacketIos, ADeviceThatStandsStillLosesItsProgramsFirst) {
    host->publish();
    const uint64_t published = host->generation();
    (void)receive();
    const uint64_t ticket = epochs.retire_ticket();
    EXPECT_TRUE(pktpit::test::until([&] {
        EXPECT_TRUE(!epochs.passed(ticket) || host->generation() > published);
        (void)receive();
        return io.device_is_silent();
    }));
    EXPECT_EQ(host->generation(), published + 1);
    EXPECT_TRUE(epochs.passed(ticket));
    rig.device_goes_on();
    (void)receive();
    EXPECT_FALSE(io.device_is_silent());
    EXPECT_FALSE(epochs.passed(epochs.retire_ticket())) << "it is a reader again";
    EXPECT_TRUE(io.take_withdrawn()) << "whoever looks after it has gone on learns of it, too";
    EXPECT_FALSE(io.take_withdrawn());
}

TEST_F(PeerPacketIos, AMemoryThatIsRevokedIsNotLookedAt) {
    hand_over(made(60, 1), 0);
    io.revoke();
    EXPECT_TRUE(receive().empty());
    EXPECT_FALSE(io.send(11, made(60, 1)));
    EXPECT_EQ(rig.at<uint64_t>(PeerMemoryMap::from_host_tail), 0U);
    EXPECT_EQ(rig.at<uint32_t>(PeerMemoryMap::to_host_completions), 0U);
}

}  // namespace
}  // namespace pktpit::router::test
