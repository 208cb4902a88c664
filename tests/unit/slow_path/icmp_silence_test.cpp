// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/icmp_silence.h"

#include <gtest/gtest.h>

#include "packets.h"

namespace pktpit::router::test {
namespace {

SilenceContext context(bool link_multicast = false, bool multicast_may_be_answered = false) {
    return {link_multicast, multicast_may_be_answered,
            [](const IpAddress& address) { return address == ip("10.1.0.255"); }};
}

template <class T>
std::optional<Counter> rule(const T& packet, const SilenceContext& how = context()) {
    const Buffer bytes = make(packet);
    return icmp_silence(parse_packet(bytes).value(), how);
}

constexpr uint8_t icmp6 = 58;

TEST(Silence4, an_ordinary_packet_is_answered) {
    EXPECT_EQ(rule(Ipv4Packet{}), std::nullopt);
    EXPECT_EQ(rule(Ipv4Packet{.fragment = 0x4000}), std::nullopt);
    EXPECT_EQ(rule(Ipv4Packet{.fragment = 0x2000}), std::nullopt) << "a first fragment";
}

TEST(Silence4, only_icmp_queries_are_answered) {
    for (int type = 0; type < 256; type++) {
        const bool query =
            type == 0 || (type >= 8 && type <= 10) || (type >= 13 && type <= 18) || type == 42 || type == 43;
        EXPECT_EQ(rule(Ipv4Packet{.protocol = 1,
                                  .payload = Buffer{static_cast<uint8_t>(type), 0, 0, 0, 0, 0, 0, 0}}),
                  query ? std::nullopt : std::optional(Counter::icmp_silent_icmp_error))
            << type;
    }
    EXPECT_EQ(rule(Ipv4Packet{.protocol = 1, .payload = {}}), Counter::icmp_silent_icmp_error)
        << "no type there";
    EXPECT_EQ(rule(Ipv4Packet{.protocol = 1, .options = Buffer(40, 1), .payload = {3}}),
              Counter::icmp_silent_icmp_error);
}

TEST(Silence4, later_fragments) {
    EXPECT_EQ(rule(Ipv4Packet{.fragment = 1}), Counter::icmp_silent_fragment);
    EXPECT_EQ(rule(Ipv4Packet{.fragment = 0x3fff}), Counter::icmp_silent_fragment);
}

TEST(Silence4, destinations) {
    EXPECT_EQ(rule(Ipv4Packet{.destination = "224.0.0.1"}), Counter::icmp_silent_multicast);
    EXPECT_EQ(rule(Ipv4Packet{.destination = "239.255.255.255"}), Counter::icmp_silent_multicast);
    EXPECT_EQ(rule(Ipv4Packet{.destination = "255.255.255.255"}), Counter::icmp_silent_broadcast);
    EXPECT_EQ(rule(Ipv4Packet{.destination = "10.1.0.255"}), Counter::icmp_silent_broadcast);
}

TEST(Silence4, link_layer_broadcast) {
    EXPECT_EQ(rule(Ipv4Packet{}, context(true)), Counter::icmp_silent_link_broadcast);
}

TEST(Silence4, sources_that_are_no_single_host) {
    for (const char* source : {"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.255", "224.0.0.5", "239.1.1.1",
                               "240.0.0.1", "255.255.255.255", "10.1.0.255"})
        EXPECT_EQ(rule(Ipv4Packet{.source = source}), Counter::icmp_silent_source) << source;
    for (const char* source : {"1.0.0.1", "126.255.255.255", "128.0.0.0", "223.255.255.255", "10.2.0.255"})
        EXPECT_EQ(rule(Ipv4Packet{.source = source}), std::nullopt) << source;
}

TEST(Silence6, an_ordinary_packet_is_answered) {
    EXPECT_EQ(rule(Ipv6Packet{}), std::nullopt);
}

TEST(Silence6, errors_and_redirects_are_not) {
    for (int type = 0; type < 256; type++)
        EXPECT_EQ(rule(Ipv6Packet{.next = icmp6, .payload = {static_cast<uint8_t>(type), 0, 0, 0}}),
                  type < 128 || type == 137 ? std::optional(Counter::icmp_silent_icmp_error) : std::nullopt)
            << type;
    EXPECT_EQ(rule(Ipv6Packet{.next = icmp6, .payload = {}}), Counter::icmp_silent_icmp_error);
}

Buffer extension(uint8_t next, uint8_t length, size_t size) {
    Buffer bytes(size);
    bytes[0] = next;
    bytes[1] = length;
    return bytes;
}

TEST(Silence6, errors_behind_extension_headers_are_found) {
    const Buffer error{1, 0, 0, 0}, query{128, 0, 0, 0};
    const Buffer chain = join({extension(60, 1, 16), extension(43, 0, 8), extension(51, 0, 8),
                               extension(51, 4, 24), extension(44, 0, 8), extension(icmp6, 0, 8)});
    EXPECT_EQ(rule(Ipv6Packet{.next = 0, .payload = join({chain, error})}), Counter::icmp_silent_icmp_error);
    EXPECT_EQ(rule(Ipv6Packet{.next = 0, .payload = join({chain, query})}), std::nullopt);
    EXPECT_EQ(rule(Ipv6Packet{.next = 0, .payload = chain}), Counter::icmp_silent_icmp_error) << "cut off";
}

TEST(Silence6, a_broken_chain_holds_no_error_and_is_not_read_beyond) {
    EXPECT_EQ(rule(Ipv6Packet{.next = 0, .payload = extension(icmp6, 200, 64)}), std::nullopt);
    EXPECT_EQ(rule(Ipv6Packet{.next = 60, .payload = Buffer(7, 0)}), std::nullopt);
    EXPECT_EQ(rule(Ipv6Packet{.next = 44, .payload = {}}), std::nullopt);
}

TEST(Silence6, later_fragments_only_of_icmpv6) {
    Buffer fragment = extension(icmp6, 0, 16);
    fragment[3] = 8;
    EXPECT_EQ(rule(Ipv6Packet{.next = 44, .payload = fragment}), Counter::icmp_silent_icmp_error);
    fragment[0] = 17;
    EXPECT_EQ(rule(Ipv6Packet{.next = 44, .payload = fragment}), std::nullopt);
}

TEST(Silence6, multicast_and_its_exceptions) {
    EXPECT_EQ(rule(Ipv6Packet{.destination = "ff05::1"}), Counter::icmp_silent_multicast);
    EXPECT_EQ(rule(Ipv6Packet{.destination = "ff05::1"}, context(false, true)), std::nullopt);
    EXPECT_EQ(rule(Ipv6Packet{}, context(true)), Counter::icmp_silent_link_broadcast);
    EXPECT_EQ(rule(Ipv6Packet{}, context(true, true)), std::nullopt);
}

TEST(Silence6, sources_that_are_no_single_node) {
    for (const char* source : {"::", "ff02::1", "::1"}) {
        EXPECT_EQ(rule(Ipv6Packet{.source = source}), Counter::icmp_silent_source) << source;
        EXPECT_EQ(rule(Ipv6Packet{.source = source}, context(true, true)), Counter::icmp_silent_source)
            << source;
    }
}

}  // namespace
}  // namespace pktpit::router::test
