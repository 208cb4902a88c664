// SPDX-License-Identifier: BSD-3-Clause
// The daemon's side of the words that it shares with port stages.
#include "router/xdp/heartbeat.h"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>

namespace pktpit::router {
namespace {

constexpr uint64_t millisecond = 1'000'000;

class HeartbeatTest : public testing::Test {
  protected:
    pp_socket_order& socket(uint16_t port, uint32_t queue) {
        return order->sockets[port * size_t{PP_PORT_QUEUES} + queue];
    }
    std::unique_ptr<pp_order> order = std::make_unique<pp_order>();
    Heartbeat heartbeat{*order};
};

TEST(Jiffies, AreNeverMoreThanTheTimeAndNeverOne) {
    timespec each{};
    ASSERT_EQ(clock_getres(CLOCK_MONOTONIC_COARSE, &each), 0);
    const auto jiffy = static_cast<uint64_t>(each.tv_nsec);
    EXPECT_EQ(jiffies_in(0), 0U);
    EXPECT_EQ(jiffies_in(1), 2U);
    for (uint64_t ms : {1, 5, 20, 77, 10'000}) {
        const uint64_t jiffies = jiffies_in(ms * millisecond);
        EXPECT_TRUE(jiffies == 2 || jiffies * jiffy <= ms * millisecond) << ms;
        EXPECT_GT((jiffies + 1) * jiffy, ms * millisecond) << ms;
    }
}

TEST_F(HeartbeatTest, TellsThePortStagesWhatIsConfigured) {
    heartbeat.configure({});
    EXPECT_EQ(order->heartbeat, jiffies_in(20 * millisecond));
    EXPECT_EQ(order->heartbeat_ns, 20 * millisecond);
    EXPECT_EQ(order->hold, 0U) << "forward";
    EXPECT_FALSE(heartbeat.watches_daemon());
    heartbeat.configure({0, config::OnDaemonLoss::kernel, 3});
    EXPECT_EQ(order->heartbeat, 0U);
    heartbeat.configure({1, config::OnDaemonLoss::kernel, 3});
    EXPECT_EQ(order->heartbeat, 2U);
    EXPECT_GE(order->heartbeat_ns, 2 * millisecond)
        << "two jiffies, of which none has less than a millisecond";
    EXPECT_EQ(order->hold, jiffies_in(3000 * millisecond));
    EXPECT_NE(order->beat, order->beat_seen) << "a stage that begins now has seen the daemon";
    EXPECT_TRUE(heartbeat.watches_daemon());
}

TEST_F(HeartbeatTest, Beats) {
    for (uint32_t i = 1; i < 5; i++) {
        heartbeat.beat(i * 100 * millisecond);
        EXPECT_EQ(order->beat, i);
    }
}

TEST_F(HeartbeatTest, SumsOverAPortsQueues) {
    socket(2, 0).times = 3;
    socket(2, 0).packets = 1000;
    socket(2, 15).times = 1;
    socket(2, 15).packets = 7;
    socket(3, 0).times = 100;
    StandIn sum = heartbeat.stand_in(2);
    EXPECT_EQ(sum.times, 4U);
    EXPECT_EQ(sum.packets, 1007U);
    EXPECT_FALSE(sum.now);
    socket(2, 15).standing = 1;
    EXPECT_FALSE(heartbeat.stands_in(2, 15)) << "over, though no packet has come since";
    socket(2, 15).void_to = 9;
    EXPECT_TRUE(heartbeat.stands_in(2, 15));
    EXPECT_TRUE(heartbeat.stand_in(2).now);
    heartbeat.forget(2);
    EXPECT_EQ(heartbeat.stand_in(2).packets, 0U);
    EXPECT_EQ(heartbeat.stand_in(3).times, 100U);
}

}  // namespace
}  // namespace pktpit::router
