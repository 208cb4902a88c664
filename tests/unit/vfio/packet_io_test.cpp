// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/packet_io.h"

#include <gtest/gtest.h>

#include "tests/unit/vfio/fake_nic.h"

namespace pktpit::router::test {
namespace {

using offload::HeaderSlice;
using offload::Slot;
using Frames = std::vector<Bytes>;

class PacketIos : public testing::Test {
  protected:
    void open(bool second_is_direct = false) {
        machine.io->add({1, &first, true, false});
        machine.io->add({2, &second, second_is_direct, false});
        machine.receive();
    }
    /// Nothing is lost: all slots are in a pool or a ring.
    void expect_all_slots(size_t in_hands = 0) {
        EXPECT_EQ(machine.free_slots() + first.held() + second.held() + in_hands, 128u);
    }
    Machine machine;
    FakeNic first{machine.bus};
    FakeNic second{machine.bus};
};

TEST_F(PacketIos, WithoutPortsThereIsNothing) {
    EXPECT_TRUE(machine.receive().empty());
    machine.io->complete();
    EXPECT_FALSE(machine.io->send(1, make_frame(60, 1)));
}

TEST_F(PacketIos, PortsGetBuffersWhereTheyReach) {
    open();
    ASSERT_EQ(first.filled.size(), 16u);
    ASSERT_EQ(second.filled.size(), 16u);
    std::set<offload::Iova> headers;
    for (const auto& buffer : first.filled) {
        EXPECT_EQ(buffer.slot.region, SlotMemory::peer_memory);
        EXPECT_EQ(buffer.payload, peer_iova + buffer.slot.index * slot_bytes);
        headers.insert(buffer.header);
    }
    for (const auto& buffer : second.filled) {
        EXPECT_EQ(buffer.slot.region, SlotMemory::main_memory);
        EXPECT_EQ(buffer.payload, payloads_iova + buffer.slot.index * slot_bytes);
        headers.insert(buffer.header);
    }
    EXPECT_EQ(headers.size(), 32u) << "a cell each";
    EXPECT_EQ(*headers.begin() % 64, 0u);
    expect_all_slots();
}

TEST_F(PacketIos, ARingLargerThanThePoolTakesWhatThereIs) {
    FakeNic large(machine.bus, 1000);
    machine.io->add({1, &large, true, false});
    machine.receive();
    EXPECT_EQ(large.held(), 64u);
    machine.receive();
    EXPECT_EQ(large.held(), 64u);
}

TEST_F(PacketIos, ASmallMemoryIsSharedOut) {
    FakeNic large(machine.bus, 1000), small(machine.bus, 4), last(machine.bus, 1000);
    machine.io->add({1, &large, true, false});
    machine.io->add({2, &small, true, false});
    machine.io->add({3, &last, true, false});
    machine.receive();
    EXPECT_EQ(large.held(), 21u);
    EXPECT_EQ(small.held(), 4u);
    EXPECT_EQ(last.held(), 21u);
    // What the first receives and sends by a port that does not complete is missed by it alone.
    for (unsigned i = 0; i < 21; i++)
        large.wire.push_back({make_frame(1000, i)});
    last.completes_at_most = 0;
    for (const HeaderSlice& slice : machine.receive())
        machine.submit(Machine::to(3, slice));
    machine.receive();
    for (unsigned i = 0; i < 4; i++)
        small.wire.push_back({make_frame(1000, i)});
    EXPECT_EQ(machine.receive().size(), 4u);
}

TEST_F(PacketIos, SaysWhichNicIsOutOfStep) {
    std::atomic<bool> one = false, two = false;
    machine.io->add({1, &first, true, false, nullptr, &one});
    machine.io->add({2, &second, true, false, nullptr, &two});
    machine.io->look();
    EXPECT_FALSE(one || two);
    second.is_in_step = false;
    machine.io->look();
    EXPECT_FALSE(one);
    EXPECT_TRUE(two);
}

TEST_F(PacketIos, TheDaemonHasItsPartOfMainMemory) {
    FakeNic first_large(machine.bus, 1000), second_large(machine.bus, 1000);
    machine.io->add({1, &first_large, false, false});
    machine.io->add({2, &second_large, false, false});
    machine.receive();
    EXPECT_EQ(first_large.held(), 24u);
    EXPECT_EQ(second_large.held(), 24u);
    EXPECT_TRUE(machine.io->send(1, make_frame(60, 1)));
}

TEST_F(PacketIos, AReceivedFrameIsASlice) {
    open();
    const Bytes frame = make_frame(1000, 5);
    first.wire.push_back({frame});
    second.wire.push_back({frame, 128});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 2u);
    for (const HeaderSlice& slice : slices) {
        const bool is_first = slice.port == 1;
        EXPECT_EQ(slice.length, is_first ? 42 : 128);
        EXPECT_EQ(slice.frame_length, 1000u);
        EXPECT_EQ(slice.veto, PP_NONE);
        EXPECT_EQ(slice.reason, 0);
        EXPECT_NE(slice.timestamp, 0u);
        EXPECT_EQ(slice.slot.region, is_first ? SlotMemory::peer_memory : SlotMemory::main_memory);
        EXPECT_EQ(Bytes(slice.bytes, slice.bytes + slice.length),
                  Bytes(frame.begin(), frame.begin() + slice.length));
        Bytes whole(1000);
        EXPECT_TRUE(machine.io->copy_frame(slice, whole));
        EXPECT_EQ(whole, frame);
        machine.io->release({&slice.slot, 1});
    }
    expect_all_slots();
}

TEST_F(PacketIos, ForwardsFromRingToRingWithoutACopy) {
    open(true);
    const Bytes frame = make_frame(1514, 5);
    first.wire.push_back({frame});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 1u);
    machine.submit(Machine::to(2, slices[0]));
    ASSERT_EQ(second.sent, Frames{frame});
    EXPECT_EQ(second.tx_frames[0].slot, slices[0].slot);
    EXPECT_EQ(second.tx_frames[0].payload, peer_iova + slices[0].slot.index * slot_bytes);
    EXPECT_EQ(machine.counters.port(2).tx_packets, 1u);
    EXPECT_EQ(machine.counters.port(2).tx_bytes, 1514u);
    expect_all_slots();
    machine.io->complete();
    EXPECT_EQ(second.held(), 16u);
    expect_all_slots();
}

TEST_F(PacketIos, APortThatDoesNotReachThePayloadGetsACopy) {
    open();
    for (const uint16_t grown : std::initializer_list<uint16_t>{0, 8, 64}) {
        const Bytes frame = make_frame(1514, grown);
        first.wire.push_back({frame});
        const auto slices = machine.receive();
        ASSERT_EQ(slices.size(), 1u);
        machine.submit(Machine::to(2, slices[0], grown));
        Bytes wanted(grown, 0xdd);
        wanted.insert(wanted.end(), frame.begin(), frame.end());
        EXPECT_EQ(second.sent.back(), wanted);
        EXPECT_EQ(second.tx_frames.back().slot.region, SlotMemory::main_memory);
        expect_all_slots();
    }
    EXPECT_EQ(machine.counters.port(2).tx_packets, 3u);
}

TEST_F(PacketIos, AHeaderAloneNeedsNoCopy) {
    open();
    first.wire.push_back({make_frame(60, 1), 128});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 1u);
    machine.submit(Machine::to(2, slices[0]));
    EXPECT_EQ(second.sent, Frames{make_frame(60, 1)});
    EXPECT_EQ(second.tx_frames[0].slot, slices[0].slot);
    expect_all_slots();
}

TEST_F(PacketIos, WithoutASlotForTheCopyItIsADrop) {
    open();
    std::vector<Slot> taken(64);
    const size_t all = machine.slots->pool(0, 0).take(taken, offload::SlotOwner::control_loop);
    first.wire.push_back({make_frame(1000, 1)});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 1u);
    machine.submit(Machine::to(2, slices[0]));
    EXPECT_EQ(machine.counted(2, PP_DROP_NO_SLOT), 1u);
    EXPECT_TRUE(second.sent.empty());
    expect_all_slots(all);
}

TEST_F(PacketIos, AFullEgressRingIsADropAtTheEgressPort) {
    second.tx_ring_limit = 3;
    open(true);
    for (unsigned i = 0; i < 8; i++)
        first.wire.push_back({make_frame(500, i)});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 8u);
    std::vector<offload::EgressDescriptor> descriptors;
    for (const HeaderSlice& slice : slices)
        descriptors.push_back(Machine::to(2, slice));
    machine.io->submit(descriptors);
    EXPECT_EQ(second.doorbells, 1u);
    EXPECT_EQ(second.sent, (Frames{make_frame(500, 0), make_frame(500, 1), make_frame(500, 2)}));
    EXPECT_EQ(machine.counted(2, PP_DROP_EGRESS_FULL), 5u);
    EXPECT_EQ(machine.counters.port(2).tx_packets, 3u);
    EXPECT_EQ(machine.counters.port(2).tx_bytes, 1500u);
    expect_all_slots();
}

TEST_F(PacketIos, APortThatIsNotThereIsADropAndEachPortHasOneDoorbell) {
    open(true);
    for (unsigned i = 0; i < 6; i++)
        first.wire.push_back({make_frame(500, i)});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 6u);
    const uint16_t ports[] = {2, 200, 1, 2, 255, 1};
    std::vector<offload::EgressDescriptor> descriptors;
    for (size_t i = 0; i < 6; i++)
        descriptors.push_back(Machine::to(ports[i], slices[i]));
    machine.io->submit(descriptors);
    EXPECT_EQ(machine.counted(200, PP_DROP_NO_EGRESS), 1u);
    EXPECT_EQ(machine.counted(255, PP_DROP_NO_EGRESS), 1u);
    EXPECT_EQ(first.sent, (Frames{make_frame(500, 2), make_frame(500, 5)}));
    EXPECT_EQ(second.sent, (Frames{make_frame(500, 0), make_frame(500, 3)}));
    EXPECT_EQ(first.doorbells, 1u);
    EXPECT_EQ(second.doorbells, 1u);
    expect_all_slots();
}

TEST_F(PacketIos, WhatTheNicGivesUpOnIsADropAtTheIngressPort) {
    open();
    first.wire.push_back({make_frame(500, 1), 42, true});
    first.wire.push_back({make_frame(500, 2), 0});  // all of it in the payload
    first.wire.push_back({make_frame(500, 3)});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 1u);
    EXPECT_EQ(slices[0].bytes[0], make_frame(500, 3)[0]);
    EXPECT_EQ(machine.counted(1, PP_DROP_RX_ERROR), 2u);
    expect_all_slots(1);
}

TEST_F(PacketIos, AfterRevocationPayloadIsVetoedAndTheRestGoesOn) {
    open(true);
    first.wire.push_back({make_frame(500, 1)});
    EXPECT_EQ(machine.receive().size(), 1u);
    // As the daemon does it, with the worker paused: everything comes to rest, then the slots go.
    machine.take_away(1, first);
    machine.take_away(2, second);
    ASSERT_TRUE(machine.peer->revoke());
    machine.slots->drop_peer();
    machine.io->add({1, &first, false, true});
    machine.io->add({2, &second, false, false});
    machine.receive();
    EXPECT_EQ(machine.free_slots() + first.held() + second.held(), 64u);
    machine.io->take_back(std::vector<Slot>{{SlotMemory::peer_memory, 3}});  // a late one is nobody's

    first.wire.push_back({make_frame(500, 2)});
    first.wire.push_back({make_frame(60, 3), 128});
    second.wire.push_back({make_frame(500, 4)});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 3u);
    for (const HeaderSlice& slice : slices) {
        const bool lost = slice.port == 1 && slice.frame_length == 500;
        EXPECT_EQ(slice.veto, lost ? PP_DROP_MEMORY_REVOKED : PP_NONE);
        EXPECT_EQ(slice.slot.region, SlotMemory::main_memory);
        // For the host and the slow path it is there all the same.
        Bytes whole(slice.frame_length);
        EXPECT_TRUE(machine.io->copy_frame(slice, whole));
        EXPECT_EQ(whole, make_frame(slice.frame_length, slice.port == 2 ? 4 : lost ? 2 : 3));
        machine.io->release({&slice.slot, 1});
    }
    EXPECT_EQ(machine.free_slots() + first.held() + second.held(), 64u);
}

TEST_F(PacketIos, AFrameInRevokedMemoryCannotBeCopied) {
    open();
    first.wire.push_back({make_frame(500, 1)});
    first.wire.push_back({make_frame(60, 1), 128});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 2u);
    ASSERT_TRUE(machine.peer->revoke());
    Bytes frame(500);
    EXPECT_FALSE(machine.io->copy_frame(slices[0], frame));
    Bytes small(60);
    EXPECT_TRUE(machine.io->copy_frame(slices[1], small)) << "nothing of it was there";
}

TEST(PacketIoClosed, AClosedMappingIsOpenedForACopyOnly) {
    Machine machine(64, 64, false);
    FakeNic nic(machine.bus);
    machine.io->add({1, &nic, true, false});
    machine.receive();
    const Bytes frame = make_frame(1514, 9);
    nic.wire.push_back({frame});
    const auto slices = machine.receive();
    ASSERT_EQ(slices.size(), 1u);
    Bytes whole(1514);
    EXPECT_TRUE(machine.io->copy_frame(slices[0], whole));
    EXPECT_EQ(whole, frame);
    EXPECT_DEATH((void)*static_cast<const volatile uint8_t*>(
                     machine.peer->readable(slices[0].slot.index * slot_bytes)),
                 "");
}

TEST_F(PacketIos, SendsFramesOfTheDaemonOfAllSizes) {
    open();
    for (size_t length = 14; length <= header_bytes + slot_bytes; length += length < 200 ? 1 : 37) {
        first.sent.clear();
        ASSERT_TRUE(machine.io->send(1, make_frame(length, 3))) << length;
        ASSERT_EQ(first.sent, Frames{make_frame(length, 3)});
        ASSERT_EQ(first.tx_frames.back().slot.region, SlotMemory::main_memory);
        machine.io->complete();
    }
    EXPECT_TRUE(machine.io->send(1, make_frame(header_bytes + slot_bytes, 3)));
    EXPECT_FALSE(machine.io->send(1, make_frame(header_bytes + slot_bytes + 1, 3)));
    EXPECT_FALSE(machine.io->send(3, make_frame(60, 3)));
    first.tx_ring_limit = 0;
    EXPECT_FALSE(machine.io->send(1, make_frame(60, 3)));
    expect_all_slots();
}

TEST_F(PacketIos, InterruptsAndLinks) {
    std::atomic<bool> up = false;
    machine.io->add({1, &first, true, false, &up});
    machine.io->add({2, &second, false, false});
    machine.io->arm();
    EXPECT_TRUE(first.interrupts && second.interrupts);
    machine.io->disarm();
    EXPECT_FALSE(first.interrupts || second.interrupts);
    EXPECT_EQ(first.acknowledged, 1);
    EXPECT_EQ(second.acknowledged, 1);
    machine.io->look();
    EXPECT_FALSE(up);
    first.state.up = true;
    machine.io->look();
    EXPECT_TRUE(up);
}

TEST(PacketIoFairness, EachPortGetsItsShareWhileAllAreFlooded) {
    for (const uint16_t ports : std::initializer_list<uint16_t>{2, 3, 4, 8, 20}) {
        Machine machine(1024, 64);
        std::deque<FakeNic> nics;
        for (uint16_t id = 1; id <= ports; id++) {
            FakeNic& nic = nics.emplace_back(machine.bus, 32);
            nic.gather = false;
            machine.io->add({id, &nic, false, false});
        }
        std::vector<uint64_t> received(ports + 1U);
        for (int turn = 0; turn < 400; turn++) {
            for (FakeNic& nic : nics)
                while (nic.wire.size() < 64)
                    nic.wire.push_back({Bytes(60)});
            for (const HeaderSlice& slice : machine.receive()) {
                received[slice.port]++;
                machine.io->release({&slice.slot, 1});
            }
        }
        const auto [least, most] = std::minmax_element(received.begin() + 1, received.end());
        EXPECT_GT(*least, 0u) << ports;
        EXPECT_LT(*most - *least, *most / 10 + 64) << ports;
    }
}

TEST_F(PacketIos, OneBusyPortMayHaveTheWholeBatch) {
    FakeNic busy(machine.bus, 64);
    machine.io->add({1, &busy, true, false});
    machine.receive();
    for (int i = 0; i < 64; i++)
        busy.wire.push_back({make_frame(60, 1), 128});
    EXPECT_EQ(machine.receive().size(), 64u);
}

}  // namespace
}  // namespace pktpit::router::test
