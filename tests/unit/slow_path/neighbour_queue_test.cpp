// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/neighbour_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "packets.h"

namespace pktpit::router::test {

using namespace std::chrono_literals;

namespace {

constexpr Clock::time_point start{1h};

NeighbourKey key(uint32_t number, uint16_t interface = 1) {
    return {interface, IpAddress::v4(0x0a000000 + number)};
}

WaitingPacket packet(uint8_t mark, Clock::time_point since = start, size_t size = 60) {
    return {Buffer(size, mark), since, false, 1, 0, 1};
}

std::vector<int> marks(const std::vector<WaitingPacket>& packets) {
    std::vector<int> result;
    for (const WaitingPacket& waiting : packets)
        result.push_back(waiting.bytes.at(0));
    return result;
}

TEST(NeighbourQueue, gives_back_in_order_and_per_neighbour) {
    NeighbourQueue queue(10);
    for (const uint8_t mark : Buffer{1, 2, 3, 4, 5, 6})
        queue.push(key(mark % 2), packet(mark), start);
    queue.push({2, key(1).next_hop}, packet(9), start);
    EXPECT_EQ(marks(queue.take(key(1))), (std::vector{1, 3, 5})) << "not those of another interface";
    EXPECT_EQ(marks(queue.take(key(0))), (std::vector{2, 4, 6}));
    EXPECT_TRUE(queue.take(key(0)).empty());
    EXPECT_EQ(queue.packets(), 1U);
}

TEST(NeighbourQueue, a_full_neighbour_drops_its_oldest) {
    NeighbourQueue queue(3);
    queue.push(key(7), packet(77), start);
    size_t dropped = 0;
    for (const uint8_t mark : Buffer{1, 2, 3, 4, 5})
        dropped += queue.push(key(1), packet(mark), start).dropped_full;
    EXPECT_EQ(dropped, 2U);
    EXPECT_EQ(marks(queue.take(key(1))), (std::vector{3, 4, 5}));
    EXPECT_EQ(marks(queue.take(key(7))), (std::vector{77}));
    EXPECT_EQ(queue.bytes(), 0U);
}

TEST(NeighbourQueue, a_lower_limit_counts_from_the_next_packet) {
    NeighbourQueue queue(4);
    for (const uint8_t mark : Buffer{1, 2, 3, 4})
        queue.push(key(1), packet(mark), start);
    queue.set_limits(2, 100);
    EXPECT_EQ(queue.push(key(1), packet(5), start).dropped_full, 3U);
    EXPECT_EQ(marks(queue.take(key(1))), (std::vector{4, 5}));
}

TEST(NeighbourQueue, all_memory_used_drops_the_oldest_of_all) {
    NeighbourQueue queue(1000);
    constexpr size_t size = 9000;
    const size_t fit = NeighbourQueue::bytes_max / (size + NeighbourQueue::packet_overhead);
    size_t dropped = 0;
    for (uint32_t i = 0; i < fit + 10; i++) {
        dropped +=
            queue.push(key(i % 100), packet(static_cast<uint8_t>(i), start, size), start).dropped_memory;
        ASSERT_LE(queue.bytes(), NeighbourQueue::bytes_max);
    }
    EXPECT_EQ(dropped, 10U);
    EXPECT_EQ(queue.packets(), fit);
    EXPECT_EQ(marks(queue.take(key(3))).front(), 103)
        << "the third one's first packet was among the ten oldest";
    EXPECT_EQ(marks(queue.take(key(30))).front(), 30);
}

TEST(NeighbourQueue, what_can_never_fit_is_not_taken_and_costs_nobody_else) {
    NeighbourQueue queue(10);
    queue.push(key(1), packet(1), start);
    EXPECT_EQ(queue.push(key(2), packet(2, start, NeighbourQueue::bytes_max), start).dropped_memory, 1U);
    EXPECT_EQ(queue.packets(), 1U);
}

TEST(NeighbourQueue, a_scan_of_a_net_does_not_grow_it_without_end) {
    NeighbourQueue queue(10);
    size_t dropped = 0;
    for (uint32_t i = 0; i < 100'000; i++) {
        dropped += queue.push(key(i), packet(1), start).dropped_memory;
        ASSERT_LE(queue.neighbours(), NeighbourQueue::neighbours_max);
    }
    EXPECT_EQ(dropped + queue.packets(), 100'000U) << "every packet is waiting, or was counted";
    EXPECT_EQ(marks(queue.take(key(300))).size(), 1U) << "those that wait keep their place";
}

TEST(NeighbourQueue, a_scan_that_fills_it_takes_no_room_from_others) {
    NeighbourQueue queue(10, 3);
    for (uint32_t i = 0; i < 20'000; i++)
        queue.push(key(i), packet(1), start);
    WaitingPacket other = packet(9);
    other.ingress_interface = 7;
    EXPECT_EQ(queue.push(key(1'000'000), other, start).dropped_memory, 1U) << "one of the scan's";
    EXPECT_EQ(queue.push(key(1'000'000), other, start).dropped_memory, 0U);
    for (uint32_t i = 30'000; i < 40'000; i++)
        EXPECT_EQ(queue.push(key(i), packet(1), start).dropped_memory, 1U);
    EXPECT_EQ(queue.waiting(key(1'000'000)), 2U);
}

TEST(NeighbourQueue, memory_is_taken_from_those_that_use_most) {
    NeighbourQueue queue(1000);
    WaitingPacket other = packet(9);
    other.ingress_interface = 7;
    queue.push(key(1'000'000), other, start - 1s);
    for (uint32_t i = 0; i < 2000; i++)
        queue.push(key(i % 10), packet(1, start, 9000), start);
    EXPECT_EQ(marks(queue.take(key(1'000'000))), (std::vector{9})) << "though it is the oldest";
}

TEST(NeighbourQueue, asks_for_so_many_of_an_interface_at_a_time) {
    NeighbourQueue queue(10, 3);
    const auto push = [&](uint32_t number, uint16_t interface, Clock::time_point now) {
        return queue.push(key(number, interface), packet(1, now), now);
    };
    for (uint32_t i = 0; i < 3; i++)
        EXPECT_TRUE(push(i, 1, start).request);
    EXPECT_TRUE(push(3, 1, start).put_off);
    EXPECT_FALSE(push(4, 1, start).request);
    EXPECT_TRUE(push(5, 2, start).request) << "another interface has a limit of its own";
    EXPECT_EQ(queue.unanswered(1, Family::ipv4), 3U);
    EXPECT_TRUE(queue.due_requests(start + 100ms).ask.empty());
    (void)queue.take(key(0));
    EXPECT_EQ(queue.next_requests(start + 200ms), (std::vector{key(3)}))
        << "the turn of the first that waits";
    (void)queue.take_failed(key(1));
    EXPECT_EQ(queue.due_requests(start + 300ms).ask, (std::vector{key(4)})) << "and after a failure, too";
    EXPECT_EQ(queue.unanswered(1, Family::ipv4), 3U);
    queue.drop_interface(1);
    EXPECT_EQ(queue.unanswered(1, Family::ipv4), 0U);
    EXPECT_EQ(queue.unanswered(2, Family::ipv4), 1U);
}

TEST(NeighbourQueue, what_loses_its_slot_waits_for_another_turn) {
    NeighbourQueue queue(10, 1);
    EXPECT_TRUE(queue.push(key(1), packet(1), start).request);
    EXPECT_TRUE(queue.push(key(2), packet(2), start).put_off);
    const auto due = queue.due_requests(start + 1s);
    EXPECT_EQ(due.withdraw, (std::vector{key(1)}));
    EXPECT_EQ(due.ask, (std::vector{key(2)}));
    EXPECT_TRUE(queue.take_failed(key(1)).empty()) << "the kernel tells that it has forgotten it";
    const auto next = queue.due_requests(start + 2s);
    EXPECT_EQ(next.withdraw, (std::vector{key(2)}));
    EXPECT_EQ(next.ask, (std::vector{key(1)}));
    EXPECT_EQ(marks(queue.take(key(1))), (std::vector{1}));
    EXPECT_EQ(queue.next_requests(start + 2s), (std::vector{key(2)}));
}

TEST(NeighbourQueue, tells_what_was_never_asked_for) {
    NeighbourQueue queue(10, 1);
    queue.push(key(1), packet(1), start);
    queue.push(key(2), packet(2), start);
    queue.push(key(2), packet(3, start + 1s), start + 1s);
    const auto first = queue.take_expired(start + 3s);
    EXPECT_EQ(marks(first.packets), (std::vector{1, 2}));
    EXPECT_EQ(first.not_asked, 1U);
    EXPECT_EQ(queue.due_requests(start + 3s).ask, (std::vector{key(2)})) << "another packet kept its place";
    const auto second = queue.take_expired(start + 4s);
    EXPECT_EQ(marks(second.packets), (std::vector{3}));
    EXPECT_EQ(second.not_asked, 0U);
}

/// 10,000 packets in 10 s to as many addresses that nobody has; a host answers as soon as it is asked for.
TEST(NeighbourQueue, a_scan_of_1000_a_second_keeps_no_host_from_being_found) {
    for (const uint16_t ingress : {uint16_t{1}, uint16_t{7}}) {
        NeighbourQueue queue(64, 128);
        std::vector<NeighbourKey> wanted;
        for (uint32_t i = 0; i < 10; i++)
            wanted.push_back(key(1'000'000 + i));
        std::map<uint32_t, Clock::time_point> found;  // by its number in `wanted`
        const auto asked = [&](const NeighbourKey& who, Clock::time_point now) {
            const auto host = std::ranges::find(wanted, who);
            if (host == wanted.end()) return;
            found.emplace(host - wanted.begin(), now);
            (void)queue.take(who);
        };
        for (uint32_t ms = 0; ms < 10'000; ms++) {
            const Clock::time_point now = start + 1ms * ms;
            if (queue.push(key(ms), packet(1, now), now).request) asked(key(ms), now);
            for (uint32_t i = 0; ms % 1000 == 500 && ms > 3000 && i < wanted.size(); i++) {
                if (found.contains(i)) continue;
                WaitingPacket ping = packet(2, now);
                ping.ingress_interface = ingress;
                if (queue.push(wanted[i], ping, now).request) asked(wanted[i], now);
            }
            if (ms % 100 != 0) continue;
            (void)queue.take_expired(now);
            const auto due = queue.due_requests(now);
            for (const auto& who : due.ask)
                asked(who, now);
            EXPECT_LE(queue.unanswered(1, Family::ipv4), 128U);
        }
        ASSERT_EQ(found.size(), wanted.size());
        // Behind the scan's own hosts, or beside them; and then until a slot comes back.
        const auto line = ingress == 1 ? NeighbourQueue::patience : 0s;
        for (const auto& [host, when] : found)
            EXPECT_LE(when - start, 3500ms + line + NeighbourTurns::slot_time + 200ms) << host;
    }
}

TEST(NeighbourQueue, a_question_without_any_answer_is_given_up_in_the_end) {
    NeighbourQueue queue(10, 1);
    EXPECT_TRUE(queue.push(key(1), packet(1), start).request);
    EXPECT_EQ(queue.take_expired(start + NeighbourQueue::patience).packets.size(), 1U);
    EXPECT_TRUE(queue.due_requests(start + 9s).withdraw.empty()) << "nobody waits for it";
    EXPECT_EQ(queue.unanswered(1, Family::ipv4), 1U) << "it may still be in the kernel's table";
    (void)queue.due_requests(start + NeighbourQueue::answer_within);
    EXPECT_EQ(queue.unanswered(1, Family::ipv4), 0U);
}

TEST(NeighbourQueue, no_room_at_all_still_asks) {
    NeighbourQueue queue(0);
    const auto pushed = queue.push(key(1), packet(1), start);
    EXPECT_TRUE(pushed.request);
    EXPECT_EQ(pushed.dropped_full, 1U);
    EXPECT_EQ(queue.packets(), 0U);
    EXPECT_FALSE(queue.push(key(1), packet(1), start + 999ms).request);
    EXPECT_TRUE(queue.push(key(1), packet(1), start + 1s).request);
}

TEST(NeighbourQueue, asks_once_a_burst_and_once_a_second) {
    NeighbourQueue queue(10);
    int requests = 0;
    for (int i = 0; i < 50; i++)
        requests += queue.push(key(1), packet(1), start + 1ms * i).request;
    EXPECT_EQ(requests, 1);
    EXPECT_TRUE(queue.due_requests(start + 900ms).ask.empty());
    EXPECT_EQ(queue.due_requests(start + 1s).ask.size(), 1U);
    EXPECT_TRUE(queue.due_requests(start + 1s).ask.empty());
    EXPECT_EQ(queue.due_requests(start + 2s).ask.size(), 1U);
}

TEST(NeighbourQueue, after_a_failure_it_is_not_asked_for_at_every_packet) {
    NeighbourQueue queue(10);
    EXPECT_TRUE(queue.push(key(1), packet(1), start).request);
    EXPECT_EQ(queue.take_failed(key(1)).size(), 1U);
    EXPECT_FALSE(queue.push(key(1), packet(2), start + 10ms).request);
    EXPECT_EQ(queue.take_failed(key(1)).size(), 1U);
    EXPECT_TRUE(queue.due_requests(start + 1s).ask.empty()) << "nothing waits";
    EXPECT_TRUE(queue.push(key(1), packet(3), start + 1s).request);
}

TEST(NeighbourQueue, requests_for_many_neighbours_are_spread_in_time) {
    NeighbourQueue queue(10);
    size_t requests = 0;
    for (uint32_t i = 0; i < 3000; i++)
        requests += queue.push(key(i), packet(1), start).request;
    EXPECT_EQ(requests, NeighbourTurns::request_burst);
    for (int tick = 1; tick <= 20; tick++)
        requests += queue.due_requests(start + 100ms * tick).ask.size();
    EXPECT_GE(requests, 3000U) << "nobody is forgotten";
    EXPECT_LE(requests, NeighbourTurns::request_burst + 2 * NeighbourTurns::request_rate + 1);
}

TEST(NeighbourQueue, patience_ends_after_three_seconds) {
    NeighbourQueue queue(10);
    queue.push(key(1), packet(1), start);
    queue.push(key(2), packet(2, start + 1s), start + 1s);
    queue.push(key(1), packet(3, start + 2s), start + 2s);
    EXPECT_TRUE(queue.take_expired(start + 2999ms).packets.empty());
    EXPECT_EQ(marks(queue.take_expired(start + 3s).packets), (std::vector{1}));
    EXPECT_EQ(marks(queue.take_expired(start + 5s).packets), (std::vector{2, 3}));
    EXPECT_EQ(queue.bytes(), 0U);
    queue.due_requests(start + 6s);
    EXPECT_EQ(queue.neighbours(), 2U) << "the kernel may still be asking";
    queue.due_requests(start + 2s + NeighbourQueue::answer_within);
    EXPECT_EQ(queue.neighbours(), 0U) << "forgotten";
}

TEST(NeighbourQueue, a_packet_that_has_waited_before_keeps_its_age) {
    NeighbourQueue queue(10);
    queue.push(key(1), packet(1, start + 1s), start + 1s);
    queue.push(key(2), packet(2, start + 1500ms), start + 1500ms);
    queue.push(key(1), packet(3, start), start + 2s);  // first waited for another neighbour
    queue.push(key(1), packet(4, start + 2s), start + 2s);
    EXPECT_EQ(marks(queue.take_expired(start + 3s).packets), (std::vector{3}));
    EXPECT_EQ(marks(queue.take(key(1))), (std::vector{1, 4}));
    EXPECT_EQ(marks(queue.take(key(2))), (std::vector{2}));
    EXPECT_EQ(queue.bytes(), 0U);
}

TEST(NeighbourQueue, an_interface_takes_its_packets_along) {
    NeighbourQueue queue(10);
    for (const uint8_t mark : Buffer{1, 2, 3})
        queue.push(key(mark, mark == 2 ? 2 : 1), packet(mark), start);
    EXPECT_EQ(queue.drop_interface(1), 2U);
    EXPECT_EQ(queue.drop_interface(1), 0U);
    EXPECT_EQ(marks(queue.take(key(2, 2))), (std::vector{2}));
    EXPECT_EQ(queue.bytes(), 0U);
}

}  // namespace
}  // namespace pktpit::router::test
