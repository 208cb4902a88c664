// SPDX-License-Identifier: BSD-3-Clause
// The control loop over modelled NICs: the verdict vectors, and what happens at the edges of the model.
#include "router/model/packet_io.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <random>

#include "router/loop/control_loop.h"
#include "tests/unit/forward/heap_image.h"
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

using model::Transfer;

/// Frames in memory: a device's if `live`, else a file's, all captured at once.
class MemoryWire : public Wire {
  public:
    explicit MemoryWire(bool live = false) : event_(live ? eventfd(0, EFD_CLOEXEC) : -1) {}
    [[nodiscard]] const std::string& name() const override { return name_; }
    [[nodiscard]] MacAddress mac() const override { return {}; }
    [[nodiscard]] std::optional<uint32_t> mtu() const override { return {}; }
    void set_mtu(uint32_t) override {}
    [[nodiscard]] bool link_up() const override { return true; }
    [[nodiscard]] bool lost() const override { return false; }
    Frame receive(std::span<std::byte> room) override {
        if (in.empty()) return {};
        const Buffer frame = std::move(in.front());
        in.pop_front();
        std::memcpy(room.data(), frame.data(), std::min(frame.size(), room.size()));
        return {static_cast<uint32_t>(frame.size()), {}};
    }
    bool send(std::span<const std::byte> frame, uint64_t) override {
        if (refuses) return false;
        const auto* bytes = reinterpret_cast<const uint8_t*>(frame.data());
        out.emplace_back(bytes, bytes + frame.size());
        return true;
    }
    [[nodiscard]] bool takes_own_frames() const override { return own_frames; }
    [[nodiscard]] int descriptor() const override { return event_ ? event_.get() : -1; }

    std::deque<Buffer> in;
    std::vector<Buffer> out;
    bool refuses = false;
    bool own_frames = true;

  private:
    Fd event_;
    std::string name_ = "memory";
};

struct Rig {
    explicit Rig(Transfer transfer, bool live = true, const std::string& topology = "four-nics")
        : io(*model::Topology::open(topology), *model::Profile::open("generic"), transfer, counters) {
        fill_test_router(image.image(), image.base());
        for (uint16_t id = 1; id <= 4; id++) {
            wires.push_back(std::make_unique<MemoryWire>(live));
            io.add(id - 1U, id, *wires.back());
        }
        if (live) io.play();
    }
    MemoryWire& wire(uint16_t id) { return *wires[id - 1U]; }
    void run() {
        // A turn ends after so many events of virtual time, with or without packets.
        constexpr int idle_turns = 8;
        for (int idle = 0; idle < idle_turns;)
            idle = loop.turn() != 0 ? 0 : idle + 1;
        for_daemon.pop(SIZE_MAX, [&](const pp_punt& head, std::span<uint8_t> frame) {
            punted.emplace_back(head.port, Buffer(frame.begin(), frame.end()));
        });
    }
    [[nodiscard]] uint64_t counted(uint16_t port, pp_verdict verdict) const {
        return counters.port(port).verdict[verdict];
    }

    HeapImage image;
    WorkerCounters counters;
    std::vector<std::unique_ptr<MemoryWire>> wires;
    ModelPacketIo io;
    fib::Epochs epochs;
    fib::EpochReader reader{epochs};
    FrameQueue for_daemon{1 << 22};
    ControlLoop loop{io, image.view(), reader, counters, for_daemon};
    std::vector<std::pair<uint16_t, Buffer>> punted;
};

/// Those that are frames, of a length that modelled packet memory has room for.
std::vector<Vector> vectors_on_wires() {
    std::vector<Vector> vectors = all_vectors();
    std::erase_if(vectors, [](const Vector& vector) {
        return vector.in.empty() || vector.in.size() > model::largest_frame;
    });
    return vectors;
}

class ModelledRouter : public testing::TestWithParam<std::tuple<Transfer, const char*>> {
  protected:
    ModelledRouter() : rig(std::get<0>(GetParam()), true, std::get<1>(GetParam())) {}
    Rig rig;
};
INSTANTIATE_TEST_SUITE_P(Transfers, ModelledRouter,
                         testing::Combine(testing::Values(Transfer::write, Transfer::read, Transfer::bounce),
                                          testing::Values("four-nics", "two-nics")));

TEST_P(ModelledRouter, EveryVectorLeavesAsForwardSays) {
    const auto vectors = vectors_on_wires();
    EXPECT_GT(vectors.size(), all_vectors().size() * 9 / 10);
    for (const Vector& vector : vectors) {
        SCOPED_TRACE(vector.name);
        const uint64_t before = rig.counted(vector.port, vector.verdict);
        rig.wire(vector.port).in.push_back(vector.in);
        rig.run();
        EXPECT_EQ(rig.counted(vector.port, vector.verdict), before + 1);
        std::map<uint16_t, std::vector<Buffer>> left;
        std::map<uint16_t, std::vector<Buffer>> expected;
        for (uint16_t id = 1; id <= 4; id++)
            if (auto out = std::exchange(rig.wire(id).out, {}); !out.empty()) left[id] = std::move(out);
        if (vector.verdict == PP_FORWARDED) expected[vector.egress_port] = {vector.out};
        EXPECT_EQ(left, expected);
        std::vector<std::pair<uint16_t, Buffer>> queued;
        const auto action = action_of(vector.verdict);
        if (action == PP_ACTION_HOST || action == PP_ACTION_PUNT) queued = {{vector.port, vector.in}};
        EXPECT_EQ(std::exchange(rig.punted, {}), queued);
    }
}

TEST_P(ModelledRouter, NothingOfABackloggedDeviceIsLostDoubledOrChanged) {
    const auto vectors = vectors_on_wires();
    std::mt19937 random(5);
    std::map<uint16_t, std::vector<Buffer>> expected;
    for (int i = 0; i < 20000; i++) {
        const Vector& vector = vectors[random() % vectors.size()];
        rig.wire(vector.port).in.push_back(vector.in);
        if (vector.verdict == PP_FORWARDED) expected[vector.egress_port].push_back(vector.out);
    }
    rig.run();
    for (auto& [port, frames] : expected) {
        std::vector<Buffer>& left = rig.wire(port).out;
        std::ranges::sort(frames);
        std::ranges::sort(left);
        EXPECT_EQ(left, frames) << "port " << port;
        EXPECT_EQ(rig.counters.port(port).tx_packets, frames.size());
    }
}

TEST_P(ModelledRouter, FramesOfOnePortToAnotherStayInOrder) {
    for (uint8_t i = 0; i < 200; i++)
        rig.wire(1).in.push_back(
            frame(arriving, Ipv4{.payload = transport(26u + i * 5u), .tos = 0, .id = i}));
    rig.run();
    ASSERT_EQ(rig.wire(2).out.size(), 200U);
    for (uint8_t i = 0; i < 200; i++)
        EXPECT_EQ(rig.wire(2).out[i][19], i);  // the identification's low byte
}

class ModelPacketIoTest : public testing::Test {
  protected:
    const Buffer to_port2 = frame(arriving, Ipv4{.payload = transport(600)});
    const Buffer to_port3 = frame(arriving, Ipv4{.destination = "10.2.0.9", .payload = transport(600)});
};

TEST_F(ModelPacketIoTest, AFileFasterThanTheModelledRouterLosesUnderNames) {
    Rig rig(Transfer::write, false);
    constexpr size_t sent = 30000;
    const Buffer small = frame(arriving, Ipv4{});
    for (size_t i = 0; i < sent; i++)
        rig.wire(1).in.push_back(small);
    rig.io.play();
    rig.run();
    const uint64_t no_slot = rig.counted(1, PP_DROP_NO_SLOT);
    EXPECT_EQ(rig.wire(2).out.size() + no_slot, sent);
    EXPECT_EQ(rig.wire(2).out.size(), rig.counted(1, PP_FORWARDED));
    EXPECT_EQ(rig.io.latency(1).count(), rig.counted(1, PP_FORWARDED));
    const auto statistics = rig.io.statistics(0);
    const auto value = [&](const char* name) {
        return std::ranges::find(statistics, name, &std::pair<std::string, uint64_t>::first)->second;
    };
    EXPECT_EQ(value("modelled_nic_no_slot"), no_slot);
    EXPECT_EQ(value("modelled_nic_frames_in"), sent);
    EXPECT_GT(value("modelled_wire_to_wire_ns"), 0U);
}

TEST_F(ModelPacketIoTest, FilesBeginOnlyWhenTheyArePlayed) {
    Rig rig(Transfer::write, false);
    rig.wire(1).in.push_back(to_port2);
    rig.run();
    EXPECT_TRUE(rig.wire(2).out.empty());
    rig.io.play();
    rig.run();
    EXPECT_EQ(rig.wire(2).out.size(), 1U);
}

TEST_F(ModelPacketIoTest, WhatIsTooLongIsCounted) {
    Rig rig(Transfer::write);
    rig.wire(1).in.push_back(frame(arriving, Ipv4{.payload = transport(model::largest_frame)}));
    rig.wire(1).in.push_back(to_port2);
    rig.run();
    EXPECT_EQ(rig.counted(1, PP_DROP_RX_ERROR), 1U);
    EXPECT_EQ(rig.wire(2).out.size(), 1U);
}

TEST_F(ModelPacketIoTest, WhatAWireRefusesIsCountedAtItsPort) {
    Rig rig(Transfer::read);
    rig.wire(2).refuses = true;
    rig.wire(1).in.push_back(to_port2);
    rig.run();
    EXPECT_EQ(rig.counted(2, PP_DROP_EGRESS_FULL), 1U);
    EXPECT_EQ(rig.counters.port(2).tx_packets, 0U);
}

TEST_F(ModelPacketIoTest, APortThatIsTakenAwayCanComeBack) {
    Rig rig(Transfer::write);
    for (int round = 0; round < 3; round++) {
        rig.wire(1).in.assign(40, to_port2);
        EXPECT_GT(rig.loop.turn(), 0U);  // some are in the model, some wait
        rig.io.remove(1);
        rig.io.remove(2);
        rig.run();
        EXPECT_TRUE(std::exchange(rig.wire(2).out, {}).size() < 40);
        rig.wire(1).in.clear();
        rig.io.add(0, 1, rig.wire(1));
        rig.io.add(1, 2, rig.wire(2));
        rig.wire(1).in.push_back(to_port2);
        rig.run();
        EXPECT_EQ(std::exchange(rig.wire(2).out, {}).size(), 1U);
    }
    rig.io.remove(2);
    rig.wire(1).in.push_back(to_port2);
    rig.run();
    EXPECT_EQ(rig.counted(2, PP_DROP_NO_EGRESS), 1U);
}

TEST_F(ModelPacketIoTest, FramesOfTheRoutersOwnLeaveWhereTheyAreWanted) {
    Rig rig(Transfer::write);
    EXPECT_TRUE(rig.io.send(2, to_port2));
    rig.run();
    EXPECT_EQ(rig.wire(2).out, std::vector<Buffer>{to_port2});
    EXPECT_EQ(rig.counters.port(2).tx_packets, 0U);
    rig.wire(3).own_frames = false;
    EXPECT_TRUE(rig.io.send(3, to_port3));
    rig.run();
    EXPECT_TRUE(rig.wire(3).out.empty());
    EXPECT_FALSE(rig.io.send(9, to_port2)) << "no such port";
    EXPECT_FALSE(rig.io.send(2, Buffer(model::largest_frame + 1))) << "too long";
}

}  // namespace
}  // namespace pktpit::router::test
