// SPDX-License-Identifier: BSD-3-Clause
// A million frames through rings that are full now and then, with ports that come and go: no slot is ever
// lost, and none has two owners.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/vfio/fake_nic.h"

namespace pktpit::router::test {
namespace {

using offload::Slot;

TEST(PacketIoRandom, AMillionFramesLoseNoSlot) {
    constexpr uint16_t ports = 4;
    constexpr size_t all = 512;
    std::mt19937 random(11);
    const auto below = [&](size_t bound) { return random() % bound; };
    Machine machine(256, 256);
    std::deque<FakeNic> nics;
    std::vector<bool> there(ports + 1);
    for (uint16_t id = 1; id <= ports; id++)
        nics.emplace_back(machine.bus, 16 << id % 3, 8 << id % 4).gather = false;
    const auto nic = [&](uint16_t id) -> FakeNic& { return nics[id - 1U]; };
    const auto direct = [](uint16_t id) { return id <= 2; };
    const Bytes long_frame(1000), short_frame(60);

    uint64_t received = 0;
    uint64_t dropped = 0;
    uint64_t bounced = 0;
    std::set<std::pair<uint8_t, uint32_t>> hands;
    while (received < 1'000'000) {
        const auto id = static_cast<uint16_t>(1 + below(ports));
        if (below(200) == 0) {
            if (there[id]) {
                machine.take_away(id, nic(id));
            } else {
                machine.io->add({id, &nic(id), direct(id), false});
            }
            there[id] = !there[id];
        }
        nic(id).completes_at_most = below(4) == 0 ? 0 : 1 + below(80);
        for (uint16_t port = 1; port <= ports; port++)
            while (nic(port).wire.size() < 32)
                nic(port).wire.push_back({below(4) ? long_frame : short_frame,
                                          below(50)  ? 42U
                                          : below(2) ? 0U
                                                     : 128U,
                                          below(50) == 0});
        machine.io->complete();
        const auto slices = machine.receive(1 + below(64));
        received += slices.size();
        hands.clear();
        for (const auto& slice : slices) {
            ASSERT_TRUE(hands.emplace(slice.slot.region, slice.slot.index).second) << "twice";
            ASSERT_LT(slice.slot.index, 256u);
            ASSERT_EQ(slice.slot.region == SlotMemory::peer_memory, direct(slice.port));
        }
        std::vector<offload::EgressDescriptor> descriptors;
        std::vector<Slot> released;
        for (const auto& slice : slices) {
            const auto to = static_cast<uint16_t>(1 + below(ports + 1U));  // one that is never there, too
            if (below(8) == 0) {
                released.push_back(slice.slot);
            } else {
                descriptors.push_back(Machine::to(to, slice, below(2) ? 8 : 0));
                bounced += direct(slice.port) && to <= ports && !direct(to) && slice.frame_length > 128;
            }
        }
        machine.io->submit(descriptors);
        machine.io->release(released);
        dropped += released.size();
        if (below(4) == 0) (void)machine.io->send(id, below(2) ? long_frame : short_frame);
        size_t held = 0;
        for (const FakeNic& each : nics)
            held += each.held();
        ASSERT_EQ(machine.free_slots() + held, all) << "after " << received;
    }
    uint64_t full = 0;
    uint64_t sent = 0;
    for (uint16_t port = 1; port <= ports; port++) {
        full += machine.counted(port, PP_DROP_EGRESS_FULL);
        sent += machine.counters.port(port).tx_packets;
        dropped += machine.counted(port, PP_DROP_EGRESS_FULL) + machine.counted(port, PP_DROP_NO_EGRESS) +
                   machine.counted(port, PP_DROP_NO_SLOT);
    }
    dropped += machine.counted(ports + 1, PP_DROP_NO_EGRESS);
    EXPECT_EQ(sent + dropped, received) << "each is sent or has a named reason";
    EXPECT_GT(full, 1000u);
    EXPECT_GT(bounced, 10'000u);
    // And at the end all of it is free.
    for (uint16_t port = 1; port <= ports; port++)
        machine.take_away(port, nic(port));
    EXPECT_EQ(machine.free_slots(), all);
}

}  // namespace
}  // namespace pktpit::router::test
