// SPDX-License-Identifier: BSD-3-Clause
/// Packets that leave after all: forwarded, fragmented, with their options processed.
#include "router_fixture.h"

namespace pktpit::router::test {
namespace {

using namespace std::chrono_literals;

class Transit : public SlowPathTest {
  protected:
    /// The options that a packet with these leaves with.
    Buffer processed(const Buffer& options) {
        arrive(Ipv4Packet{.options = options});
        return cut(only_sent(2), 34, options.size());
    }
};

const Buffer link_to_b{2, 0, 0, 0, 0xaa, 2, 2, 0, 0, 0, 0, 2, 8, 0};
const Buffer link_to_c{2, 0, 0, 0, 0xaa, 3, 2, 0, 0, 0, 0, 2, 0x88, 0xa8, 0, 100, 0x81, 0, 0, 200, 8, 0};

TEST_F(Transit, is_forwarded_when_nothing_stands_in_its_way_any_more) {
    arrive(Ipv4Packet{.payload = pattern(1400)});
    EXPECT_EQ(only_sent(2), join({link_to_b, make(Ipv4Packet{.ttl = 16, .payload = pattern(1400)})}));
    arrive(Ipv6Packet{});
    EXPECT_EQ(cut(only_sent(2), 14), make(Ipv6Packet{.hop_limit = 16}));
    EXPECT_EQ(counter("forwarded"), 2U);
}

TEST_F(Transit, is_forwarded_into_a_vlan) {
    arrive(Ipv4Packet{.destination = "192.168.3.9"});
    EXPECT_EQ(only_sent(2), join({link_to_c, make(Ipv4Packet{.destination = "192.168.3.9", .ttl = 16})}));
}

TEST_F(Transit, record_route_takes_the_egress_interfaces_address) {
    arrive(Ipv4Packet{.options = {7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}});
    EXPECT_EQ(
        only_sent(2),
        join({link_to_b, make(Ipv4Packet{.ttl = 16, .options = {7, 11, 8, 10, 2, 0, 1, 0, 0, 0, 0, 0}})}));
    arrive(Ipv4Packet{.destination = "192.168.3.9", .options = {7, 7, 4, 0, 0, 0, 0, 0}});
    EXPECT_EQ(only_sent(2), join({link_to_c, make(Ipv4Packet{.destination = "192.168.3.9",
                                                             .ttl = 16,
                                                             .options = {7, 7, 8, 10, 3, 0, 1, 0}})}));
    EXPECT_EQ(processed({7, 7, 8, 1, 2, 3, 4, 0}), (Buffer{7, 7, 8, 1, 2, 3, 4, 0}));
    EXPECT_EQ(counter("options_recorded_route"), 2U) << "a full one takes none";
    EXPECT_EQ(counter("forwarded"), 3U);
}

TEST_F(Transit, record_route_takes_any_address_where_the_egress_interface_has_none) {
    router.environment.sources.erase({2, Family::ipv4, false});
    EXPECT_EQ(processed({7, 7, 4, 0, 0, 0, 0, 0}), (Buffer{7, 7, 8, 10, 1, 0, 1, 0}));
}

TEST_F(Transit, timestamps) {
    // 12:34:56.789 UT on some day: 45,296,789 ms = 0x02b32c95.
    router.environment.time = std::chrono::system_clock::time_point(20000 * 24h + 12h + 34min + 56789ms);
    EXPECT_EQ(processed({68, 8, 5, 0, 0, 0, 0, 0}), (Buffer{68, 8, 9, 0, 0x02, 0xb3, 0x2c, 0x95}));
    // Any address of the router counts as prespecified, here that of the ingress interface.
    EXPECT_EQ(processed({68, 12, 5, 3, 10, 1, 0, 1, 0, 0, 0, 0}),
              (Buffer{68, 12, 13, 3, 10, 1, 0, 1, 0x02, 0xb3, 0x2c, 0x95}));
    EXPECT_EQ(processed({68, 12, 5, 3, 10, 1, 0, 2, 0, 0, 0, 0}),
              (Buffer{68, 12, 5, 3, 10, 1, 0, 2, 0, 0, 0, 0}));
    EXPECT_EQ(counter("options_timestamped"), 2U);
    EXPECT_EQ(processed({68, 8, 9, 0x20, 1, 2, 3, 4}), (Buffer{68, 8, 9, 0x30, 1, 2, 3, 4}));
    EXPECT_EQ(counter("options_timestamp_overflow"), 1U);
}

TEST_F(Transit, every_header_with_options_has_a_right_checksum) {
    for (int i = 0; i < 500; i++) {
        router.environment.time += 7919ms;
        arrive(Ipv4Packet{.id = static_cast<uint16_t>(i * 131),
                          .options = {68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 7, 7, 4, 0, 0, 0, 0, 0}});
        EXPECT_EQ(naive_checksum(cut(only_sent(2), 14, 40)), 0);
    }
}

TEST_F(Transit, options_do_not_hide_what_else_is_wrong) {
    const Buffer record{7, 7, 4, 0, 0, 0, 0, 0};
    const auto type_of_only_sent = [&] { return cut(only_sent(1), 34, 2); };
    arrive(Ipv4Packet{.ttl = 1, .options = record});
    EXPECT_EQ(type_of_only_sent(), (Buffer{11, 0}));
    router.set_mtu("192.168.2.0/24", 500);
    const Buffer packet = make(Ipv4Packet{.fragment = 0x4000, .options = record, .payload = pattern(500)});
    arrive(frame(packet));
    const Buffer error = only_sent(1);
    EXPECT_EQ(cut(error, 34, 2), (Buffer{3, 4}));
    EXPECT_EQ(cut(error, 42), packet) << "quoted as received, before the address was recorded";
}

TEST_F(Transit, too_big_is_cut_into_fragments) {
    router.set_mtu("192.168.2.0/24", 576);
    const Buffer data = pattern(1200);
    arrive(frame(join({make(Ipv4Packet{.payload = data}), Buffer(4, 0xee)})));
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 3U);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(sent[i].port, 2);
        const uint16_t field = static_cast<uint16_t>(i * 552 / 8) | (i < 2 ? 0x2000 : 0);
        EXPECT_EQ(sent[i].bytes,
                  join({link_to_b,
                        make(Ipv4Packet{.fragment = field, .ttl = 16, .payload = cut(data, i * 552, 552)})}));
    }
    EXPECT_EQ(counter("fragmented_packets"), 1U);
    EXPECT_EQ(counter("fragments_sent"), 3U);
}

TEST_F(Transit, counts_with_its_route_what_is_sent) {
    using Counted = std::vector<std::pair<uint16_t, size_t>>;
    const auto counted = [&] { return std::exchange(router.environment.counted, {}); };
    router.count("192.168.2.0/24", 7);
    arrive(Ipv4Packet{.payload = pattern(100)});
    EXPECT_EQ(counted(), (Counted{{7, 14 + 20 + 100}}));
    arrive(Ipv4Packet{.destination = "192.168.3.9"});
    EXPECT_EQ(counted(), Counted{}) << "another route";
    router.environment.transmit_works = false;
    arrive(Ipv4Packet{});
    EXPECT_EQ(counted(), Counted{}) << "not sent";
    router.environment.transmit_works = true;
    router.set_mtu("192.168.2.0/24", 576);
    arrive(Ipv4Packet{.payload = pattern(600)});
    EXPECT_EQ(counted(), (Counted{{7, 14 + 20 + 552}, {7, 14 + 20 + 48}})) << "fragment by fragment";
}

TEST_F(Transit, fragments_carry_their_vlan_tags) {
    router.set_mtu("192.168.3.0/24", 576);
    arrive(Ipv4Packet{.destination = "192.168.3.9", .payload = pattern(600)});
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 2U);
    for (const Sent& piece : sent)
        EXPECT_EQ(cut(piece.bytes, 0, 22), link_to_c);
}

TEST_F(Transit, options_are_processed_before_the_packet_is_cut) {
    router.set_mtu("192.168.2.0/24", 200);
    arrive(Ipv4Packet{.options = {7, 7, 4, 0, 0, 0, 0, 0x88, 4, 1, 2, 0}, .payload = pattern(300)});
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(cut(sent[0].bytes, 34, 12), (Buffer{7, 7, 8, 10, 2, 0, 1, 0x88, 4, 1, 2, 0}));
    EXPECT_EQ(cut(sent[1].bytes, 34, 4), (Buffer{0x88, 4, 1, 2}));
    EXPECT_EQ(sent[0].bytes.size() + sent[1].bytes.size(), 14 + 32 + 14 + 24 + 300U);
}

TEST_F(Transit, what_cannot_be_cut_is_dropped_and_counted) {
    router.set_mtu("192.168.2.0/24", 24);
    expect_silent(Ipv4Packet{.payload = pattern(300)}, "fragment_impossible");
}

TEST_F(Transit, a_known_neighbour_is_used_before_the_image_has_it) {
    router.environment.neighbours[{2, ip("10.2.0.77")}] = mac("02:00:00:00:aa:77");
    arrive(Ipv4Packet{.destination = "10.2.0.77", .options = {7, 7, 4, 0, 0, 0, 0, 0}});
    EXPECT_EQ(only_sent(2),
              join({{2, 0, 0, 0, 0xaa, 0x77, 2, 0, 0, 0, 0, 2, 8, 0},
                    make(Ipv4Packet{
                        .destination = "10.2.0.77", .ttl = 16, .options = {7, 7, 8, 10, 2, 0, 1, 0}})}));
    router.environment.neighbours[{2, ip("2001:db8:2::77")}] = mac("02:00:00:00:aa:78");
    arrive(Ipv6Packet{.destination = "2001:db8:2::77"});
    EXPECT_EQ(only_sent(2), join({{2, 0, 0, 0, 0xaa, 0x78, 2, 0, 0, 0, 0, 2, 0x86, 0xdd},
                                  make(Ipv6Packet{.destination = "2001:db8:2::77", .hop_limit = 16})}));
    EXPECT_TRUE(router.environment.resolved.empty());
    arrive(Ipv4Packet{.destination = "10.2.0.77", .options = {7, 1, 4, 0}});
    const Buffer error = only_sent(1);
    EXPECT_EQ(cut(error, 34, 2), (Buffer{12, 0})) << "a malformed option is answered all the same";
    EXPECT_EQ(error.at(38), 21);
}

TEST_F(Transit, a_neighbour_that_the_image_does_not_have_has_an_mtu_all_the_same) {
    router.environment.neighbours[{2, ip("10.2.0.77")}] = mac("02:00:00:00:aa:77");
    router.set_mtu("10.2.0.0/24", 1000);
    const Buffer packet =
        make(Ipv4Packet{.destination = "10.2.0.77", .fragment = 0x4000, .payload = pattern(1200)});
    arrive(frame(packet));
    EXPECT_EQ(cut(only_sent(1), 34, 2), (Buffer{3, 4}));
    arrive(Ipv4Packet{.destination = "10.2.0.77", .payload = pattern(1200)});
    const auto sent = all_sent();
    ASSERT_EQ(sent.size(), 2U);
    EXPECT_EQ(cut(sent[1].bytes, 0, 6), (Buffer{2, 0, 0, 0, 0xaa, 0x77}));
    EXPECT_EQ(sent[0].bytes.size() + sent[1].bytes.size(), 2 * 34 + 1200U);
}

}  // namespace
}  // namespace pktpit::router::test
