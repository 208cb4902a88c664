// SPDX-License-Identifier: BSD-3-Clause
/// Reset, MAC address, link, start and stop; and devices that misbehave in them.
#include <gmock/gmock.h>

#include "tests/unit/nic/rig.h"

namespace pktpit::offload::test {
namespace {

using testing::HasSubstr;

const auto name_of_chip = [](const auto& chip) { return chip.param.name; };
INSTANTIATE_TEST_SUITE_P(Chips, NicTest, testing::ValuesIn(chips), name_of_chip);
INSTANTIATE_TEST_SUITE_P(Chips, StartedNicTest, testing::ValuesIn(chips), name_of_chip);

TEST(MakeNic, KnowsItsChipsOnly) {
    DmaMemory memory;
    const auto model = chips[0].model(memory);
    EXPECT_EQ(make_nic(0x8086, 0x10d3, *model)->model(), "Intel 82574L (e1000e)");
    EXPECT_NE(make_nic(0x8086, 0x10f6, *model), nullptr);
    EXPECT_EQ(make_nic(0x8086, 0x10c9, *model)->model(), "Intel 82576/I350 (igb)");
    EXPECT_NE(make_nic(0x8086, 0x1521, *model), nullptr);
    EXPECT_EQ(make_nic(0x8086, 0x100e, *model), nullptr);
    EXPECT_EQ(make_nic(0x15b3, 0x10d3, *model), nullptr);
    EXPECT_THAT(supported_nics(), testing::Contains("Intel 82574L (8086:10d3)"));
}

TEST_P(StartedNicTest, ReadsItsMacAddress) {
    EXPECT_EQ(rig.nic->mac().to_string(), "02:00:00:00:00:01");
}

TEST_P(NicTest, RefusesAMacAddressThatIsNone) {
    for (const uint32_t low : {0U, 0x00000001U}) {
        Rig rig(GetParam());
        rig.model->overridden = {{0x5400, low}, {0x5404, 1U << 31}};
        const auto reset = rig.nic->reset();
        ASSERT_FALSE(reset);
        EXPECT_THAT(reset.error().message, HasSubstr("MAC"));
    }
    Rig rig(GetParam());
    rig.model->overridden = {{0x5404, 0x0100}};
    EXPECT_FALSE(rig.nic->reset());
}

TEST_P(NicTest, StandsAMissingEeprom) {
    Rig rig(GetParam());
    rig.model->no_eeprom = true;
    rig.start();
    EXPECT_GT(rig.fill(), 0);
}

TEST_P(NicTest, GivesUpOnAResetThatNeverEnds) {
    Rig rig(GetParam());
    rig.model->never_ending_reset = true;
    const auto reset = rig.nic->reset();
    ASSERT_FALSE(reset);
    EXPECT_THAT(reset.error().message, HasSubstr("reset"));
    EXPECT_LT(rig.delay.waited, std::chrono::seconds(1));
}

TEST_P(NicTest, SaysThatADeadDeviceDoesNotAnswer) {
    Rig rig(GetParam());
    rig.model->dead = true;
    EXPECT_FALSE(rig.nic->reset());
    EXPECT_GT(rig.nic->errors().dead_reads, 0);
    EXPECT_LT(rig.delay.waited, std::chrono::seconds(1));
}

TEST_P(StartedNicTest, ReportsItsLink) {
    EXPECT_EQ(rig.nic->link(), (NicLink{true, 1000, true}));
    rig.model->set_link(false);
    EXPECT_EQ(rig.nic->link(), NicLink{});
    rig.model->dead = true;
    EXPECT_EQ(rig.nic->link(), NicLink{});
}

TEST_P(NicTest, WakesAPhyThatWasPoweredDown) {
    Rig rig(GetParam());
    rig.model->phy_powered_down = true;
    rig.start();
    EXPECT_FALSE(rig.model->phy_powered_down);
    EXPECT_TRUE(rig.nic->link().up);
}

TEST_P(NicTest, StartsNegotiationWhereThereIsNoLink) {
    Rig rig(GetParam());
    rig.model->reset_ends_link = true;
    rig.start();
    EXPECT_TRUE(rig.nic->link().up);
    rig.stop();
    ASSERT_TRUE(rig.nic->start(rig.layout, rig.rings(), false));
    EXPECT_TRUE(rig.nic->link().up);
}

TEST_P(NicTest, RefusesLayoutsThatItCannotDo) {
    const auto error = [](NicLayout layout) {
        Rig rig(GetParam());
        EXPECT_TRUE(rig.nic->reset());
        const auto started = rig.nic->start(layout, rig.rings(), false);
        EXPECT_FALSE(started);
        return started ? std::string() : started.error().where;
    };
    EXPECT_EQ(error({.rx_descriptors = 100}), "rx_descriptors");
    EXPECT_EQ(error({.rx_descriptors = 0}), "rx_descriptors");
    EXPECT_EQ(error({.tx_descriptors = 4}), "tx_descriptors");
    EXPECT_EQ(error({.tx_descriptors = 8192}), "tx_descriptors");
    EXPECT_EQ(error({.header_bytes = 100}), "header_bytes");
    EXPECT_EQ(error({.header_bytes = 1024}), "header_bytes");
    EXPECT_EQ(error({.payload_bytes = 0}), "payload_bytes");
    EXPECT_EQ(error({.payload_bytes = 65536}), "payload_bytes");
    EXPECT_EQ(error({.payload_bytes = 2048, .max_frame = 9000}), "max_frame");
    EXPECT_EQ(error({.rx_descriptors = 4096}), "rings");
    Rig rig(GetParam());
    ASSERT_TRUE(rig.nic->reset());
    DmaBuffer odd = rig.rings();
    odd.iova += 64;
    EXPECT_FALSE(rig.nic->start(rig.layout, odd, false));
}

TEST_P(NicTest, StartsOnlyAfterAReset) {
    Rig rig(GetParam());
    EXPECT_FALSE(rig.nic->start(rig.layout, rig.rings(), false));
    EXPECT_EQ(rig.nic->fill(std::vector{rig.buffer(0)}), 0);
    EXPECT_EQ(rig.nic->rx_room(), 0);
    EXPECT_EQ(rig.nic->transmit(std::vector<TxFrame>(1)), 0);
    rig.start();
    EXPECT_FALSE(rig.nic->start(rig.layout, rig.rings(), false)) << "twice";
}

TEST_P(NicTest, DoesNothingUntilItIsStartedAndAfterItIsStopped) {
    Rig rig(GetParam());
    ASSERT_TRUE(rig.nic->reset());
    EXPECT_FALSE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 1)));
    rig.start();
    rig.fill();
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 1)));
    EXPECT_TRUE(rig.stop());
    rig.expect_all_back();
    const uint64_t writes = rig.memory.writes;
    EXPECT_FALSE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 100, 2)));
    rig.model->run_transmit();
    EXPECT_EQ(rig.memory.writes, writes);
    EXPECT_EQ(rig.nic->fill(std::vector{rig.buffer(0)}), 0);
}

TEST_P(NicTest, StartsAgainAfterAStop) {
    for (const bool keeps : {false, true}) {
        Rig rig(GetParam());
        rig.model->reset_keeps_registers = keeps;
        rig.start();
        for (uint32_t round = 0; round < 4; round++) {
            rig.fill(10 + round);
            const Frame frame = make_frame(FrameKind::ipv6_udp, false, 300, round);
            ASSERT_TRUE(rig.model->receive(frame));
            EXPECT_EQ(rig.receive(), std::vector<Frame>{frame});
            EXPECT_EQ(rig.transmit({frame}, 62), 1);
            EXPECT_EQ(rig.model->sent.back(), frame);
            EXPECT_TRUE(rig.stop());
            rig.expect_all_back();
            const auto started = rig.nic->start(rig.layout, rig.rings(), false);
            ASSERT_TRUE(started) << started.error().to_string();
        }
    }
}

TEST_P(StartedNicTest, GivesItsSlotsBackWhenItIsStopped) {
    rig.model->hold_transmit = true;
    EXPECT_EQ(rig.fill(100), 100);
    EXPECT_EQ(rig.transmit(std::vector<Frame>(40, make_frame(FrameKind::ipv4_udp, false, 100, 1)), 42), 40);
    rig.model->run_transmit(20);
    EXPECT_EQ(rig.owned_by(Owner::rx_ring) + rig.owned_by(Owner::tx_ring), 140);
    EXPECT_TRUE(rig.stop());
    rig.expect_all_back();
    EXPECT_TRUE(rig.stop()) << "twice is as good as once";
}

TEST_P(StartedNicTest, ResetsADeviceThatDoesNotComeToRest) {
    rig.fill(5);
    rig.model->never_at_rest = true;
    EXPECT_FALSE(rig.stop());
    rig.expect_all_back();
    EXPECT_LT(rig.delay.waited, std::chrono::seconds(2));
}

TEST_P(StartedNicTest, SurvivesItsRemoval) {
    rig.fill(50);
    rig.model->hold_transmit = true;
    rig.transmit(std::vector<Frame>(4, make_frame(FrameKind::ipv4_tcp, false, 800, 1)), 66);
    rig.model->dead = true;
    rig.fill(5);
    EXPECT_TRUE(rig.receive().empty());
    EXPECT_EQ(rig.complete(), 0);
    rig.nic->acknowledge_interrupt();
    rig.nic->set_interrupts(true);
    rig.nic->set_interrupts(false);
    for (const auto& [name, value] : rig.nic->statistics())
        EXPECT_LT(value, 1000) << name;
    EXPECT_FALSE(rig.stop());
    rig.expect_all_back();
    EXPECT_GT(rig.nic->errors().dead_reads, 3);
    EXPECT_FALSE(rig.nic->start(rig.layout, rig.rings(), false));
    EXPECT_LT(rig.delay.waited, std::chrono::seconds(2));
}

TEST_P(NicTest, NoticesThatConfigurationDoesNotStick) {
    Rig rig(GetParam());
    ASSERT_TRUE(rig.nic->reset());
    rig.model->overridden = {{0x0100, 0}};
    EXPECT_FALSE(rig.nic->start(rig.layout, rig.rings(), false));
}

TEST_P(NicTest, InterruptsOnReceiveTransmitAndLink) {
    for (const bool clears : {true, false}) {
        Rig rig(GetParam());
        rig.model->icr_clears_on_read = clears;
        rig.start();
        rig.fill();
        const Frame frame = make_frame(FrameKind::ipv4_udp, false, 200, 1);
        ASSERT_TRUE(rig.model->receive(frame));
        EXPECT_EQ(rig.model->interrupts, 0) << "off after start";
        rig.nic->set_interrupts(true);
        EXPECT_EQ(rig.model->interrupts, 1) << "for what came before";
        rig.nic->acknowledge_interrupt();
        ASSERT_TRUE(rig.model->receive(frame));
        EXPECT_EQ(rig.model->interrupts, 2);
        rig.nic->acknowledge_interrupt();
        rig.transmit({frame}, 42);
        EXPECT_EQ(rig.model->interrupts, 3);
        rig.nic->acknowledge_interrupt();
        rig.model->set_link(false);
        EXPECT_EQ(rig.model->interrupts, 4);
        rig.nic->acknowledge_interrupt();
        rig.nic->set_interrupts(false);
        rig.model->set_link(true);
        rig.transmit({frame}, 42);
        EXPECT_EQ(rig.model->interrupts, 4);
    }
}

TEST_P(StartedNicTest, AddsUpStatisticsThatClearOnRead) {
    rig.fill();
    for (uint32_t round = 1; round <= 3; round++) {
        const Frame frame = make_frame(FrameKind::ipv4_udp, false, 996, round);
        ASSERT_TRUE(rig.model->receive(frame));
        rig.transmit({frame}, 42);
        EXPECT_EQ(rig.statistic("good_packets_received"), round);
        EXPECT_EQ(rig.statistic("good_octets_received"), 1000 * round);
        EXPECT_EQ(rig.statistic("good_packets_transmitted"), round);
        EXPECT_EQ(rig.statistic("good_octets_transmitted"), 1000 * round);
    }
    EXPECT_EQ(rig.statistic("missed_packets"), 0);
    ASSERT_TRUE(rig.model->receive(make_frame(FrameKind::ipv4_udp, false, 996, 9)));
    rig.stop();
    ASSERT_TRUE(rig.nic->start(rig.layout, rig.rings(), false));
    EXPECT_EQ(rig.statistic("good_packets_received"), 4) << "over a stop";
    ASSERT_TRUE(rig.nic->reset());
    EXPECT_EQ(rig.statistic("good_packets_received"), 0);
}

TEST_P(StartedNicTest, CountsOctetsBeyond32Bits) {
    rig.model->write(0x4088, 0xfffffff0);
    rig.model->write(0x408c, 2);
    EXPECT_EQ(rig.statistic("good_octets_received"), 0x2'ffff'fff0);
    EXPECT_EQ(rig.statistic("good_octets_received"), 0x2'ffff'fff0);
}

TEST_P(NicTest, TakesThePromisedAddressesOnly) {
    const auto to = [](std::initializer_list<int> mac) {
        Frame frame = make_frame(FrameKind::ipv4_udp, false, 100, 1);
        std::transform(mac.begin(), mac.end(), frame.begin(),
                       [](int byte) { return static_cast<std::byte>(byte); });
        return frame;
    };
    Rig rig(GetParam());
    rig.model->reset_keeps_registers = true;
    rig.start();
    rig.fill();
    EXPECT_TRUE(rig.model->receive(to({2, 0, 0, 0, 0, 1})));
    EXPECT_TRUE(rig.model->receive(to({255, 255, 255, 255, 255, 255})));
    EXPECT_TRUE(rig.model->receive(to({0x33, 0x33, 0, 0, 0, 1})));
    EXPECT_FALSE(rig.model->receive(to({2, 0, 0, 0, 0, 2})));
    rig.stop();
    ASSERT_TRUE(rig.nic->start(rig.layout, rig.rings(), true));
    rig.fill();
    EXPECT_TRUE(rig.model->receive(to({2, 0, 0, 0, 0, 2})));
}

}  // namespace
}  // namespace pktpit::offload::test
