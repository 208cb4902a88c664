// SPDX-License-Identifier: BSD-3-Clause
#include "router_fixture.h"

namespace pktpit::router::test {
namespace {

struct Expected {
    uint8_t type, code;
    uint32_t parameter = 0;
    uint8_t tos = 0xc0;
    std::string_view source = "10.1.0.1";
    std::string_view destination = "192.168.1.7";
};

class Icmp4 : public SlowPathTest {
  protected:
    /// The frame that left by port 1 towards neighbour A is exactly this error about `original`.
    void expect_error(const Buffer& original, const Expected& expected) {
        SCOPED_TRACE(testing::Message() << "type " << int{expected.type} << ", code " << int{expected.code});
        const Buffer sent = only_sent(1);
        ASSERT_GT(sent.size(), 42U);
        EXPECT_EQ(cut(sent, 0, 14), (Buffer{2, 0, 0, 0, 0xaa, 1, 2, 0, 0, 0, 0, 1, 8, 0}));
        Buffer icmp = icmp_error(expected.type, expected.code, expected.parameter, cut(original, 0, 548));
        set16(icmp, 2, naive_checksum(icmp));
        // The identification is the router's own choice.
        const uint16_t id = get16(sent, 14 + 4);
        EXPECT_EQ(cut(sent, 14), make(Ipv4Packet{.source = expected.source,
                                                 .destination = expected.destination,
                                                 .tos = expected.tos,
                                                 .id = id,
                                                 .ttl = 64,
                                                 .protocol = 1,
                                                 .payload = icmp}));
    }
    void expect_answer(const Ipv4Packet& packet, const Expected& expected) {
        arrive(packet);
        expect_error(make(packet), expected);
    }
};

TEST_F(Icmp4, time_exceeded) {
    for (uint8_t ttl : Buffer{0, 1})
        expect_answer({.ttl = ttl}, {11, 0});
    EXPECT_EQ(counter("icmp4_time_exceeded"), 2U);
}

TEST_F(Icmp4, no_way_on_is_told_as_the_route_wants_it) {
    const Ipv4Packet packet{.destination = "203.0.113.1"};
    expect_answer(packet, {3, 0});
    router.route("203.0.113.0/24", 0, std::nullopt, PP_ADJ_UNREACHABLE);
    expect_answer(packet, {3, 1});
    router.route("203.0.113.0/24", 0, std::nullopt, PP_ADJ_PROHIBIT);
    expect_answer(packet, {3, 13});
    for (const auto* name : {"icmp4_net_unreachable", "icmp4_host_unreachable", "icmp4_prohibited"})
        EXPECT_EQ(counter(name), 1U) << name;
    router.route("203.0.113.0/24", 0, std::nullopt, PP_ADJ_BLACKHOLE);
    expect_silent(packet, "recheck_drop_blackhole");
}

TEST_F(Icmp4, fragmentation_needed_tells_the_next_hops_mtu) {
    router.set_mtu("192.168.2.0/24", 1000);
    const Buffer fits = make(Ipv4Packet{.fragment = 0x4000, .payload = pattern(980)});
    arrive(frame(fits));
    EXPECT_EQ(only_sent(2).size(), 1014U);
    expect_answer({.fragment = 0x4000, .payload = pattern(981)}, {3, 4, 1000});
    EXPECT_EQ(counter("icmp4_fragmentation_needed"), 1U);
}

TEST_F(Icmp4, parameter_problem_points_at_the_fault) {
    expect_answer({.options = {1, 7, 7, 3, 0, 0, 0, 0}}, {12, 0, 23U << 24});
    EXPECT_EQ(counter("icmp4_parameter_problem"), 1U);
}

TEST_F(Icmp4, quotes_no_more_than_fits_576_bytes) {
    for (const size_t size : {527U, 528U, 529U, 1480U}) {
        const Buffer packet = make(Ipv4Packet{.ttl = 1, .payload = pattern(size)});
        arrive(frame(packet));
        EXPECT_EQ(router.environment.sent.at(0).bytes.size(), 14 + std::min(size_t{576}, packet.size() + 28));
        expect_error(packet, {11, 0});
    }
}

TEST_F(Icmp4, quotes_no_link_padding) {
    const Buffer packet = make(Ipv4Packet{.ttl = 1, .payload = pattern(8)});
    arrive(frame(join({packet, Buffer(18, 0xee)})));
    expect_error(packet, {11, 0});
}

TEST_F(Icmp4, of_a_tagged_frame_quotes_the_packet_and_leaves_untagged_where_the_way_back_is) {
    const Buffer packet = make(Ipv4Packet{.ttl = 1});
    arrive(frame(packet, "02:00:00:00:00:02", {0x88, 0xa8, 0, 100, 0x81, 0, 0, 200}), 2);
    expect_error(packet, {11, 0});
}

TEST_F(Icmp4, precedence_is_internet_control_and_type_of_service_the_packets) {
    expect_answer({.tos = 0x37, .ttl = 1}, {.type = 11, .code = 0, .tos = 0xd4});
}

TEST_F(Icmp4, identifications_differ) {
    std::set<uint16_t> ids;
    for (int i = 0; i < 100; i++) {
        arrive(Ipv4Packet{.ttl = 1});
        ids.insert(get16(only_sent(1), 18));
    }
    EXPECT_EQ(ids.size(), 100U);
}

TEST_F(Icmp4, leaves_by_a_vlan_interface_with_both_tags_and_its_address) {
    const Buffer packet = make(Ipv4Packet{.source = "192.168.3.7", .ttl = 1});
    arrive(frame(packet));
    const Buffer sent = only_sent(2);
    EXPECT_EQ(cut(sent, 0, 22),
              (Buffer{2, 0, 0, 0, 0xaa, 3, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 100, 0x81, 0, 0, 200, 8, 0}));
    EXPECT_EQ(cut(sent, 22 + 12, 4), (Buffer{10, 3, 0, 1}));
    EXPECT_EQ(cut(sent, 22 + 28), packet);
}

TEST_F(Icmp4, source_is_any_address_of_the_router_where_the_interface_has_none) {
    router.environment.sources.erase({1, Family::ipv4, false});
    router.environment.any_source[Family::ipv4] = ip("10.99.0.1");
    expect_answer({.ttl = 1}, {.type = 11, .code = 0, .source = "10.99.0.1"});
}

TEST_F(Icmp4, over_several_ways_back_the_source_is_of_the_one_it_takes) {
    const std::pair<fib::AdjacencyId, uint16_t> members[] = {{router.adjacencies["192.168.1.0/24"], 1},
                                                             {router.adjacencies["192.168.2.0/24"], 1},
                                                             {router.adjacencies["192.168.3.0/24"], 1}};
    ASSERT_TRUE(
        router.image.set(Prefix::parse("172.16.0.0/16").value(), router.image.add_group(members).value()));
    std::map<uint8_t, int> by_interface;
    for (int host = 0; host < 200; host++) {
        const std::string source = "172.16." + std::to_string(host) + ".9";
        arrive(Ipv4Packet{.source = source, .ttl = 1});
        const auto sent = all_sent();
        ASSERT_EQ(sent.size(), 1U);
        const uint8_t neighbour = sent[0].bytes.at(5);  // 1, 2 and 3, as the interfaces
        const size_t ip_header = neighbour == 3 ? 22 : 14;
        EXPECT_EQ(cut(sent[0].bytes, ip_header + 12, 4), (Buffer{10, neighbour, 0, 1}));
        by_interface[neighbour]++;
    }
    ASSERT_EQ(by_interface.size(), 3U);
    for (const auto& [interface, count] : by_interface)
        EXPECT_GT(count, 30) << int{interface};
}

// RFC 7600 4.8: an address that is reserved for routers that have none.
TEST_F(Icmp4, without_any_address_from_the_one_that_is_reserved_for_that) {
    router.environment.sources.clear();
    router.environment.any_source.clear();
    arrive(Ipv4Packet{.ttl = 1});
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(cut(sent[0].bytes, 14 + 12, 4), (Buffer{192, 0, 0, 8}));
}

TEST_F(Icmp4, not_without_a_way_back) {
    expect_silent(Ipv4Packet{.source = "203.0.113.1", .ttl = 1}, "icmp_no_way_back");
    for (const auto kind : {PP_ADJ_BLACKHOLE, PP_ADJ_UNREACHABLE, PP_ADJ_PROHIBIT, PP_ADJ_HOST,
                            PP_ADJ_BROADCAST, PP_ADJ_KERNEL})
        router.route("203.0.113." + std::to_string(kind) + "/32", 1, std::nullopt, kind);
    for (int kind = PP_ADJ_HOST; kind <= PP_ADJ_KERNEL; kind++) {
        const std::string source = "203.0.113." + std::to_string(kind);
        arrive(Ipv4Packet{.source = source, .ttl = 1});
    }
    expect_silent("icmp_no_way_back", 7);
}

TEST_F(Icmp4, is_itself_fragmented_on_a_link_that_needs_it) {
    router.set_mtu("192.168.1.0/24", 256);
    const Buffer packet = make(Ipv4Packet{.ttl = 1, .payload = pattern(1000)});
    arrive(frame(packet));
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 3U);
    Buffer icmp;
    for (const Sent& piece : sent) {
        EXPECT_LE(piece.bytes.size(), 14 + 256U);
        EXPECT_EQ(get16(piece.bytes, 18), get16(sent[0].bytes, 18)) << "identification";
        EXPECT_EQ((get16(piece.bytes, 20) & 0x1fffU) * 8, icmp.size());
        icmp = join({icmp, cut(piece.bytes, 34)});
    }
    EXPECT_EQ(naive_checksum(icmp), 0);
    EXPECT_EQ(cut(icmp, 8), cut(packet, 0, 548));
    EXPECT_EQ(counter("fragments_sent"), 0U) << "those count transit";
}

TEST_F(Icmp4, waits_for_the_neighbour_on_its_way_back) {
    const Buffer packet = make(Ipv4Packet{.source = "192.168.4.7", .ttl = 1});
    arrive(frame(packet));
    EXPECT_TRUE(all_sent().empty());
    ASSERT_EQ(router.environment.resolved.size(), 1U);
    EXPECT_EQ(router.environment.resolved[0], (std::pair{uint16_t{2}, ip("10.2.0.4")}));
    router.complete(router.adjacencies["192.168.4.0/24"], "02:00:00:00:aa:04");
    slow_path.neighbour_resolved(2, ip("10.2.0.4"), now);
    const Buffer sent = only_sent(2);
    EXPECT_EQ(cut(sent, 0, 14), (Buffer{2, 0, 0, 0, 0xaa, 4, 2, 0, 0, 0, 0, 2, 8, 0}));
    EXPECT_EQ(cut(sent, 42), packet);
    EXPECT_EQ(sent.at(22), 64) << "it is the router's own: its TTL is not decremented";
}

TEST_F(Icmp4, no_error_about_an_error_that_finds_no_neighbour) {
    arrive(Ipv4Packet{.source = "192.168.4.7", .ttl = 1});
    slow_path.neighbour_failed(2, ip("10.2.0.4"), now);
    expect_silent("icmp_own_undeliverable");
}

TEST_F(Icmp4, not_by_a_port_that_is_down) {
    router.image.set_port(1, {});
    arrive(frame(make(Ipv4Packet{.source = "192.168.2.7", .ttl = 1}), "02:00:00:00:00:02"), 2);
    EXPECT_EQ(all_sent().size(), 1U) << "by port 2";
    arrive(frame(make(Ipv4Packet{.ttl = 1}), "02:00:00:00:00:02"), 2);
    expect_silent("icmp_own_undeliverable");
}

TEST_F(Icmp4, silence_rules_are_asked) {
    expect_silent(Ipv4Packet{.ttl = 1, .protocol = 1, .payload = {3, 1, 0, 0, 0, 0, 0, 0}},
                  "icmp_silent_icmp_error");
    expect_silent(Ipv4Packet{.fragment = 5, .ttl = 1}, "icmp_silent_fragment");
    router.environment.broadcasts.insert(ip("192.168.2.255"));
    expect_silent(Ipv4Packet{.destination = "192.168.2.255", .ttl = 1}, "icmp_silent_broadcast");
    expect_silent(Ipv4Packet{.source = "192.168.2.255", .ttl = 1}, "icmp_silent_source");
}

TEST_F(Icmp4, what_forward_drops_is_dropped_under_its_name) {
    expect_silent(Ipv4Packet{.source = "127.0.0.1", .ttl = 1}, "recheck_drop_martian_source");
    arrive(frame(make(Ipv4Packet{.ttl = 1}), "ff:ff:ff:ff:ff:ff"));
    expect_silent("recheck_drop_l2_broadcast");
    expect_silent(Ipv4Packet{.destination = "10.2.0.1", .ttl = 1}, "recheck_host_local");
    arrive(Buffer{});
    expect_silent("recheck_drop_truncated");
}

TEST_F(Icmp4, rate_limit_per_prefix_and_in_all) {
    slow_path.set_limits({.rate = 100, .rate_per_prefix = 10, .burst_per_prefix = 5}, 4);
    arrive_times(20, Ipv4Packet{.ttl = 1});
    EXPECT_EQ(all_sent().size(), 5U);
    EXPECT_EQ(counter("icmp_rate_limited"), 15U);
    EXPECT_EQ(counter("icmp4_time_exceeded"), 5U) << "counted when sent";
    arrive_times(20, Ipv4Packet{.source = "192.168.3.1", .ttl = 1});
    EXPECT_EQ(all_sent().size(), 5U);
    arrive_times(20, Ipv4Packet{.source = "10.1.0.2", .ttl = 1});
    EXPECT_EQ(all_sent().size(), 0U) << "ten in all";
    now += std::chrono::seconds(1);
    arrive(Ipv4Packet{.source = "10.1.0.2", .ttl = 1});
    EXPECT_EQ(all_sent().size(), 1U);
}

TEST_F(Icmp4, fragmentation_needed_has_a_budget_of_its_own) {
    slow_path.set_limits({.rate = 100, .rate_per_prefix = 10, .burst_per_prefix = 10}, 4);
    arrive_times(20, Ipv4Packet{.ttl = 1});
    EXPECT_EQ(all_sent().size(), 10U);
    arrive_times(20, Ipv4Packet{.fragment = 0x4000, .payload = Buffer(1600, 1)});
    EXPECT_EQ(all_sent().size(), 10U);
    EXPECT_EQ(counter("icmp4_fragmentation_needed"), 10U) << "limited, too";
}

TEST_F(Icmp4, what_is_not_sent_costs_no_token) {
    slow_path.set_limits({.rate = 100, .rate_per_prefix = 1, .burst_per_prefix = 1}, 4);
    arrive_times(20, Ipv4Packet{.fragment = 5, .ttl = 1});
    arrive(Ipv4Packet{.ttl = 1});
    EXPECT_EQ(all_sent().size(), 1U);
}

TEST_F(Icmp4, nothing_without_an_image) {
    router.environment.view = {};
    expect_silent(Ipv4Packet{.ttl = 1}, "dropped_no_image");
}

TEST_F(Icmp4, a_frame_that_cannot_be_sent_is_counted) {
    router.environment.transmit_works = false;
    arrive(Ipv4Packet{.ttl = 1});
    expect_silent(Ipv4Packet{}, "transmit_failed", 2);
    EXPECT_EQ(counter("forwarded"), 0U);
}

}  // namespace
}  // namespace pktpit::router::test
