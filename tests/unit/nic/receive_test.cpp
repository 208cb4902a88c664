// SPDX-License-Identifier: BSD-3-Clause
/// Receiving with header split: bytes, ring wraps, and descriptors that no device should write.
#include <algorithm>
#include <random>

#include "tests/unit/nic/rig.h"

namespace pktpit::offload::test {
namespace {

TEST_P(StartedNicTest, SplitsEveryKindOfFrame) {
    rig.fill();
    uint64_t split = 0;
    uint64_t unsplit = 0;
    for (const FrameKind kind : all_kinds)
        for (const bool tagged : {false, true})
            for (const size_t length : {60, 127, 128, 129, 200, 1514, 1518}) {
                if (tagged && length > 1514 + 4) continue;
                const Frame frame = make_frame(kind, tagged, length, static_cast<uint32_t>(length));
                ASSERT_TRUE(rig.model->receive(frame)) << int(kind) << ' ' << length;
                const auto got = rig.receive();
                ASSERT_EQ(got, std::vector<Frame>{frame}) << int(kind) << ' ' << length;
                const RxFrame& last = rig.last_received[0];
                const size_t header = header_length(frame);
                if (last.split) {
                    EXPECT_EQ(last.header_length, header);
                    split += last.payload_length > 0;
                } else {
                    EXPECT_EQ(last.header_length, std::min<size_t>(length, rig.layout.header_bytes));
                    unsplit += last.payload_length > 0;
                }
                if (header == 0 || length > rig.layout.header_bytes) {
                    EXPECT_EQ(last.split, header > 0);
                }
                rig.fill();
            }
    EXPECT_EQ(rig.nic->errors().hardware_split, split);
    EXPECT_EQ(rig.nic->errors().unsplit, unsplit);
    EXPECT_GT(split, 40);
    EXPECT_GT(unsplit, 10);
    EXPECT_EQ(rig.nic->errors().rx_bad_descriptor + rig.nic->errors().rx_too_long, 0);
    rig.stop();
    rig.expect_all_back();
}

TEST_P(NicTest, ReceivesThousandsOfFramesOverManyRingWraps) {
    Rig rig(GetParam(), {.rx_descriptors = 64}, 200);
    rig.start();
    std::mt19937 random(1);
    uint64_t total = 0;
    while (total < 5000) {
        rig.fill(1 + random() % 40);
        std::vector<Frame> in;
        for (size_t i = 1 + random() % 40; i > 0; i--) {
            Frame frame = make_frame(all_kinds[random() % std::size(all_kinds)], random() % 2,
                                     60 + random() % 1459, static_cast<uint32_t>(random()));
            if (rig.model->receive(frame)) in.push_back(std::move(frame));
        }
        ASSERT_EQ(rig.receive(1 + random() % 16), in);
        total += in.size();
    }
    EXPECT_GT(rig.statistic("missed_packets"), 0) << "the ring was empty now and then";
    rig.stop();
    rig.expect_all_back();
}

TEST_P(NicTest, KeepsOneDescriptorEmpty) {
    Rig rig(GetParam(), {.rx_descriptors = 8});
    rig.start();
    EXPECT_EQ(rig.nic->rx_room(), 7);
    EXPECT_EQ(rig.fill(), 7);
    EXPECT_EQ(rig.fill(), 0);
    for (uint32_t i = 0; i < 7; i++)
        EXPECT_TRUE(rig.model->receive(make_frame(FrameKind::arp, false, 60, i)));
    EXPECT_FALSE(rig.model->receive(make_frame(FrameKind::arp, false, 60, 8)));
    EXPECT_EQ(rig.receive().size(), 7);
    EXPECT_EQ(rig.fill(), 7);
}

TEST_P(StartedNicTest, RingsOneDoorbellABatch) {
    const uint64_t before = rig.model->doorbells;
    EXPECT_EQ(rig.fill(100), 100);
    EXPECT_EQ(rig.model->doorbells, before + 1);
    rig.transmit(std::vector<Frame>(50, make_frame(FrameKind::ipv4_udp, false, 200, 1)), 42);
    EXPECT_EQ(rig.model->doorbells, before + 2);
    EXPECT_EQ(rig.nic->fill({}), 0);
    EXPECT_EQ(rig.nic->transmit({}), 0);
    EXPECT_EQ(rig.model->doorbells, before + 2);
}

TEST_P(StartedNicTest, DoesNotTakeAddressesThatLookDone) {
    RxBuffer odd = rig.buffer(0);
    odd.payload++;
    EXPECT_EQ(rig.nic->fill(std::vector{odd}), 0);
    odd = rig.buffer(0);
    odd.header++;
    EXPECT_EQ(rig.nic->fill(std::vector{odd}), 0);
}

TEST_P(NicTest, TakesJumboFramesUpToTheSlot) {
    Rig rig(GetParam(), {.payload_bytes = 10240, .max_frame = 9018}, 300);
    rig.start();
    rig.fill();
    for (const size_t length : {1519, 4000, 9018}) {
        const Frame frame = make_frame(FrameKind::ipv6_tcp, false, length, 1);
        ASSERT_TRUE(rig.model->receive(frame));
        EXPECT_EQ(rig.receive(), std::vector<Frame>{frame});
    }
    rig.model->receive(make_frame(FrameKind::ipv6_tcp, false, 9019, 1));
    EXPECT_TRUE(rig.receive().empty());
    EXPECT_EQ(rig.nic->errors().rx_too_long, 1);
}

TEST_P(StartedNicTest, LeavesLongFramesToTheWireWithoutJumbo) {
    rig.fill();
    EXPECT_FALSE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 1519, 1)));
    EXPECT_GT(rig.statistic("receive_oversize"), 0);
}

TEST_P(NicTest, PassesOverWhatTheDeviceSaysIsDamaged) {
    for (const unsigned bit : {24, 25, 26, 28, 31}) {
        Rig rig(GetParam());
        rig.start();
        rig.fill(4);
        rig.model->change_rx = [bit](DescriptorImage& image) { image[1] |= 1ULL << bit; };
        ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 1)));
        ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 2)));
        EXPECT_EQ(rig.receive().size(), 1);
        EXPECT_EQ(rig.nic->errors().rx_error_frames, 1);
        EXPECT_EQ(rig.owned_by(Owner::rx_ring), 2);
    }
}

TEST_P(StartedNicTest, DoesNotJudgeChecksums) {
    rig.fill(4);
    rig.model->change_rx = [](DescriptorImage& image) { image[1] |= 3ULL << 29; };
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 1)));
    EXPECT_EQ(rig.receive().size(), 1);
}

TEST_P(StartedNicTest, WaitsForDescriptorsInTheirOrder) {
    rig.fill(4);
    // The first descriptor's "done" is late.
    rig.model->change_rx = [](DescriptorImage& image) { image[1] &= ~1ULL; };
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 1)));
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 2)));
    EXPECT_TRUE(rig.receive().empty());
    rig.stop();
    rig.expect_all_back();
}

TEST_P(StartedNicTest, CountsALongFrameOnceAndDropsAllItsSlots) {
    rig.fill(6);
    const Frame frame = make_frame(FrameKind::ipv4_udp, false, 100, 1);
    const auto no_end = [](DescriptorImage& image) { image[1] &= ~2ULL; };
    for (int i = 0; i < 2; i++) {
        rig.model->change_rx = no_end;
        ASSERT_TRUE(rig.model->receive(frame));
    }
    ASSERT_TRUE(rig.model->receive(frame));
    EXPECT_TRUE(rig.receive().empty());
    EXPECT_EQ(rig.nic->errors().rx_too_long, 1);
    EXPECT_EQ(rig.owned_by(Owner::rx_ring), 3);
    ASSERT_TRUE(rig.model->receive(frame));
    EXPECT_EQ(rig.receive(), std::vector<Frame>{frame});
    EXPECT_EQ(rig.nic->errors().rx_too_long, 1);
}

TEST_P(NicTest, DropsAFrameOverSeveralDescriptorsWhole) {
    Rig rig(GetParam(), {.payload_bytes = 1024, .max_frame = 1024});
    rig.start();
    rig.fill(10);
    const Frame fits = make_frame(FrameKind::ipv4_udp, false, 1000, 1);
    // The wire may bring up to 1,518 bytes, whatever the slot holds.
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 1500, 1)));
    ASSERT_TRUE(rig.model->receive(fits));
    EXPECT_EQ(rig.receive(), std::vector<Frame>{fits});
    EXPECT_EQ(rig.nic->errors().rx_too_long, 1);
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::arp, false, 1030, 1)));
    EXPECT_TRUE(rig.receive().empty());
    EXPECT_EQ(rig.nic->errors().rx_too_long, 2);
    EXPECT_EQ(rig.owned_by(Owner::rx_ring), 6);
}

TEST_P(StartedNicTest, ReceivesIntoSmallBatches) {
    rig.fill(40);
    for (uint32_t i = 0; i < 20; i++)
        ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, i)));
    EXPECT_EQ(rig.nic->receive({}, {}), (std::pair<size_t, size_t>{0, 0}));
    EXPECT_EQ(rig.receive(1).size(), 20);
}

}  // namespace
}  // namespace pktpit::offload::test
