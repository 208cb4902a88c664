// SPDX-License-Identifier: BSD-3-Clause
// What follows from an event for many routes is told in turns, with other events in between: between two
// turns each prefix has its former or its present route, and in the end all is as if it had been told at
// once.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <random>

#include "router/kernel/kernel_state.h"
#include "router/kernel/message_queue.h"
#include "tests/unit/kernel/recorder.h"

namespace pktpit::router {
namespace {

constexpr unsigned prefixes = 300;

Prefix prefix_of(unsigned number, bool v4) {
    if (v4) return Prefix::of(IpAddress::v4(0x64400000 + (number << 8)), 24);
    const std::array<uint8_t, 16> bytes{
        0x20, 0x01, 0x0d, 0xb8, static_cast<uint8_t>(number >> 8), static_cast<uint8_t>(number)};
    return Prefix::of(IpAddress::v6(bytes.data()), 48);
}

LinkEvent link(uint32_t ifindex, bool up) {
    LinkEvent event;
    event.ifindex = ifindex;
    event.name = "eth" + std::to_string(ifindex);
    event.admin_up = event.running = event.up = up;
    return event;
}

RouteEvent route(unsigned number, uint32_t ifindex, bool v4, uint32_t metric) {
    RouteEvent event;
    event.prefix = prefix_of(number, v4);
    event.table = RT_TABLE_MAIN;
    event.protocol = RTPROT_BIRD;
    event.type = RTN_UNICAST;
    event.metric = metric;
    event.creates = true;
    event.next_hops = {{ifindex, IpAddress::v4(0x0a000001), 1, false}};
    if (!v4) event.next_hops[0].gateway = prefix_of(9, false).address;
    return event;
}

/// Feeds the same events to two states: one settles after each, one in turns of a few steps.
class Twins {
  public:
    void consume(const KernelEvent& event) {
        at_once.consume(event);
        at_once.settle();
        in_turns.consume(event);
    }
    bool turn(uint64_t steps) {
        Turn turn = Turn::of_steps(steps);
        return in_turns.settle(turn);
    }
    Recorder whole, parts;
    KernelState at_once{RouteFilter{true, RT_TABLE_MAIN, {}}, whole};
    KernelState in_turns{RouteFilter{true, RT_TABLE_MAIN, {}}, parts};
};

TEST(KernelTurns, one_turn_tells_no_more_than_its_steps) {
    Twins twins;
    twins.consume(link(2, true));
    for (unsigned i = 0; i < prefixes; ++i)
        twins.consume(route(i, 2, true, 0));
    ASSERT_EQ(twins.parts.routes.size(), prefixes);
    twins.consume(link(2, false));
    EXPECT_TRUE(twins.whole.routes.empty());
    for (unsigned told = 10; told < prefixes; told += 10) {
        EXPECT_TRUE(twins.turn(10));
        EXPECT_EQ(twins.parts.routes.size(), prefixes - told);
        EXPECT_EQ(twins.in_turns.routes().unsettled(), prefixes - told);
    }
    // A route that comes meanwhile is told at once, and stays.
    twins.consume(link(3, true));
    twins.consume(route(prefixes - 1, 3, true, 0));
    EXPECT_EQ(twins.parts.routes.at(prefix_of(prefixes - 1, true)).next_hops[0].ifindex, 3U);
    while (twins.turn(10)) {
    }
    EXPECT_EQ(twins.parts.routes, twins.whole.routes);
    EXPECT_EQ(twins.in_turns.routes().prefixes(), 1U);
}

TEST(KernelTurns, devices_that_flap_do_not_keep_a_walk_from_its_end) {
    Twins twins;
    twins.consume(link(2, true));
    twins.consume(link(3, true));
    for (unsigned i = 0; i < prefixes; ++i)
        twins.consume(route(i, i == 0 ? 3 : 2, true, 0));
    twins.consume(link(2, false));
    // Each turn another change: the walk goes on all the same.
    for (unsigned turn = 0; turn < prefixes / 10 + 1; ++turn) {
        twins.consume(link(3, turn % 2 == 0));
        (void)twins.turn(10);
    }
    EXPECT_LE(twins.parts.routes.size(), 1U);
    while (twins.turn(10)) {
    }
    EXPECT_EQ(twins.parts.routes, twins.whole.routes);
}

TEST(KernelTurns, random_changes_between_turns_end_as_if_told_at_once) {
    for (uint32_t seed = 1; seed <= 40; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
        Twins twins;
        for (const uint32_t ifindex : {2U, 3U, 4U})
            twins.consume(link(ifindex, true));
        for (unsigned step = 0; step < 1500; ++step) {
            const unsigned choice = below(100);
            if (choice < 3) {
                twins.consume(link(2 + below(3), below(2) == 0));
            } else if (choice < 4) {
                // What a dump finds: half of the prefixes, complete or broken off.
                twins.consume(ResyncBegin{});
                for (const uint32_t ifindex : {2U, 3U, 4U})
                    twins.consume(link(ifindex, true));
                for (unsigned i = 0; i < prefixes / 3; i += 1 + below(3)) {
                    RouteEvent dumped = route(i, 2 + below(3), below(2) == 0, below(2));
                    dumped.creates = false;
                    dumped.dumped = true;
                    twins.consume(dumped);
                }
                twins.consume(ResyncEnd{below(3) != 0});
            } else {
                RouteEvent event = route(below(prefixes / 3), 2 + below(3), below(2) == 0, below(2));
                event.removed = below(3) == 0;
                event.replaces = !event.removed && below(2) == 0;
                twins.consume(event);
            }
            if (below(2) == 0) (void)twins.turn(1 + below(20));
            // What counts is never without a route in the listener's eyes but by an event that says so.
            if (step % 100 == 0) {
                twins.in_turns.routes().for_each([&](const Prefix& prefix, const KernelRoute&) {
                    EXPECT_TRUE(twins.at_once.routes().find(prefix).has_value()) << prefix.to_string();
                });
            }
        }
        while (twins.turn(7)) {
        }
        ASSERT_EQ(twins.parts.routes, twins.whole.routes) << "seed " << seed;
        ASSERT_EQ(twins.parts.routes, routes_in(twins.in_turns.routes())) << "seed " << seed;
    }
}

TEST(KernelTurns, an_incomplete_dump_takes_nothing_away) {
    Twins twins;
    twins.consume(link(2, true));
    twins.consume(route(1, 2, true, 0));
    twins.consume(route(2, 2, true, 0));
    RouteEvent dumped = route(3, 2, true, 0);
    dumped.dumped = true;
    for (const KernelEvent& event :
         {KernelEvent{ResyncBegin{}}, KernelEvent{link(2, true)}, KernelEvent{dumped}})
        twins.consume(event);
    EXPECT_EQ(twins.parts.routes.size(), 3U) << "what is new is told before the end";
    EXPECT_FALSE(twins.in_turns.is_complete());
    twins.consume(ResyncEnd{false});
    (void)twins.turn(1000);
    EXPECT_EQ(twins.parts.routes.size(), 3U);
    EXPECT_FALSE(twins.in_turns.is_complete());
    // It broke off before the links were known: they are there all the same.
    twins.consume(ResyncBegin{});
    twins.consume(ResyncEnd{false});
    EXPECT_EQ(twins.in_turns.links().size(), 1U);
    for (const KernelEvent& event : {KernelEvent{ResyncBegin{}}, KernelEvent{link(2, true)},
                                     KernelEvent{dumped}, KernelEvent{ResyncEnd{}}})
        twins.consume(event);
    (void)twins.turn(1000);
    EXPECT_EQ(twins.parts.routes.size(), 1U);
    EXPECT_TRUE(twins.in_turns.is_complete());
}

TEST(KernelTurns, half_a_turn_leaves_the_other_half) {
    Turn turn = Turn::of_steps(10);
    Turn first = turn.half();
    unsigned steps = 1;
    while (!first.over())
        ++steps;
    EXPECT_EQ(steps, 5U);
    Turn all = Turn::whole();
    for (unsigned i = 0; i < 1000; ++i)
        ASSERT_FALSE(all.over());
    EXPECT_TRUE(Turn::lasting(std::chrono::seconds(0)).over_after_much());
}

TEST(MessageQueue, gives_back_what_was_put_in_in_its_order) {
    netlink::MessageQueue queue;
    std::mt19937 random(7);
    uint32_t put = 0, taken = 0;
    const auto take = [&] {
        const auto message = queue.front();
        nlmsghdr header;
        std::memcpy(&header, message.data(), sizeof header);
        ASSERT_EQ(header.nlmsg_seq, taken++);
        ASSERT_EQ(message.size(), header.nlmsg_len);
        queue.pop();
    };
    while (put < 50'000) {
        // A datagram of some messages, of lengths that have to be padded.
        std::vector<std::byte> datagram;
        for (unsigned count = 1 + random() % 4; count > 0; --count) {
            nlmsghdr header{};
            header.nlmsg_len = static_cast<uint32_t>(sizeof header + random() % 200);
            header.nlmsg_seq = put++;
            const size_t at = datagram.size();
            datagram.resize(at + (header.nlmsg_len + 3) / 4 * 4);
            std::memcpy(datagram.data() + at, &header, sizeof header);
        }
        queue.append(datagram);
        for (unsigned count = random() % 4; count > 0 && !queue.empty(); --count)
            take();
        ASSERT_EQ(queue.size(), put - taken);
    }
    while (!queue.empty())
        take();
    EXPECT_EQ(taken, put);
    EXPECT_EQ(queue.bytes(), 0U);
}

}  // namespace
}  // namespace pktpit::router
