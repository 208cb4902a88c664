// SPDX-License-Identifier: BSD-3-Clause
/// Descriptors and registers that no device should write: counted, never followed; and over any sequence of
/// operations each slot comes back exactly once.
#include <random>

#include "tests/unit/nic/rig.h"

namespace pktpit::offload::test {
namespace {

bool is_82574(const ChipUnderTest& chip) {
    return chip.device == 0x10d3;
}

/// Receives one frame whose write-back `change` falsifies. Returns what the driver counted.
NicErrors receive_falsified(const ChipUnderTest& chip, const std::function<void(DescriptorImage&)>& change,
                            bool expect_frame = false) {
    Rig rig(chip);
    rig.start();
    rig.fill(4);
    rig.model->change_rx = change;
    EXPECT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 500, 1)));
    EXPECT_EQ(rig.receive().size(), expect_frame ? 1 : 0);
    EXPECT_EQ(rig.owned_by(Owner::rx_ring), 3) << "its buffer is given back";
    // The next frame is as good as ever.
    const Frame good = make_frame(FrameKind::ipv4_udp, false, 500, 2);
    EXPECT_TRUE(rig.model->receive(good));
    EXPECT_TRUE(rig.receive() == std::vector<Frame>{good});
    rig.stop();
    rig.expect_all_back();
    return rig.nic->errors();
}

void set_header_length(const ChipUnderTest& chip, DescriptorImage& image, uint64_t length) {
    if (is_82574(chip)) {
        image[1] = (image[1] & ~(0xffffULL << 32)) | length << 32;
        image[2] = (image[2] & ~0x3ffULL) | (length & 0x3ff);
    } else {
        image[0] = (image[0] & ~(0x3ffULL << 21)) | (length & 0x3ff) << 21;
    }
}

void set_payload_length(const ChipUnderTest& chip, DescriptorImage& image, uint64_t length) {
    uint64_t& word = is_82574(chip) ? image[2] : image[1];
    const unsigned at = is_82574(chip) ? 16 : 32;
    word = (word & ~(0xffffULL << at)) | length << at;
}

TEST_P(NicTest, CountsLengthsThatCannotBe) {
    const ChipUnderTest chip = GetParam();
    for (const uint64_t length : {0, 1, 13, 129, 1023}) {
        const auto errors =
            receive_falsified(chip, [&](DescriptorImage& image) { set_header_length(chip, image, length); });
        EXPECT_EQ(errors.rx_bad_descriptor, 1) << "header of " << length;
    }
    for (const uint64_t length : {2049, 40000, 65535}) {
        const auto errors =
            receive_falsified(chip, [&](DescriptorImage& image) { set_payload_length(chip, image, length); });
        EXPECT_EQ(errors.rx_bad_descriptor, 1) << "payload of " << length;
    }
    const auto errors =
        receive_falsified(chip, [&](DescriptorImage& image) { set_payload_length(chip, image, 2048); });
    EXPECT_EQ(errors.rx_too_long, 1) << "within the slot, but above max_frame";
    const auto whole = receive_falsified(
        chip, [&](DescriptorImage& image) { set_payload_length(chip, image, 0); }, true);
    EXPECT_EQ(whole.hardware_split, 1) << "the second one";
}

TEST(Nic82574, CountsBytesInBuffersThatItDoesNotHave) {
    const ChipUnderTest& chip = chips[0];
    for (const unsigned at : {32, 48}) {
        const auto errors = receive_falsified(chip, [at](DescriptorImage& image) { image[2] |= 1ULL << at; });
        EXPECT_EQ(errors.rx_bad_descriptor, 1);
    }
    const auto errors = receive_falsified(chip, [](DescriptorImage& image) { image[2] ^= 1; });
    EXPECT_EQ(errors.rx_bad_descriptor, 1) << "two header lengths";
}

TEST_P(StartedNicTest, ARingOutOfStepIsFoundAndAResetMendsIt) {
    rig.fill();
    const Frame frame = make_frame(FrameKind::ipv4_udp, false, 500, 1);
    for (unsigned round = 0; round < 600; round++) {  // more than the ring
        EXPECT_TRUE(rig.nic->in_step());
        ASSERT_TRUE(rig.model->receive(frame));
        EXPECT_TRUE(rig.nic->in_step()) << "what is done and not taken yet is in step";
        ASSERT_EQ(rig.receive().size(), 1U);
        rig.fill();
    }
    rig.model->lose_buffers(128);
    EXPECT_TRUE(rig.nic->in_step()) << "it may be about to write back";
    EXPECT_TRUE(rig.nic->in_step());
    EXPECT_TRUE(rig.model->receive(frame));
    EXPECT_EQ(rig.receive().size(), 0U);
    EXPECT_FALSE(rig.nic->in_step());
    rig.stop();
    rig.expect_all_back();
    rig.start();
    rig.fill();
    for (unsigned look = 0; look < 5; look++)
        EXPECT_TRUE(rig.nic->in_step());
    EXPECT_TRUE(rig.model->receive(frame));
    EXPECT_TRUE(rig.receive() == std::vector<Frame>{frame});
}

TEST_P(NicTest, CountsDescriptorsOfAllOnes) {
    const auto errors = receive_falsified(GetParam(), [](DescriptorImage& image) { image.fill(~0ULL); });
    EXPECT_EQ(errors.rx_error_frames, 1);
}

TEST(Nic82576, HandsUpFramesThatTheChipDidNotSplit) {
    Rig rig(chips[1]);
    rig.model->does_not_split = true;
    rig.start();
    rig.fill(4);
    const Frame frame = make_frame(FrameKind::ipv4_udp, false, 500, 1);
    ASSERT_TRUE(rig.model->receive(frame));
    EXPECT_TRUE(rig.receive() == std::vector<Frame>{frame});
    EXPECT_EQ(rig.last_received[0].header_length, 0);
    EXPECT_FALSE(rig.last_received[0].split);
    EXPECT_EQ(rig.nic->errors().unsplit, 1);
}

TEST_P(StartedNicTest, SaysSplitOnlyIfTheHeaderIsWhole) {
    // A tag, IPv4 options and TCP options: 18 + 60 + 60 bytes of header, for a buffer of 128.
    rig.fill(4);
    Frame frame = make_frame(FrameKind::ipv4_tcp, true, 800, 1);
    frame[18] = std::byte{0x4f};
    frame[18 + 60 + 12] = std::byte{0xf0};
    ASSERT_EQ(header_length(frame), 138);
    ASSERT_TRUE(rig.model->receive(frame));
    EXPECT_TRUE(rig.receive() == std::vector<Frame>{frame});
    EXPECT_EQ(rig.last_received[0].header_length, 128);
    EXPECT_FALSE(rig.last_received[0].split);
}

TEST_P(StartedNicTest, CountsTransmitErrors) {
    rig.model->tx_status = 2;
    rig.transmit({make_frame(FrameKind::ipv4_udp, false, 100, 1)}, 42);
    EXPECT_EQ(rig.complete(), 1);
    EXPECT_EQ(rig.nic->errors().tx_bad_completion, 1);
    rig.expect_all_back();
}

TEST_P(StartedNicTest, IgnoresHeadsAndTailsThatJump) {
    rig.fill(10);
    for (const uint32_t base : {0x2800, 0x3800, 0xc000, 0xe000})
        for (const uint32_t offset : {0x10, 0x18})
            rig.model->overridden[base + offset] = 0xdeadbeef;
    rig.model->read_offsets.clear();
    const Frame frame = make_frame(FrameKind::ipv4_udp, false, 500, 1);
    ASSERT_TRUE(rig.model->receive(frame));
    EXPECT_TRUE(rig.receive() == std::vector<Frame>{frame});
    EXPECT_EQ(rig.transmit({frame}, 42), 1);
    EXPECT_EQ(rig.complete(), 1);
    EXPECT_TRUE(rig.model->read_offsets.empty()) << "no register is read on the packet path";
}

TEST_P(NicTest, ConservesSlotsOverAnySequence) {
    for (uint32_t seed = 1; seed <= 30; seed++) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto below = [&random](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
        NicLayout layout;
        layout.rx_descriptors = 8U << below(4);
        layout.tx_descriptors = 8U << below(4);
        Rig rig(GetParam(), layout, 150);
        rig.start();
        rig.model->hold_transmit = true;
        for (int step = 0; step < 400; step++) {
            switch (below(10)) {
                case 0:
                case 1:
                    rig.fill(below(50));
                    break;
                case 2:
                case 3:
                    if (below(4) == 0)
                        rig.model->change_rx = [&](DescriptorImage& image) {
                            image[below(3)] ^= 1ULL << below(64);
                        };
                    for (uint32_t i = below(30); i > 0; i--)
                        rig.model->receive(make_frame(all_kinds[below(8)], below(2), 60 + below(1459), i));
                    break;
                case 4:
                    rig.receive(1 + below(20));
                    break;
                case 5:
                case 6: {
                    const Frame frame = make_frame(FrameKind::ipv4_udp, false, 60 + below(1459), below(1000));
                    rig.transmit(std::vector<Frame>(below(20), frame), 42 + below(86));
                    break;
                }
                case 7:
                    rig.model->run_transmit(below(40));
                    break;
                case 8:
                    rig.complete(1 + below(20));
                    break;
                default:
                    if (below(10) != 0) break;
                    rig.stop();
                    rig.expect_all_back();
                    ASSERT_TRUE(rig.nic->start(rig.layout, rig.rings(), false));
            }
        }
        rig.stop();
        rig.expect_all_back();
        if (testing::Test::HasFailure()) return;
    }
}

}  // namespace
}  // namespace pktpit::offload::test
