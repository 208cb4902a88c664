// SPDX-License-Identifier: BSD-3-Clause
/// Packets that wait for a neighbour: in order, in bounds, and what becomes of them.
#include "router_fixture.h"

namespace pktpit::router::test {
namespace {

using namespace std::chrono_literals;

class Waiting : public SlowPathTest {
  protected:
    void arrive_for_d(uint8_t mark) {
        arrive(Ipv4Packet{.destination = "192.168.4.9", .payload = Buffer(30, mark)});
    }
    void d_is_found() {
        router.complete(router.adjacencies["192.168.4.0/24"], "02:00:00:00:aa:04");
        slow_path.neighbour_resolved(2, ip("10.2.0.4"), now);
    }
    /// The last byte of each frame sent.
    std::vector<int> marks() {
        std::vector<int> result;
        for (const Sent& sent : all_sent())
            result.push_back(sent.bytes.back());
        return result;
    }
};

TEST_F(Waiting, goes_out_in_order_once_the_neighbour_is_known) {
    for (uint8_t mark : Buffer{1, 2, 3})
        arrive_for_d(mark);
    EXPECT_EQ(slow_path.waiting(2, ip("10.2.0.4")), 3U);
    EXPECT_EQ(slow_path.waiting(1, ip("10.2.0.4")), 0U);
    EXPECT_TRUE(all_sent().empty());
    EXPECT_EQ(router.environment.resolved, (std::vector{std::pair{uint16_t{2}, ip("10.2.0.4")}}))
        << "asked once a burst";
    d_is_found();
    EXPECT_EQ(slow_path.waiting(2, ip("10.2.0.4")), 0U);
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 3U);
    for (uint8_t i = 0; i < 3; i++)
        EXPECT_EQ(sent[i].bytes,
                  join({{2, 0, 0, 0, 0xaa, 4, 2, 0, 0, 0, 0, 2, 8, 0},
                        make(Ipv4Packet{.destination = "192.168.4.9",
                                        .ttl = 16,
                                        .payload = Buffer(30, static_cast<uint8_t>(i + 1))})}));
    EXPECT_EQ(counter("neighbour_queued"), 3U);
    EXPECT_EQ(counter("neighbour_released"), 3U);
    EXPECT_EQ(counter("forwarded"), 3U);
}

TEST_F(Waiting, on_a_connected_net_the_destination_is_the_next_hop) {
    arrive(Ipv4Packet{.destination = "10.2.0.50"});
    arrive(Ipv6Packet{.destination = "2001:db8:2::50"});
    EXPECT_EQ(router.environment.resolved, (std::vector{std::pair{uint16_t{2}, ip("10.2.0.50")},
                                                        std::pair{uint16_t{2}, ip("2001:db8:2::50")}}));
    router.route("10.2.0.50/32", 2, ip("10.2.0.50"), PP_ADJ_FORWARD, "02:00:00:00:aa:50");
    slow_path.neighbour_resolved(2, ip("10.2.0.50"), now);
    EXPECT_EQ(cut(only_sent(2), 0, 6), (Buffer{2, 0, 0, 0, 0xaa, 0x50}));
    router.environment.neighbours[{2, ip("2001:db8:2::50")}] = mac("02:00:00:00:aa:51");
    slow_path.neighbour_resolved(2, ip("2001:db8:2::50"), now);
    EXPECT_EQ(cut(only_sent(2), 0, 6), (Buffer{2, 0, 0, 0, 0xaa, 0x51})) << "the image was full, say";
}

TEST_F(Waiting, the_oldest_goes_where_all_together_take_too_much_memory) {
    slow_path.set_limits(limits(), 100000);
    const size_t size = 9000;
    const size_t more_than_fit = (size_t{8} << 20) / size + 10;
    for (size_t i = 0; i < more_than_fit; i++)
        arrive(Ipv4Packet{.destination = "10.2.0.50", .payload = pattern(size)});
    EXPECT_GT(counter("neighbour_memory_full"), 0U);
    router.set_mtu("10.2.0.0/24", 9100);
    router.environment.neighbours[{2, ip("10.2.0.50")}] = mac("02:00:00:00:aa:50");
    slow_path.neighbour_resolved(2, ip("10.2.0.50"), now);
    EXPECT_EQ(all_sent().size() + counter("neighbour_memory_full"), more_than_fit);
}

TEST_F(Waiting, a_neighbour_that_fails_makes_its_packets_host_unreachable) {
    const Buffer packet = make(Ipv4Packet{.destination = "192.168.4.9"});
    arrive(frame(packet));
    arrive(frame(packet));
    slow_path.neighbour_failed(2, ip("10.2.0.4"), now);
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(cut(sent[0].bytes, 34, 2), (Buffer{3, 1}));
    EXPECT_EQ(cut(sent[0].bytes, 42), packet) << "quoted as received";
    EXPECT_EQ(counter("neighbour_failed"), 2U);
    EXPECT_EQ(counter("icmp4_host_unreachable"), 2U);
    slow_path.neighbour_failed(2, ip("10.2.0.4"), now);
    EXPECT_TRUE(all_sent().empty());
}

TEST_F(Waiting, ends_after_three_seconds) {
    arrive_for_d(1);
    now += 2s;
    arrive_for_d(2);
    now += 999ms;
    slow_path.tick(now);
    EXPECT_TRUE(all_sent().empty());
    now += 1ms;
    slow_path.tick(now);
    EXPECT_EQ(cut(only_sent(1), 34, 2), (Buffer{3, 1}));
    EXPECT_EQ(counter("neighbour_expired"), 1U);
    d_is_found();
    EXPECT_EQ(marks(), (std::vector{2}));
}

TEST_F(Waiting, asks_again_once_a_second) {
    arrive_for_d(1);
    for (int ms = 100; ms <= 2900; ms += 100)
        slow_path.tick(now + 1ms * ms);
    EXPECT_EQ(router.environment.resolved.size(), 3U) << "at 0, 1 and 2 s";
    EXPECT_EQ(counter("neighbour_requests"), 3U);
    slow_path.tick(now + 3s);
    slow_path.tick(now + 10s);
    EXPECT_EQ(router.environment.resolved.size(), 3U) << "nothing waits any more";
}

TEST_F(Waiting, a_flood_to_a_dead_neighbour_asks_once_a_second) {
    for (int ms = 0; ms < 5000; ms++) {
        arrive_for_d(1);
        slow_path.neighbour_failed(2, ip("10.2.0.4"), now);
        now += 1ms;
    }
    EXPECT_EQ(router.environment.resolved.size(), 5U);
}

TEST_F(Waiting, others_get_the_turn_of_one_that_does_not_answer) {
    slow_path.set_limits(limits(), 4, 1);
    arrive_for_d(1);
    arrive(Ipv4Packet{.destination = "10.2.0.50"});
    EXPECT_EQ(router.environment.resolved.size(), 1U);
    EXPECT_EQ(counter("neighbour_limit"), 1U);
    slow_path.tick(now + 1s);
    EXPECT_EQ(router.environment.withdrawn, (std::vector{std::pair{uint16_t{2}, ip("10.2.0.4")}}));
    EXPECT_EQ(router.environment.resolved.back(), (std::pair{uint16_t{2}, ip("10.2.0.50")}));
    EXPECT_EQ(counter("neighbour_withdrawn"), 1U);
    slow_path.neighbour_failed(2, ip("10.2.0.4"), now + 1s);
    EXPECT_TRUE(all_sent().empty()) << "it was not given the time to answer";
    now += 1500ms;
    slow_path.neighbour_failed(2, ip("10.2.0.50"), now);
    EXPECT_EQ(router.environment.resolved.back(), (std::pair{uint16_t{2}, ip("10.2.0.4")})) << "at once";
    EXPECT_EQ(counter("neighbour_failed"), 1U);
}

TEST_F(Waiting, without_a_turn_it_is_counted_apart) {
    slow_path.set_limits(limits(), 4, 1);
    arrive_for_d(1);
    arrive(Ipv4Packet{.destination = "10.2.0.50"});
    now += 3s;
    slow_path.tick(now);
    EXPECT_EQ(counter("neighbour_expired"), 1U);
    EXPECT_EQ(counter("neighbour_not_asked"), 1U);
    EXPECT_EQ(counter("icmp4_host_unreachable"), 2U);
}

TEST_F(Waiting, follows_the_route_that_it_has_by_then) {
    arrive_for_d(1);
    router.route("192.168.4.0/25", 2, ip("10.2.0.2"), PP_ADJ_FORWARD, "02:00:00:00:aa:02");
    slow_path.neighbour_failed(2, ip("10.2.0.4"), now);
    EXPECT_EQ(cut(only_sent(2), 0, 6), (Buffer{2, 0, 0, 0, 0xaa, 2}))
        << "forwarded by the new route, no error";
}

TEST_F(Waiting, for_another_neighbour_goes_on_without_starting_anew) {
    arrive_for_d(1);
    router.route("192.168.4.0/25", 2, ip("10.2.0.5"), PP_ADJ_INCOMPLETE);
    now += 2s;
    d_is_found();
    EXPECT_TRUE(all_sent().empty());
    EXPECT_EQ(router.environment.resolved.back(), (std::pair{uint16_t{2}, ip("10.2.0.5")}));
    now += 1s;
    slow_path.tick(now);
    EXPECT_EQ(cut(only_sent(1), 34, 2), (Buffer{3, 1})) << "three seconds in all";
}

TEST_F(Waiting, a_late_image_does_not_lose_the_packet) {
    arrive_for_d(1);
    slow_path.neighbour_resolved(2, ip("10.2.0.4"), now);  // neither the image nor the neighbours know it yet
    EXPECT_TRUE(all_sent().empty());
    d_is_found();
    EXPECT_EQ(marks(), (std::vector{1}));
}

TEST_F(Waiting, is_dropped_with_its_interface) {
    arrive_for_d(1);
    arrive_for_d(2);
    slow_path.interface_gone(1);
    EXPECT_EQ(counter("neighbour_interface_gone"), 0U);
    slow_path.interface_gone(2);
    EXPECT_EQ(counter("neighbour_interface_gone"), 2U);
    d_is_found();
    EXPECT_TRUE(all_sent().empty());
}

TEST_F(Waiting, is_bounded_for_own_errors_too) {
    arrive_times(10, Ipv4Packet{.source = "192.168.4.7", .ttl = 1});
    EXPECT_EQ(counter("neighbour_queue_full"), 6U);
    now += 3s;
    slow_path.tick(now);
    expect_silent("icmp_own_undeliverable", 4);
}

TEST_F(Waiting, own_errors_keep_their_age_too) {
    arrive(Ipv4Packet{.source = "192.168.4.7", .ttl = 1});
    now += 2s;
    slow_path.neighbour_resolved(2, ip("10.2.0.4"), now);  // the image lags behind: it goes on waiting
    EXPECT_EQ(slow_path.waiting(2, ip("10.2.0.4")), 1U);
    now += 1s;
    slow_path.tick(now);
    expect_silent("icmp_own_undeliverable");
    EXPECT_EQ(slow_path.waiting(2, ip("10.2.0.4")), 0U);
}

TEST_F(Waiting, is_too_big_only_once_the_neighbour_is_known) {
    router.set_mtu("192.168.4.0/24", 576);
    arrive(Ipv4Packet{.destination = "192.168.4.9", .payload = pattern(1000)});
    EXPECT_TRUE(all_sent().empty());
    d_is_found();
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(cut(sent[0].bytes, 0, 6), (Buffer{2, 0, 0, 0, 0xaa, 4}));
    EXPECT_EQ(sent[0].bytes.size() + sent[1].bytes.size(), 2 * 34 + 1000U);
}

TEST_F(Waiting, ttl_is_looked_at_before_any_neighbour_is_asked_for) {
    arrive(Ipv4Packet{.destination = "192.168.4.9", .ttl = 1});
    EXPECT_TRUE(router.environment.resolved.empty());
    EXPECT_EQ(cut(only_sent(1), 34, 2), (Buffer{11, 0}));
}

TEST_F(Waiting, an_answer_nobody_waits_for_does_nothing) {
    slow_path.neighbour_resolved(2, ip("10.2.0.4"), now);
    slow_path.neighbour_failed(7, ip("2001:db8::1"), now);
    slow_path.interface_gone(9);
    slow_path.tick(now);
    EXPECT_TRUE(all_sent().empty());
    for (const auto& [name, value] : slow_path.counters())
        EXPECT_EQ(value, 0U) << name;
}

}  // namespace
}  // namespace pktpit::router::test
