// SPDX-License-Identifier: BSD-3-Clause
#include "router_fixture.h"

namespace pktpit::router::test {
namespace {

struct Expected {
    uint8_t type, code;
    uint32_t parameter = 0;
    std::string_view source = "2001:db8:1::1";
    std::string_view destination = "2001:db8:11::7";
};

class Icmp6 : public SlowPathTest {
  protected:
    inline static const Buffer link_to_a{2, 0, 0, 0, 0xaa, 1, 2, 0, 0, 0, 0, 1, 0x86, 0xdd};

    void expect_error(const Buffer& original, const Expected& expected, const Buffer& link = link_to_a) {
        SCOPED_TRACE(testing::Message() << "type " << int{expected.type} << ", code " << int{expected.code});
        const Buffer sent = only_sent(1);
        ASSERT_GT(sent.size(), link.size() + 48);
        EXPECT_EQ(cut(sent, 0, link.size()), link);
        Buffer icmp = icmp_error(expected.type, expected.code, expected.parameter, cut(original, 0, 1232));
        set16(icmp, 2, naive_checksum6(ip(expected.source), ip(expected.destination), 58, icmp));
        Buffer packet = make(Ipv6Packet{.source = expected.source,
                                        .destination = expected.destination,
                                        .next = 58,
                                        .hop_limit = 64,
                                        .payload = icmp});
        packet[0] = 0x60, packet[1] = packet[2] = packet[3] = 0;  // no traffic class, no flow label
        EXPECT_EQ(cut(sent, link.size()), packet);
    }
    void expect_answer(const Ipv6Packet& packet, const Expected& expected, const Buffer& link = link_to_a) {
        arrive(packet);
        expect_error(make(packet), expected, link);
    }
};

TEST_F(Icmp6, time_exceeded) {
    for (uint8_t hops : Buffer{0, 1})
        expect_answer({.hop_limit = hops}, {3, 0});
    EXPECT_EQ(counter("icmp6_time_exceeded"), 2U);
}

TEST_F(Icmp6, no_way_on_is_told_as_the_route_wants_it) {
    const Ipv6Packet packet{.destination = "2001:db8:ffff::1"};
    expect_answer(packet, {1, 0});
    router.route("2001:db8:ffff::/48", 0, std::nullopt, PP_ADJ_UNREACHABLE);
    expect_answer(packet, {1, 0});
    EXPECT_EQ(counter("icmp6_no_route"), 2U);
    router.route("2001:db8:ffff::/48", 0, std::nullopt, PP_ADJ_PROHIBIT);
    expect_answer(packet, {1, 1});
    EXPECT_EQ(counter("icmp6_prohibited"), 1U);
}

TEST_F(Icmp6, packet_too_big_tells_the_next_hops_mtu) {
    router.set_mtu("2001:db8:12::/64", 1400);
    arrive(Ipv6Packet{.payload = pattern(1360)});
    EXPECT_EQ(only_sent(2).size(), 1414U);
    expect_answer({.payload = pattern(1361)}, {2, 0, 1400});
    EXPECT_EQ(counter("icmp6_packet_too_big"), 1U);
}

TEST_F(Icmp6, packet_too_big_never_tells_less_than_1280) {
    router.set_mtu("2001:db8:12::/64", 1000);
    expect_answer({.payload = pattern(1241)}, {2, 0, 1280});
    expect_silent(Ipv6Packet{.payload = pattern(1240)}, "dropped_ipv6_link_too_small");
}

TEST_F(Icmp6, quotes_no_more_than_fits_1280_bytes) {
    for (const size_t size : {1191U, 1192U, 1193U, 1460U}) {
        const Buffer packet = make(Ipv6Packet{.hop_limit = 1, .payload = pattern(size)});
        arrive(frame(packet));
        EXPECT_EQ(router.environment.sent.at(0).bytes.size(),
                  14 + std::min(size_t{1280}, packet.size() + 48));
        expect_error(packet, {3, 0});
    }
}

/// A hop-by-hop header of 8 bytes whose second option is of this type.
Buffer hop_by_hop(uint8_t type) {
    return join({{253, 0, 0, type, 2, 0, 1, 0}, pattern(20)});
}

TEST_F(Icmp6, parameter_problem_points_at_the_unknown_option) {
    for (const uint8_t type : Buffer{0x80 | 30, 0xc0 | 30})
        expect_answer({.next = 0, .payload = hop_by_hop(type)}, {4, 2, 43});
    EXPECT_EQ(counter("icmp6_parameter_problem"), 2U);
}

TEST_F(Icmp6, options_to_skip_or_to_discard_are_not_answered) {
    arrive(Ipv6Packet{.next = 0, .payload = hop_by_hop(30)});
    EXPECT_EQ(all_sent().size(), 1U) << "forwarded";
    expect_silent(Ipv6Packet{.next = 0, .payload = hop_by_hop(0x40 | 30)}, "recheck_drop_ipv6_option");
}

TEST_F(Icmp6, beyond_scope_goes_back_on_the_link_it_came_from) {
    router.environment.neighbours[{1, ip("fe80::77")}] = mac("02:00:00:00:aa:77");
    expect_answer({.source = "fe80::77"},
                  {.type = 1, .code = 2, .source = "fe80::1", .destination = "fe80::77"},
                  {2, 0, 0, 0, 0xaa, 0x77, 2, 0, 0, 0, 0, 1, 0x86, 0xdd});
    EXPECT_EQ(counter("icmp6_beyond_scope"), 1U);
}

TEST_F(Icmp6, beyond_scope_on_a_vlan_waits_for_its_neighbour) {
    const Buffer packet = make(Ipv6Packet{.source = "fe80::77"});
    arrive(frame(packet, "02:00:00:00:00:02", {0x88, 0xa8, 0, 100, 0x81, 0, 0, 200}), 2);
    EXPECT_TRUE(all_sent().empty());
    ASSERT_EQ(router.environment.resolved.size(), 1U);
    EXPECT_EQ(router.environment.resolved[0], (std::pair{uint16_t{3}, ip("fe80::77")}));
    router.environment.neighbours[{3, ip("fe80::77")}] = mac("02:00:00:00:aa:77");
    slow_path.neighbour_resolved(1, ip("fe80::77"), now);
    EXPECT_TRUE(all_sent().empty()) << "the same address on another link is another neighbour";
    slow_path.neighbour_resolved(3, ip("fe80::77"), now);
    const Buffer sent = only_sent(2);
    EXPECT_EQ(cut(sent, 0, 22), (Buffer{2, 0,    0,    0, 0xaa, 0x77, 2, 0, 0,   0,    0,
                                        2, 0x88, 0xa8, 0, 100,  0x81, 0, 0, 200, 0x86, 0xdd}));
    EXPECT_EQ(cut(sent, 22 + 48), packet);
}

TEST_F(Icmp6, beyond_scope_from_an_interface_that_is_gone) {
    router.environment.links.clear();
    expect_silent(Ipv6Packet{.source = "fe80::77"}, "icmp_no_way_back");
}

TEST_F(Icmp6, address_unreachable_when_the_neighbour_fails) {
    const Buffer packet = make(Ipv6Packet{.destination = "2001:db8:14::1"});
    arrive(frame(packet));
    slow_path.neighbour_failed(2, ip("2001:db8:2::4"), now);
    expect_error(packet, {1, 3});
    EXPECT_EQ(counter("icmp6_address_unreachable"), 1U);
}

TEST_F(Icmp6, silence_rules_are_asked) {
    expect_silent(Ipv6Packet{.next = 58, .hop_limit = 1, .payload = {1, 0, 0, 0}}, "icmp_silent_icmp_error");
}

}  // namespace
}  // namespace pktpit::router::test
