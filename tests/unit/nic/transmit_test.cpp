// SPDX-License-Identifier: BSD-3-Clause
/// Sending: bytes, ring wraps, completions in order, frames that cannot be sent.
#include <algorithm>
#include <random>

#include "tests/unit/nic/rig.h"

namespace pktpit::offload::test {
namespace {

TEST_P(StartedNicTest, SendsHeaderAndPayloadAsOneFrame) {
    for (const size_t length : {60, 61, 128, 129, 1514, 1518}) {
        const Frame frame = make_frame(FrameKind::ipv4_udp, false, length, 7);
        for (const size_t header : {14, 42, 60, 128}) {
            EXPECT_EQ(rig.transmit({frame}, header), 1);
            EXPECT_EQ(rig.model->sent.back(), frame) << length << ' ' << header;
            EXPECT_EQ(rig.complete(), 1);
        }
    }
    rig.expect_all_back();
}

TEST_P(StartedNicTest, PadsShortFrames) {
    Frame frame = make_frame(FrameKind::arp, false, 42, 7);
    rig.transmit({frame}, 128);
    frame.resize(60);
    EXPECT_EQ(rig.model->sent, std::vector<Frame>{frame});
}

TEST_P(NicTest, SendsThousandsOfFramesOverManyRingWraps) {
    Rig rig(GetParam(), {.tx_descriptors = 64}, 200);
    rig.start();
    rig.model->hold_transmit = true;
    std::mt19937 random(2);
    std::vector<Frame> expected;
    while (expected.size() < 5000) {
        std::vector<Frame> batch;
        for (size_t i = 1 + random() % 40; i > 0; i--)
            batch.push_back(make_frame(FrameKind::ipv6_udp, false, 60 + random() % 1459,
                                       static_cast<uint32_t>(random())));
        const size_t taken = rig.transmit(batch, 62 + random() % 60);
        expected.insert(expected.end(), batch.begin(), batch.begin() + static_cast<ptrdiff_t>(taken));
        rig.model->run_transmit(random() % 80);
        rig.complete(1 + random() % 16);
    }
    rig.model->run_transmit();
    rig.complete();
    rig.expect_all_back();
    EXPECT_TRUE(rig.model->sent == expected);
}

TEST_P(NicTest, TakesWhatItHasRoomFor) {
    Rig rig(GetParam(), {.tx_descriptors = 16});
    rig.start();
    rig.model->hold_transmit = true;
    const std::vector<Frame> frames(20, make_frame(FrameKind::ipv4_udp, false, 200, 1));
    EXPECT_EQ(rig.transmit(frames, 42), 7) << "two descriptors each, one always empty";
    const std::vector<Frame> short_frames(3, make_frame(FrameKind::arp, false, 60, 1));
    EXPECT_EQ(rig.transmit(short_frames, 128), 1) << "one descriptor is left";
    EXPECT_EQ(rig.transmit(frames, 42), 0);
    EXPECT_EQ(rig.complete(), 0);
    rig.model->run_transmit();
    EXPECT_EQ(rig.complete(), 8);
    std::vector<Frame> expected(7, frames[0]);
    expected.push_back(short_frames[0]);
    EXPECT_TRUE(rig.model->sent == expected);
    EXPECT_EQ(rig.transmit(frames, 42), 7);
}

TEST_P(StartedNicTest, GivesSlotsBackDuringALongBatch) {
    rig.model->hold_transmit = true;
    const std::vector<Frame> frames(200, make_frame(FrameKind::ipv4_udp, false, 200, 1));
    EXPECT_EQ(rig.transmit(frames, 42), 200);
    rig.model->run_transmit(100);
    EXPECT_GT(rig.complete(), 20);
    rig.model->run_transmit();
    rig.complete();
    rig.expect_all_back();
}

TEST_P(StartedNicTest, CompletesIntoSmallBatches) {
    rig.transmit(std::vector<Frame>(30, make_frame(FrameKind::ipv4_udp, false, 200, 1)), 42);
    EXPECT_EQ(rig.nic->completed({}), 0);
    EXPECT_EQ(rig.complete(1), 30);
    rig.expect_all_back();
}

TEST_P(StartedNicTest, RefusesFramesThatNoNicSends) {
    std::vector<TxFrame> frames(4);
    for (uint32_t i = 0; i < 4; i++) {
        const RxBuffer at = rig.buffer(i);
        frames[i] = {at.slot, at.header, at.payload, 42, 100};
    }
    frames[0].header_length = 0;
    frames[1].payload_length = 0xffffffff;
    frames[3].header_length = 70000;
    EXPECT_EQ(rig.nic->transmit(frames), 4);
    EXPECT_EQ(rig.model->sent.size(), 1);
    std::vector<Slot> slots(8);
    ASSERT_EQ(rig.nic->completed(slots), 4);
    std::vector<uint32_t> back;
    for (size_t i = 0; i < 4; i++)
        back.push_back(slots[i].index);
    std::sort(back.begin(), back.end());
    EXPECT_EQ(back, (std::vector<uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(rig.nic->errors().tx_refused, 3);
}

TEST_P(StartedNicTest, StopGivesRefusedFramesBackToo) {
    const RxBuffer at = rig.buffer(5);
    EXPECT_EQ(rig.nic->transmit(std::vector{TxFrame{at.slot, at.header, at.payload, 0, 100}}), 1);
    std::vector<Slot> left;
    EXPECT_TRUE(rig.nic->stop(left));
    EXPECT_EQ(left, std::vector{at.slot});
}

}  // namespace
}  // namespace pktpit::offload::test
