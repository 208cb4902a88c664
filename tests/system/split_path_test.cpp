// SPDX-License-Identifier: BSD-3-Clause
// Several workers on real devices: also run under ThreadSanitizer. Needs root.
#include <random>

#include "tests/system/split_rig.h"

namespace pktpit::router::test {
namespace {

using namespace std::chrono_literals;

/// Sends in bursts until told to stop.
class Traffic {
  public:
    explicit Traffic(Sender sender, size_t burst = 32)
        : thread_([this, burst, sender = std::move(sender)]() mutable {
              while (!stop_) {
                  sent_ += sender.send(burst);
                  std::this_thread::sleep_for(300us);
              }
          }) {}
    ~Traffic() { stop(); }
    Traffic(const Traffic&) = delete;
    Traffic& operator=(const Traffic&) = delete;
    uint64_t stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
        return sent_;
    }

  private:
    std::atomic<bool> stop_ = false;
    std::atomic<uint64_t> sent_ = 0;
    std::thread thread_;
};

uint64_t received_by(const std::vector<WorkerState>& workers, const WorkerCounterSet& counters) {
    uint64_t sum = 0;
    for (const WorkerState& worker : workers)
        sum += counters.of(worker.index).all_ports().rx_packets;
    return sum;
}

// Four queues, two and one, over one to four workers: each queue is one worker's, each frame is counted once.
TEST_F(SplitRig, EveryFrameIsForwardedByWhoeverHasItsQueue) {
    for (const unsigned workers : {1U, 2U, 3U, 4U}) {
        SCOPED_TRACE(workers);
        open(workers);
        size_t served = 0;
        for (const WorkerState& worker : path->workers()) {
            served += worker.queues.size();
            EXPECT_GE(worker.queues.size(), 7 / workers) << "worker " << worker.index;
        }
        EXPECT_EQ(served, 7u);
        const uint64_t before = punted;
        uint64_t sent1 = 0, sent2 = 0, sent3 = 0, daemon = 0;
        auto one = to_port2();
        auto two = to_port3();
        auto three = from_port3();
        auto four = to_daemon();
        for (int i = 0; i < 100; i++) {
            sent1 += one.send(16);
            sent2 += two.send(16);
            sent3 += three.send(16);
            daemon += four.send(4);
            ASSERT_TRUE(until([&] {
                return counted(1, PP_FORWARDED) == sent1 && counted(2, PP_FORWARDED) == sent2 &&
                       counted(3, PP_FORWARDED) == sent3 && poll() == before + daemon;
            })) << counted(1, PP_FORWARDED)
                << " of " << sent1 << ", " << counted(2, PP_FORWARDED) << " of " << sent2 << ", "
                << counted(3, PP_FORWARDED) << " of " << sent3 << ", " << punted - before << " of " << daemon;
        }
        EXPECT_TRUE(until([&] { return counters->port(2).tx_packets == sent1 + sent3; }));
        EXPECT_TRUE(until([&] { return counters->port(3).tx_packets == sent2; }));
        EXPECT_EQ(received_by(path->workers(), *counters), sent1 + sent2 + sent3 + daemon);
        for (unsigned worker = 0; worker < workers; worker++)
            EXPECT_GT(counters->of(worker).all_ports().rx_packets, 0u) << "worker " << worker;
        expect_rest();
        path.reset();
    }
}

TEST_F(SplitRig, ADeviceThatGoesAndComesFiftyTimesTakesNoSlotWithIt) {
    open(2);
    Traffic one(to_port2());
    Traffic two(to_port3());
    for (int i = 0; i < 50; i++) {
        const uint16_t port = i % 5 == 4 ? 3 : 2;
        unplug(port);
        remove(port);
        plug(port);
        add(port);
        poll();
        expect_no_slot_lost();
        if (HasFailure()) return;
    }
    one.stop();
    two.stop();
    expect_rest();
    for (const WorkerState& worker : path->workers())
        EXPECT_EQ(worker.slots->free + worker.slots->receive, worker.slots->total);
    const uint64_t before = counted(1, PP_FORWARDED);
    auto again = to_port2();
    const size_t sent = again.send(100);
    EXPECT_TRUE(until([&] { return counted(1, PP_FORWARDED) == before + sent; })) << "it forwards no more";
}

// A device that is down takes nothing from its sockets: their rings fill up, 1,024 frames each.
TEST_F(SplitRig, FramesForAFullEgressRingAreDroppedByName) {
    open(2);
    run("ip link set p2 down");
    auto sender = to_port2();
    uint64_t sent = 0;
    for (int i = 0; i < 1000; i++) {
        sent += sender.send(16);
        ASSERT_TRUE(until([&] { return counted(1, PP_FORWARDED) + counted(1, PP_DROP_SPLIT_FULL) == sent; }));
    }
    EXPECT_EQ(counted(1, PP_DROP_SPLIT_FULL), 0u);
    ASSERT_TRUE(
        until([&] { return counters->port(2).tx_packets + counted(2, PP_DROP_EGRESS_FULL) == sent; }));
    const uint64_t full = counted(2, PP_DROP_EGRESS_FULL);
    EXPECT_GE(full, sent - 4 * 1024) << "four sockets send by it at the most";
    EXPECT_LT(full, sent);
    expect_no_slot_lost();
    run("ip link set p2 up");
    sent += sender.send(16);  // a worker that sleeps has to be woken
    EXPECT_TRUE(until([&] {
        sent += sender.send(1);
        return all_at_rest();
    })) << "what waited is sent when the device is up";
    expect_no_slot_lost();
}

// What comes in while nobody takes it fills the receive ring; the rest is the kernel's to drop, and counted.
TEST_F(SplitRig, FramesForAFullReceiveRingAreDroppedByName) {
    open(1, config::Polling::interrupt);
    auto sender = from_port3();
    uint64_t sent = 0;
    for (int round = 0; round < 3; round++) {
        const uint64_t before = counted(3, PP_DROP_SPLIT_FULL);
        {
            const auto paused = path->pause();
            for (int i = 0; i < 5000; i++)
                sent += sender.send(1);
        }
        ASSERT_TRUE(until([&] { return counters->port(3).rx_packets == sent; }))
            << counters->port(3).rx_packets << " of " << sent;
        EXPECT_GE(counted(3, PP_DROP_SPLIT_FULL), before + 5000 - 2048);
        EXPECT_EQ(counted(3, PP_FORWARDED) + counted(3, PP_DROP_SPLIT_FULL), sent);
    }
    expect_rest();
}

// The port stage has stood in while a worker stood: what waits in its rings is late, all of it (the rig's
// program gives frames no numbers), and what comes after it is not.
TEST_F(SplitRig, WhatWaitedForAWorkerThatStoodIsDroppedByName) {
    open(2);
    auto sender = to_port2();
    uint64_t sent = sender.send(64);
    ASSERT_TRUE(until([&] { return counted(1, PP_FORWARDED) == sent; }));
    for (uint32_t round = 1; round <= 20; round++) {
        const uint64_t forwarded = counted(1, PP_FORWARDED);
        {
            const auto paused = path->pause();
            sent += sender.send(300);
            stand_in(1, round);
        }
        ASSERT_TRUE(until([&] { return settled(1, round); })) << "round " << round;
        EXPECT_EQ(counted(1, PP_FORWARDED), forwarded);
        EXPECT_EQ(counted(1, PP_DROP_STALE), round * 300U);
        sent += sender.send(64);
        ASSERT_TRUE(until([&] { return counted(1, PP_FORWARDED) == forwarded + 64; }));
    }
    EXPECT_EQ(counters->port(1).rx_packets, sent);
    expect_rest();
}

// What a worker has put into a transmit ring and the kernel not taken from it is late as well.
TEST_F(SplitRig, WhatTheKernelHasNotTakenIsTakenBack) {
    open(2);
    run("ip link set p2 down");
    auto sender = to_port2();
    uint64_t sent = 0;
    for (int i = 0; i < 8; i++) {
        // A new ring has SlotShares::idle_part slots, and which queue a flow has is the kernel's choice: two
        // bursts in one queue fit. A worker fills the ring behind one burst before it takes the next.
        sent += sender.send(50);
        // It counts what it has decided about first, and what it has handed on behind that.
        ASSERT_TRUE(until([&] {
            return counted(1, PP_FORWARDED) == sent && counters->port(2).tx_packets == sent;
        })) << counted(1, PP_FORWARDED)
            << " forwarded, " << counters->port(2).tx_packets << " handed on of " << sent;
    }
    stand_in(1, 1);
    ASSERT_TRUE(until([&] { return settled(1, 1) && counted(2, PP_DROP_STALE) == sent; }))
        << counted(2, PP_DROP_STALE) << " of " << sent;
    EXPECT_EQ(counters->port(2).tx_packets, 0u);
    EXPECT_EQ(counters->port(2).tx_bytes, 0u);
    ASSERT_TRUE(until([&] { return all_at_rest(); })) << where_slots_are();
    run("ip link set p2 up");
    EXPECT_EQ(sender.send(64), 64u);
    ASSERT_TRUE(until([&] { return counters->port(2).tx_packets == 64; }));
    expect_rest();
}

// What the daemon does while packets fly: pauses, ports that come and go, routes that change, grace periods.
TEST_F(SplitRig, TheDaemonsWorkUnderTraffic) {
    open(3);
    Traffic traffic[] = {Traffic(to_port2()), Traffic(to_port3()), Traffic(from_port3()),
                         Traffic(to_daemon(), 4)};
    std::mt19937 random(7);
    const Prefix prefix = *Prefix::parse("10.1.0.0/24");
    const fib::GroupId group = image.lookup(*IpAddress::parse("10.1.0.9"));
    ASSERT_NE(group, 0u);
    for (int step = 0; step < 300 && !HasFailure(); step++) {
        const auto port = static_cast<uint16_t>(1 + random() % ports);
        switch (random() % 6) {
            case 0:
                // The device stays, its sockets do not: the kernel lets go of a queue some time after the
                // close.
                remove(port);
                add(port, random() % 2 == 0);
                add(port);
                expect_no_slot_lost();
                break;
            case 1: {
                const auto paused = path->pause();
                break;
            }
            case 2:
                ASSERT_TRUE(image.set(prefix, group));
                break;
            case 3:
                ASSERT_TRUE(image.erase(prefix));
                epochs.wait();
                break;
            case 4:
                expect_no_slot_lost();
                break;
            default:
                poll();
                break;
        }
        path->tick();
    }
    for (Traffic& one : traffic)
        one.stop();
    expect_rest();
    uint64_t to_daemon = 0, full = 0;
    for (uint16_t port = 1; port <= ports; port++) {
        to_daemon += counted(port, PP_PUNT_NO_NEIGHBOUR);
        full += counted(port, PP_DROP_PUNT_FULL);
    }
    EXPECT_TRUE(until([&] { return poll() == to_daemon; })) << punted << " of " << to_daemon;
    EXPECT_GT(to_daemon, 0u);
    EXPECT_EQ(full, 0u);
}

}  // namespace
}  // namespace pktpit::router::test
