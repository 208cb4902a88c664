// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/deficit_round_robin.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

namespace pktpit::router {
namespace {

/// Ports whose frames have one size each, and always another frame waiting, or so many.
struct Ports {
    struct Port {
        int64_t bytes = 0;
        uint64_t waiting = UINT64_MAX;
        uint64_t taken = 0;
    };
    explicit Ports(std::vector<Port> all) : ports(std::move(all)) { turns.resize(ports.size()); }

    /// One receive() of a worker.
    size_t batch(size_t room = 64) {
        return turns.run(room, [&](size_t index, size_t most, int64_t& deficit) {
            Port& port = ports[index];
            size_t taken = 0;
            while (taken < most && deficit > 0 && port.waiting != 0) {
                deficit -= port.bytes + DeficitRoundRobin::wire_overhead;
                port.waiting--;
                port.taken++;
                taken++;
            }
            return taken;
        });
    }
    /// Share of the bytes on the wire.
    [[nodiscard]] double share(size_t index) const {
        double sum = 0;
        for (const Port& port : ports)
            sum += static_cast<double>(port.taken) * static_cast<double>(port.bytes + 24);
        return static_cast<double>(ports[index].taken) * static_cast<double>(ports[index].bytes + 24) / sum;
    }

    std::vector<Port> ports;
    DeficitRoundRobin turns;
};

TEST(DeficitRoundRobin, PortsUnderOverloadGetTheSameShareOfBytesWhateverTheirFrames) {
    Ports ports({{.bytes = 60}, {.bytes = 1514}, {.bytes = 9000}, {.bytes = 590}});
    for (int i = 0; i < 20'000; i++)
        ASSERT_EQ(ports.batch(), 64u);
    for (size_t port = 0; port < 4; port++)
        EXPECT_NEAR(ports.share(port), 0.25, 0.002) << port;
    EXPECT_NEAR(static_cast<double>(ports.ports[0].taken) / static_cast<double>(ports.ports[1].taken),
                (1514.0 + 24) / (60 + 24), 0.2);
}

TEST(DeficitRoundRobin, NobodyWaitsLongerThanAQuantumOfEachOther) {
    Ports ports({{.bytes = 60}, {.bytes = 60}, {.bytes = 1514, .waiting = 0}});
    for (int i = 0; i < 100; i++)
        ports.batch();
    const uint64_t before = ports.ports[0].taken + ports.ports[1].taken;
    ports.ports[2].waiting = 1;
    while (ports.ports[2].taken == 0)
        ports.batch(1);
    const uint64_t others = ports.ports[0].taken + ports.ports[1].taken - before;
    EXPECT_LE(others, 2 * (DeficitRoundRobin::quantum / 84 + 2));
}

TEST(DeficitRoundRobin, WhatOthersDoNotUseIsForWhoHasPackets) {
    Ports ports({{.bytes = 60, .waiting = 0}, {.bytes = 1514}, {.bytes = 60, .waiting = 10}});
    EXPECT_EQ(ports.batch(), 64u);
    EXPECT_EQ(ports.batch(), 64u);
    EXPECT_EQ(ports.ports[2].taken, 10u);
    EXPECT_EQ(ports.ports[1].taken, 118u);
}

TEST(DeficitRoundRobin, AnIdlePortSavesNothingUp) {
    Ports ports({{.bytes = 60, .waiting = 0}, {.bytes = 60}});
    for (int i = 0; i < 1000; i++)
        ports.batch();
    ports.ports[0].waiting = UINT64_MAX;
    ports.ports[1].taken = 0;
    for (int i = 0; i < 1000; i++)
        ports.batch();
    EXPECT_NEAR(ports.share(0), 0.5, 0.02);
}

TEST(DeficitRoundRobin, AFrameLongerThanAQuantumIsPaidForLater) {
    Ports ports({{.bytes = 4 * DeficitRoundRobin::quantum}, {.bytes = 60}});
    for (int i = 0; i < 20'000; i++)
        ASSERT_EQ(ports.batch(), 64u);
    EXPECT_NEAR(ports.share(0), 0.5, 0.01);
}

TEST(DeficitRoundRobin, EmptyAndSingle) {
    Ports nothing({});
    EXPECT_EQ(nothing.batch(), 0u);
    Ports idle({{.bytes = 60, .waiting = 0}, {.bytes = 60, .waiting = 0}});
    EXPECT_EQ(idle.batch(), 0u);
    Ports one({{.bytes = 9000, .waiting = 100}});
    EXPECT_EQ(one.batch(), 64u) << "alone it has no quantum";
    EXPECT_EQ(one.batch(), 36u);
}

}  // namespace
}  // namespace pktpit::router
