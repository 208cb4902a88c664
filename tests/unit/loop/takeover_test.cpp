// SPDX-License-Identifier: BSD-3-Clause
// bpf/heartbeat.h, compiled for this side: a worker that moves while the stage takes over, which no test run
// of the program can be made to meet.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <functional>

#include "bpf/abi.h"
#include "fib/lookup.h"

// Instead of bpf/bpf_common.h and bpf/maps.h.
#define PKTPIT_BPF_COMMON_H
#define PKTPIT_BPF_MAPS_H
#define PP_INLINE static inline
#define likely(x) (x)
#define unlikely(x) (x)

namespace pktpit::router {
namespace {

constexpr __u32 port_id = 1, watch_daemon = 1;
pp_order order;
__u64 jiffies = 1000;
__u64 nanoseconds = 1;
/// Called when the stage has told the worker that its frames are void, before it looks at the worker again.
std::function<void()> at_takeover;

pp_order* pp_order_of_sockets() {
    return &order;
}
__u64 bpf_ktime_get_ns() {
    return nanoseconds;
}
__u64 bpf_jiffies64() {
    return jiffies;
}
void take_over(__u32& void_to, __u32 sent) {
    void_to = sent;
    if (at_takeover) at_takeover();
}

#define __sync_lock_test_and_set(pointer, value) take_over(*(pointer), value)
#include "bpf/heartbeat.h"
#undef __sync_lock_test_and_set

class Heartbeat : public testing::Test {
  protected:
    Heartbeat() {
        order = {};
        at_takeover = {};
        order.heartbeat = patience;
        order.heartbeat_ns = patience * nanoseconds_of_jiffy;
        socket.sent = 1;
        socket.since = jiffies;
        EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies)) << "a worker is not known to stand yet";
        jiffies += patience;
    }
    static constexpr __u32 patience = 50;
    static constexpr __u64 nanoseconds_of_jiffy = 1'000'000;
    pp_socket_order& socket = *pp_order_of(&order, port_id* PP_PORT_QUEUES);
};

TEST_F(Heartbeat, stands_in_for_a_worker_that_does_not_move) {
    socket.moves = 1;  // between the stage's two looks, and not since
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    jiffies += patience - 1;
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    jiffies++;
    EXPECT_TRUE(pp_worker_stands(&order, &socket, jiffies));
    EXPECT_EQ(socket.void_to, 1U);
    EXPECT_TRUE(pp_stands_in(&socket));
    socket.settled = 1;
    EXPECT_FALSE(pp_stands_in(&socket));
}

// Jiffies stand still where the CPU that counts them is late.
TEST_F(Heartbeat, the_exact_clock_begins_anew_with_each_move) {
    socket.sent = PP_EXACT_EVERY;
    socket.since = jiffies;
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    nanoseconds += patience * nanoseconds_of_jiffy - 1;
    socket.moves++;
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    nanoseconds++;
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    nanoseconds += patience * nanoseconds_of_jiffy - 1;
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    nanoseconds++;
    EXPECT_TRUE(pp_worker_stands(&order, &socket, jiffies));
}

TEST_F(Heartbeat, a_worker_that_moves_while_it_is_taken_over_keeps_its_frames) {
    at_takeover = [&] { socket.moves++; };
    EXPECT_FALSE(pp_worker_stands(&order, &socket, jiffies));
    EXPECT_FALSE(pp_stands_in(&socket));
    EXPECT_EQ(socket.since, jiffies) << "it has all of its time again";
    EXPECT_EQ(socket.since_ns, 0U);
    EXPECT_EQ(socket.times, 0U);
}

}  // namespace
}  // namespace pktpit::router
