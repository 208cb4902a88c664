// SPDX-License-Identifier: BSD-3-Clause
// Gateways that lie on no net of an interface: found by the longest match of the RIB, and again when it
// changes.
#include "routing_fixture.h"

namespace pktpit::router {
namespace {

using State = Resolution::State;

class Recursion : public RoutingTest {
  protected:
    Recursion() {
        routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
        routing.set_neighbour(lan, ip("192.0.2.8"), reachable(8));
        routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    }
    Result<void> via(const char* text, const char* gateway, RouteSource source = RouteSource::config,
                     uint8_t preference = 10) {
        return add(text, {{ip(gateway), 0, 1}}, source, preference);
    }
    void erase(const char* text, RouteSource source = RouteSource::config) {
        EXPECT_TRUE(routing.erase_route(prefix(text), source).value());
    }
    State state(const char* gateway) const {
        return routing.next_hop_sets().resolution_of(ip(gateway))->state;
    }
    unsigned depth(const char* gateway) const {
        return routing.next_hop_sets().resolution_of(ip(gateway))->depth;
    }
    /// Buckets of the destination's group by MAC address, in parts of 256.
    std::map<int, int> shares(const char* destination) const {
        std::map<int, int> found;
        for (uint32_t i = 0; i < 256; i++)
            found[at(destination, i << 24).dst_mac[5]]++;
        return found;
    }
};

TEST_F(Recursion, FollowsEveryChangeOfTheRouteToTheGateway) {
    ASSERT_TRUE(via("203.0.113.0/24", "10.0.0.1"));
    ASSERT_TRUE(via("10.0.0.0/16", "192.0.2.7"));
    const auto group = image.lookup(ip("203.0.113.5"));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 7);
    ASSERT_TRUE(via("10.0.0.0/24", "192.0.2.8"));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 8) << "a more specific one came";
    ASSERT_TRUE(via("10.0.0.0/24", "198.51.100.9"));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9) << "replaced";
    ASSERT_TRUE(via("10.0.0.0/24", "192.0.2.7", RouteSource::cli, 5));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 7) << "a better one of the same prefix";
    erase("10.0.0.0/24", RouteSource::cli);
    erase("10.0.0.0/24");
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 7) << "back to the shorter one";
    ASSERT_TRUE(via("10.0.0.0/8", "198.51.100.9"));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 7) << "a shorter one is nothing to it";
    EXPECT_EQ(image.lookup(ip("203.0.113.5")), group) << "the prefix itself was never touched";
}

TEST_F(Recursion, MultipathMultipliesWeights) {
    ASSERT_TRUE(add("10.0.0.1/32", {{ip("192.0.2.7"), 0, 1}, {ip("192.0.2.8"), 0, 1}}));
    ASSERT_TRUE(add("203.0.113.0/24", {{ip("10.0.0.1"), 0, 1}, {ip("198.51.100.9"), 0, 1}}));
    auto found = shares("203.0.113.5");
    EXPECT_EQ(found[7], 64);
    EXPECT_EQ(found[8], 64);
    EXPECT_EQ(found[9], 128);
    ASSERT_TRUE(add("10.0.0.1/32", {{ip("192.0.2.7"), 0, 3}, {ip("198.51.100.9"), 0, 1}}));
    found = shares("203.0.113.5");
    EXPECT_EQ(found[7], 96);
    EXPECT_EQ(found[9], 160) << "two ways to the same next hop are one";
    EXPECT_FALSE(found.contains(8));
}

TEST_F(Recursion, NotOverRoutesThatLeadNowhere) {
    ASSERT_TRUE(via("10.0.0.0/8", "192.0.2.7"));
    ASSERT_TRUE(via("203.0.113.0/24", "10.0.0.1"));
    for (const auto kind : {PP_ADJ_BLACKHOLE, PP_ADJ_UNREACHABLE, PP_ADJ_PROHIBIT}) {
        ASSERT_TRUE(add_special("10.0.0.0/24", kind));
        EXPECT_EQ(state("10.0.0.1"), State::discards);
        EXPECT_EQ(at("203.0.113.5").kind, PP_ADJ_INVALID);
    }
    ASSERT_TRUE(add_special("10.0.0.0/24", PP_ADJ_KERNEL));
    EXPECT_EQ(state("10.0.0.1"), State::kernels);
    EXPECT_EQ(at("203.0.113.5").kind, PP_ADJ_INVALID);
    erase("10.0.0.0/24");
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 7);
    ASSERT_TRUE(via("203.0.114.0/24", "192.0.2.1"));
    EXPECT_EQ(state("192.0.2.1"), State::own_address);
    ASSERT_TRUE(via("203.0.115.0/24", "192.0.2.255"));
    EXPECT_EQ(state("192.0.2.255"), State::own_address);
}

TEST_F(Recursion, NoDeeperThanTheLimit) {
    const auto octet = [](unsigned value) { return std::to_string(value); };
    ASSERT_TRUE(via("30.0.0.0/16", "192.0.2.7"));
    for (unsigned i = 1; i < deepest_recursion + 2; i++)
        ASSERT_TRUE(via(("30." + octet(i) + ".0.0/16").c_str(), ("30." + octet(i - 1) + ".0.1").c_str()));
    const std::string last = "30." + octet(deepest_recursion) + ".0.1";
    EXPECT_EQ(state(last.c_str()), State::too_deep);
    EXPECT_EQ(depth(("30." + octet(deepest_recursion - 1) + ".0.1").c_str()), deepest_recursion);
    EXPECT_EQ(at(("30." + octet(deepest_recursion) + ".9.9").c_str()).dst_mac[5], 7);
    EXPECT_EQ(at(("30." + octet(deepest_recursion + 1) + ".9.9").c_str()).kind, PP_ADJ_INVALID);
    ASSERT_TRUE(via("30.1.0.0/16", "192.0.2.8"));
    EXPECT_EQ(state(last.c_str()), State::resolved) << "one less";
    EXPECT_EQ(at(("30." + octet(deepest_recursion + 1) + ".9.9").c_str()).dst_mac[5], 8);
}

// A chain as long as a table must take neither the stack nor quadratic time.
TEST_F(Recursion, LongChainsEnd) {
    const auto address = [](uint32_t i) { return IpAddress::v4(0x1e000001u + (i << 8)); };
    constexpr uint32_t length = 60;  // 64 blocks of the test image
    for (uint32_t i = length; i > 0; i--)
        ASSERT_TRUE(set_route(Prefix::of(address(i), 24), {PP_ADJ_FORWARD, {{address(i - 1), 0, 1}}}));
    ASSERT_TRUE(via("30.0.0.0/24", "30.0.60.1"));
    EXPECT_EQ(state("30.0.0.1"), State::loop) << "closed into a ring";
    EXPECT_EQ(state("30.0.59.1"), State::loop);
    ASSERT_TRUE(via("30.0.0.0/24", "192.0.2.7"));
    EXPECT_EQ(state("30.0.0.1"), State::resolved);
    EXPECT_EQ(state("30.0.59.1"), State::unusable) << "some gateway before it is too deep";
}

TEST_F(Recursion, GatewayOnALinkDoesNotFollowNeighbourRoutes) {
    ASSERT_TRUE(via("192.0.2.128/25", "198.51.100.9"));
    ASSERT_TRUE(via("203.0.113.0/24", "192.0.2.200"));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9);
    routing.set_neighbour(lan, ip("192.0.2.200"), reachable(20));
    EXPECT_EQ(at("192.0.2.200").dst_mac[5], 9) << "the neighbour itself: the longer route stands";
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9);
}

TEST_F(Recursion, AddressesThatComeAndGoResolveAndUnresolve) {
    ASSERT_TRUE(via("203.0.113.0/24", "172.16.0.1"));
    ASSERT_TRUE(via("203.0.114.0/24", "203.0.113.1"));
    EXPECT_EQ(state("203.0.113.1"), State::unusable);
    routing.add_address(wan, address("172.16.0.2/24"), {});
    routing.set_neighbour(wan, ip("172.16.0.1"), reachable(30));
    EXPECT_EQ(at("203.0.114.5").dst_mac[5], 30);
    routing.remove_address(wan, address("172.16.0.2/24"));
    EXPECT_EQ(at("203.0.114.5").kind, PP_ADJ_INVALID);
    EXPECT_EQ(state("172.16.0.1"), State::no_route);
}

TEST_F(Recursion, DeadNeighbourBelowARecursiveHopIsLeftOut) {
    ASSERT_TRUE(add("10.0.0.1/32", {{ip("192.0.2.7"), 0, 1}, {ip("198.51.100.9"), 0, 1}}));
    ASSERT_TRUE(via("203.0.113.0/24", "10.0.0.1"));
    EXPECT_EQ(last_mac_bytes("203.0.113.5"), (std::set<int>{7, 9}));
    routing.set_neighbour(wan, ip("198.51.100.9"), {{}, NeighbourState::failed, false});
    EXPECT_EQ(last_mac_bytes("203.0.113.5"), (std::set<int>{7}));
}

TEST_F(Recursion, Ipv6IsTheSame) {
    routing.set_neighbour(lan, ip("2001:db8::7"), reachable(7));
    ASSERT_TRUE(via("2001:db8:ffff::1/128", "2001:db8::7"));
    ASSERT_TRUE(via("2001:db8:1::/48", "2001:db8:ffff::1"));
    EXPECT_EQ(at("2001:db8:1::5").dst_mac[5], 7);
    ASSERT_TRUE(via("32.1.13.0/24", "192.0.2.8")) << "the same first bytes, of the other family";
    EXPECT_EQ(at("2001:db8:1::5").dst_mac[5], 7);
    erase("2001:db8:ffff::1/128");
    EXPECT_EQ(at("2001:db8:1::5").kind, PP_ADJ_INVALID);
}

TEST_F(Recursion, NothingIsLeftWhenTheRoutesAreGone) {
    const auto before = image.usage();
    ASSERT_TRUE(via("10.0.0.0/8", "11.1.1.1"));
    ASSERT_TRUE(via("11.0.0.0/8", "10.1.1.1"));
    ASSERT_TRUE(add("12.0.0.0/8", {{ip("10.1.1.1"), 0, 1}, {ip("192.0.2.7"), 0, 1}}));
    ASSERT_TRUE(via("13.0.0.0/8", "12.1.1.1"));
    for (const char* text : {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8", "13.0.0.0/8"})
        erase(text);
    EXPECT_EQ(routing.next_hop_sets().resolution_of(ip("10.1.1.1")), nullptr);
    expect_usage(before);
}

}  // namespace
}  // namespace pktpit::router
