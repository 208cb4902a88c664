// SPDX-License-Identifier: BSD-3-Clause
// What the daemon writes into a peer device's memory, as the simulated device of tests/p2p takes it: it
// believes nothing that it has not verified.
#include "router/vfio/peer_host.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "offload/peer_ops/codec.h"
#include "tests/p2p/peer/table.h"
#include "tests/unit/vfio/peer_rig.h"
#include "tests/until.h"

namespace pktpit::router::test {
namespace {

using offload::PeerMemoryMap;
using offload::PeerRole;
using offload::PeerWindowEntry;

class PeerHosts : public testing::Test {
  protected:
    /// With one port.
    [[nodiscard]] std::unique_ptr<PeerHost> published() const {
        auto host = rig.host();
        host->add(0, PeerRig::lane(1));
        host->publish();
        return host;
    }
    [[nodiscard]] std::optional<test_peer::Table> loaded() const {
        return test_peer::load_table(rig.memory(),
                                     {{PeerRig::registers(1), 0x20000}, {PeerRig::registers(2), 0x20000}});
    }
    [[nodiscard]] std::vector<PeerWindowEntry> windows() const {
        std::vector<PeerWindowEntry> all(rig.control().windows);
        std::memcpy(all.data(), rig.memory().data() + PeerMemoryMap::windows,
                    all.size() * sizeof(PeerWindowEntry));
        return all;
    }
    PeerRig rig;
};

TEST_F(PeerHosts, BeginsWithNothingToExecute) {
    const auto host = rig.host();
    EXPECT_EQ(rig.control().magic, offload::peer_memory_magic);
    EXPECT_EQ(rig.control().bus_address, peer_bus_address);
    EXPECT_EQ(rig.control().generation, 0U);
    EXPECT_EQ(rig.control().serial % 2, 1U) << "a device loads nothing yet";
    EXPECT_FALSE(loaded());
    EXPECT_FALSE(host->loaded());
}

TEST_F(PeerHosts, WhatItPublishesADeviceTakes) {
    const auto host = rig.host();
    host->add(0, PeerRig::lane(1));
    host->add(1, PeerRig::lane(2));
    host->publish();
    const auto table = loaded();
    ASSERT_TRUE(table);
    EXPECT_EQ(table->refused, 0U) << table->refusal;
    EXPECT_TRUE(table->image);
    std::map<uint8_t, std::set<PeerRole>> roles;
    for (const auto& [program, entry] : table->programs) {
        const auto role = static_cast<PeerRole>(entry.role);
        const bool of_queue = role == PeerRole::take || role == PeerRole::hand_over;
        EXPECT_TRUE(of_queue || entry.port == entry.lane + 1);
        roles[of_queue ? 255 : entry.lane].insert(role);
        EXPECT_EQ(program.generation, rig.control().generation);
    }
    const std::set<PeerRole> of_nic{PeerRole::receive, PeerRole::refill, PeerRole::transmit, PeerRole::sent};
    EXPECT_EQ(roles[0], of_nic);
    EXPECT_EQ(roles[1], of_nic);
    EXPECT_EQ(roles[255], (std::set<PeerRole>{PeerRole::take, PeerRole::hand_over}));
}

TEST_F(PeerHosts, WindowsOfAPortLieInItsPartOrAreItsDoorbells) {
    const auto host = rig.host();
    host->add(1, PeerRig::lane(2));
    host->publish();
    const uint64_t part = peer_bus_address + rig.plan.port(1);
    size_t doorbells = 0, inside = 0;
    for (const PeerWindowEntry& window : windows()) {
        const std::string name(window.name, strnlen(window.name, sizeof window.name));
        if (!name.starts_with("p2 ")) continue;
        if (window.flags == PeerWindowEntry::doorbell) {
            doorbells++;
            EXPECT_GE(window.base, PeerRig::registers(2)) << name;
            EXPECT_LT(window.base, PeerRig::registers(2) + 0x20000) << name;
            EXPECT_EQ(window.bytes, 4U) << name;
        } else {
            inside++;
            EXPECT_GE(window.base, part) << name;
            EXPECT_LE(window.base + window.bytes, part + rig.plan.port_bytes) << name;
        }
    }
    EXPECT_EQ(doorbells, 2U);
    EXPECT_EQ(inside, 5U);
}

TEST_F(PeerHosts, AControlOfTheTestADeviceWithoutReachRefuses) {
    const auto host = published();
    const auto table = test_peer::load_table(rig.memory(), {});
    ASSERT_TRUE(table);
    EXPECT_GE(table->refused, 2U) << "both doorbells, and who rings them";
}

TEST_F(PeerHosts, ANewGenerationMakesTheOlderProgramsStale) {
    const auto host = published();
    const auto first = loaded();
    const uint32_t incarnation = first->programs.back().entry.incarnation;
    host->add(1, PeerRig::lane(2));
    host->publish();
    for (const auto& [program, entry] : first->programs)
        EXPECT_LT(program.generation, rig.control().generation);
    const auto second = loaded();
    for (const auto& [program, entry] : second->programs) {
        const bool of_first_lane = entry.lane == 0 && entry.port == 1;
        EXPECT_TRUE(!of_first_lane || entry.incarnation == incarnation) << "its rings go on";
    }
}

TEST_F(PeerHosts, APortThatGoesHasNoProgramsAndOneThatComesBackBeginsAnew) {
    const auto host = published();
    const auto before = loaded();
    host->remove(0);
    host->publish();
    EXPECT_EQ(loaded()->programs.size(), 2U) << "the queues'";
    host->add(0, PeerRig::lane(1));
    host->publish();
    EXPECT_GT(loaded()->programs.back().entry.incarnation, before->programs.back().entry.incarnation);
}

TEST_F(PeerHosts, WithdrawnProgramsComeBackByAPublicationAlone) {
    const auto host = published();
    const uint64_t published = host->generation();
    host->withdraw();
    EXPECT_EQ(host->generation(), published + 1);
    EXPECT_LT(loaded()->programs.front().program.generation, host->generation());
    host->publish();
    EXPECT_GT(host->generation(), published + 1);
    EXPECT_EQ(loaded()->programs.front().program.generation, host->generation());
}

TEST_F(PeerHosts, WhatIsRevokedStaysRevoked) {
    const auto host = published();
    const uint64_t serial = rig.control().serial;
    host->revoke();
    host->withdraw();
    host->publish();
    EXPECT_EQ(rig.control().generation, 0U);
    EXPECT_EQ(rig.control().serial, serial);
}

TEST_F(PeerHosts, TheNextDaemonEndsWhatTheEarlierOneLeftAndIsTakenForNoneOfIt) {
    uint64_t generation = 0, serial = 0;
    uint32_t incarnation = 0;
    {
        const auto earlier = published();
        generation = earlier->generation();
        serial = rig.control().serial;
        incarnation = loaded()->programs.back().entry.incarnation;
        rig.at<uint64_t>(PeerMemoryMap::counters) = 4711;
        rig.at<uint64_t>(PeerMemoryMap::to_host_tail) = 15;
    }
    const uint64_t before = rig.control().turns;
    const TurningDevice device(rig.control());
    rig.settings.peer->patience_ms = 120'000;  // its thread has its turn some time
    const auto next = rig.host();
    EXPECT_EQ(rig.control().generation, 0U);
    EXPECT_GT(offload::load_shared(rig.control().turns), before) << "the device is through with it";
    EXPECT_EQ(rig.at<uint64_t>(PeerMemoryMap::counters), 0U);
    EXPECT_EQ(rig.at<uint64_t>(PeerMemoryMap::to_host_tail), 0U);
    next->add(0, PeerRig::lane(1));
    next->publish();
    EXPECT_GT(next->generation(), generation);
    EXPECT_GT(rig.control().serial, serial);
    const auto now = loaded();
    for (const auto& [program, entry] : now->programs)
        EXPECT_GT(entry.incarnation, incarnation);
}

TEST_F(PeerHosts, WaitsForATurnAndNotForEver) {
    const auto host = rig.host();
    EXPECT_FALSE(host->wait_for_turn(std::chrono::milliseconds(5)));
    const TurningDevice device(rig.control());
    EXPECT_TRUE(host->wait_for_turn(pktpit::test::patience));
}

TEST_F(PeerHosts, SaysWhatTheDeviceSaysAndBelievesNoLength) {
    const auto host = rig.host();
    host->publish();
    EXPECT_FALSE(host->loaded());
    rig.control().loaded = rig.control().serial;
    EXPECT_TRUE(host->loaded());
    EXPECT_EQ(host->refusal(), "");
    rig.control().refused = 1;
    std::memset(rig.control().refusal, 'x', sizeof rig.control().refusal);
    EXPECT_EQ(host->refusal().size(), sizeof rig.control().refusal);
}

// A device that was reset refuses programs at once, before it has been seen to go on.
TEST_F(PeerHosts, ARefusalIsToldWhenTheDeviceGoesOn) {
    using State = PeerHost::State;
    const auto host = rig.host();
    host->publish();
    EXPECT_EQ(host->state(false).kind, State::loads);
    rig.control().loaded = rig.control().serial;
    EXPECT_EQ(host->state(false).kind, State::works);
    const State silent = host->state(true);
    EXPECT_EQ(silent.kind, State::silent);
    rig.control().refused = 1;
    std::strcpy(rig.control().refusal, "it was reset");
    EXPECT_EQ(host->state(true), silent);
    EXPECT_EQ(host->state(false), (State{State::refuses, "it was reset"}));
}

}  // namespace
}  // namespace pktpit::router::test
