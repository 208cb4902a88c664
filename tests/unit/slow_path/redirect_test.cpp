// SPDX-License-Identifier: BSD-3-Clause
/// Redirects: who gets them, what is in them, and how many there are.
#include "router/slow_path/redirect_limiter.h"
#include "router_fixture.h"

namespace pktpit::router::test {
namespace {

using namespace std::chrono_literals;

class Redirects : public SlowPathTest {
  protected:
    Redirects() {
        for (const auto* sender : {"10.1.0.7", "2001:db8:1::7", "fe80::7", "10.9.0.7"})
            router.environment.neighbours[{1, ip(sender)}] = mac("02:00:00:00:bb:07");
        router.route("2001:db8:21::/64", 1, ip("fe80::77"), PP_ADJ_FORWARD, "02:00:00:00:aa:77");
    }
    void copy(Buffer bytes, uint16_t port = 1) { slow_path.redirect(port, bytes, now); }
    void expect_none(const Buffer& packet) {
        copy(frame(packet));
        EXPECT_TRUE(all_sent().empty());
    }
    const Ipv4Packet four{.source = "10.1.0.7", .destination = "192.168.1.9"};
    const Ipv6Packet six{.source = "2001:db8:1::7", .destination = "2001:db8:21::9"};
};

TEST_F(Redirects, ipv4_tells_of_the_gateway) {
    const Buffer original = make(four);
    copy(frame(original));
    const Buffer sent = only_sent(1);
    EXPECT_EQ(cut(sent, 0, 14), (Buffer{2, 0, 0, 0, 0xbb, 7, 2, 0, 0, 0, 0, 1, 8, 0}));
    EXPECT_EQ(cut(sent, 26, 8), (Buffer{10, 1, 0, 1, 10, 1, 0, 7}));
    EXPECT_EQ(cut(sent, 34, 2), (Buffer{5, 1})) << "for the host";
    EXPECT_EQ(cut(sent, 38, 4), (Buffer{10, 1, 0, 2}));
    EXPECT_EQ(cut(sent, 42), original);
    EXPECT_EQ(naive_checksum(cut(sent, 34)), 0);
    EXPECT_EQ(counter("icmp4_redirect"), 1U);
    EXPECT_EQ(counter("forwarded"), 0U) << "the copy does not leave";
}

TEST_F(Redirects, ipv4_tells_of_the_destination_where_that_is_on_the_link) {
    copy(frame(make(Ipv4Packet{.source = "10.1.0.7", .destination = "10.1.0.2"})));
    EXPECT_EQ(cut(only_sent(1), 38, 4), (Buffer{10, 1, 0, 2}));
}

TEST_F(Redirects, ipv6_tells_of_the_next_hop_and_its_mac_address) {
    const Buffer original = make(six);
    copy(frame(original));
    const Buffer sent = only_sent(1);
    EXPECT_EQ(cut(sent, 12, 2), (Buffer{0x86, 0xdd}));
    EXPECT_EQ(sent[21], 255) << "hop limit";
    const auto bytes_of = [](std::string_view address) {
        const auto all = ip(address).bytes;
        return Buffer(all.begin(), all.end());
    };
    EXPECT_EQ(cut(sent, 22, 16), bytes_of("fe80::1"));
    EXPECT_EQ(cut(sent, 38, 16), bytes_of("2001:db8:1::7"));
    const Buffer message = cut(sent, 54);
    EXPECT_EQ(cut(message, 0, 2), (Buffer{137, 0}));
    EXPECT_EQ(naive_checksum6(ip("fe80::1"), ip("2001:db8:1::7"), 58, message), 0);
    EXPECT_EQ(cut(message, 8, 16), bytes_of("fe80::77"));
    EXPECT_EQ(cut(message, 24, 16), bytes_of("2001:db8:21::9"));
    EXPECT_EQ(cut(message, 40, 8), (Buffer{2, 1, 2, 0, 0, 0, 0xaa, 0x77}));
    EXPECT_EQ(cut(message, 48, 2), (Buffer{4, 11})) << "ten units of the original behind one of its own";
    EXPECT_EQ(cut(message, 56), cut(original, 0, 80));
    EXPECT_EQ(counter("icmp6_redirect"), 1U);
}

TEST_F(Redirects, ipv6_is_no_longer_than_the_least_mtu) {
    router.set_mtu("2001:db8:21::/64", 9000);
    Ipv6Packet large = six;
    large.payload = pattern(3000);
    copy(frame(make(large)));
    const Buffer sent = only_sent(1);
    EXPECT_EQ(sent.size(), 14U + 1280);
    EXPECT_EQ(sent[54 + 49] * 8U, 1280U - 40 - 48);
}

TEST_F(Redirects, a_frame_that_has_been_rewritten_already_is_as_good) {
    copy(frame(make(four), "02:00:00:00:aa:01", {}, "02:00:00:00:00:01"));
    EXPECT_EQ(cut(only_sent(1), 34, 2), (Buffer{5, 1}));
}

TEST_F(Redirects, only_for_senders_of_the_net) {
    router.environment.neighbours[{1, ip("10.1.0.2")}] = mac("02:00:00:00:aa:01");
    expect_none(make(Ipv4Packet{.source = "192.168.1.7", .destination = "192.168.1.9"}));
    expect_none(make(Ipv4Packet{.source = "10.2.0.7", .destination = "192.168.1.9"}));
    expect_none(make(Ipv6Packet{.source = "2001:db8:11::7", .destination = "2001:db8:21::9"}));
}

TEST_F(Redirects, only_where_the_packet_goes_back) {
    expect_none(make(Ipv4Packet{.source = "10.1.0.7", .destination = "192.168.2.9"}));
    expect_none(make(Ipv4Packet{.source = "10.1.0.7", .destination = "192.168.4.9"}));
    // The same port, but another VLAN of it.
    copy(frame(make(Ipv4Packet{.source = "10.2.0.7", .destination = "192.168.3.9"}), "02:00:00:00:00:02"), 2);
    EXPECT_TRUE(all_sent().empty());
}

TEST_F(Redirects, ipv6_targets_are_link_local_or_the_destination) {
    expect_none(make(Ipv6Packet{.source = "2001:db8:1::7", .destination = "2001:db8:11::9"}));
    copy(frame(make(Ipv6Packet{.source = "2001:db8:1::7", .destination = "2001:db8:1::2"})));
    const Buffer sent = only_sent(1);
    EXPECT_EQ(cut(sent, 54 + 8, 16), cut(sent, 54 + 24, 16)) << "the destination is the target";
}

TEST_F(Redirects, none_from_ipv4_to_ipv6_next_hops) {
    router.route("198.51.100.0/24", 1, ip("fe80::77"), PP_ADJ_FORWARD, "02:00:00:00:aa:77");
    expect_none(make(Ipv4Packet{.source = "10.1.0.7", .destination = "198.51.100.9"}));
}

TEST_F(Redirects, none_about_errors_and_later_fragments) {
    Ipv4Packet error = four;
    error.protocol = 1;
    error.payload = {3, 1, 0, 0, 0, 0, 0, 0};
    expect_none(make(error));
    Ipv4Packet fragment = four;
    fragment.fragment = 100;
    expect_none(make(fragment));
}

TEST_F(Redirects, none_without_a_link_local_address) {
    router.environment.sources.erase({1, Family::ipv6, true});
    expect_none(make(six));
}

TEST_F(Redirects, can_be_turned_off_and_on) {
    config::Icmp off = limits();
    off.redirects = false;
    slow_path.set_limits(off, 4);
    expect_none(make(four));
    slow_path.set_limits(limits(), 4);
    copy(frame(make(four)));
    (void)only_sent(1);
}

TEST_F(Redirects, each_sender_gets_a_few_and_what_is_withheld_is_counted) {
    size_t sent = 0;
    for (int i = 0; i < 100; i++) {
        copy(frame(make(four)));
        sent += all_sent().size();
        now += 100ms;
    }
    EXPECT_LE(sent, RedirectLimiter::most);
    EXPECT_GT(sent, 1U);
    EXPECT_EQ(counter("icmp4_redirect"), sent);
    EXPECT_EQ(counter("icmp_redirect_withheld"), 100 - sent);
}

TEST_F(Redirects, the_rate_of_errors_holds_for_them_too) {
    slow_path.set_limits({.rate = 0, .rate_per_prefix = 10, .burst_per_prefix = 10}, 4);
    expect_none(make(four));
    EXPECT_EQ(counter("icmp_rate_limited"), 1U);
}

TEST_F(Redirects, anything_may_come) {
    for (size_t size : {0U, 5U, 13U, 14U, 20U, 40U}) {
        const Buffer whole = frame(make(four));
        copy(cut(whole, 0, size));
        copy(cut(whole, 0, size), 999);
    }
    EXPECT_TRUE(all_sent().empty());
}

TEST(RedirectLimits, grow_apart_and_begin_anew_after_a_silence) {
    RedirectLimiter limiter(7);
    Clock::time_point now{1h};
    EXPECT_TRUE(limiter.allow(ip("10.1.0.7"), 1, now));
    EXPECT_FALSE(limiter.allow(ip("10.1.0.7"), 1, now + 39ms));
    EXPECT_TRUE(limiter.allow(ip("10.1.0.8"), 1, now + 39ms)) << "another sender";
    EXPECT_TRUE(limiter.allow(ip("10.1.0.7"), 1, now + 40ms));
    EXPECT_FALSE(limiter.allow(ip("10.1.0.7"), 1, now + 119ms));
    EXPECT_TRUE(limiter.allow(ip("10.1.0.7"), 1, now + 120ms));
    unsigned sent = 3;
    for (int i = 0; i < 100; i++) {
        now += 1s;
        sent += limiter.allow(ip("10.1.0.7"), 1, now);
    }
    EXPECT_EQ(sent, RedirectLimiter::most);
    EXPECT_FALSE(limiter.allow(ip("10.1.0.7"), 1, now + 19s)) << "it still sends this way";
    EXPECT_TRUE(limiter.allow(ip("10.1.0.7"), 1, now + 39s));
}

}  // namespace
}  // namespace pktpit::router::test
