// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/connected.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pktpit::router {
namespace {

using Strength = ConnectedWish::Strength;

InterfaceAddress address(const char* text) {
    return InterfaceAddress::parse(text).value();
}

std::map<std::string, Strength> strengths(const char* text, const AddressDetails& details = {}) {
    std::map<std::string, Strength> found;
    for (const auto& [prefix, wish] : wishes_of(3, address(text), details))
        found[prefix.to_string()] = wish.strength;
    for (const auto& prefix : nets_of(address(text), details))
        found[prefix.to_string()] = Strength::net;
    return found;
}

AddressDetails with_peer(const char* text) {
    AddressDetails details;
    details.peer = IpAddress::parse(text).value();
    return details;
}

TEST(ConnectedWishes, Ipv4NetHasItsAddressItsNetAndBothBroadcastAddresses) {
    EXPECT_THAT(strengths("192.0.2.1/24"),
                testing::ElementsAre(testing::Pair("192.0.2.0/24", Strength::net),
                                     testing::Pair("192.0.2.0/32", Strength::broadcast),
                                     testing::Pair("192.0.2.1/32", Strength::host),
                                     testing::Pair("192.0.2.255/32", Strength::broadcast)));
}

TEST(ConnectedWishes, KernelsBroadcastAddressIsTaken) {
    const auto found = strengths("192.0.2.1/24", {IpAddress::parse("192.0.2.127").value()});
    EXPECT_TRUE(found.contains("192.0.2.127/32"));
    EXPECT_FALSE(found.contains("192.0.2.255/32"));
}

TEST(ConnectedWishes, PointToPointNetsHaveNoBroadcast) {
    EXPECT_THAT(strengths("192.0.2.0/31"),
                testing::ElementsAre(testing::Pair("192.0.2.0/31", Strength::net),
                                     testing::Pair("192.0.2.0/32", Strength::host)));
    EXPECT_THAT(strengths("192.0.2.9/32"),
                testing::ElementsAre(testing::Pair("192.0.2.9/32", Strength::host)));
    EXPECT_EQ(strengths("2001:db8::1/127").size(), 2U);
    EXPECT_EQ(strengths("2001:db8::1/128").size(), 1U);
}

TEST(ConnectedWishes, Ipv6NetHasItsSubnetRouterAnycastAddress) {
    EXPECT_THAT(strengths("2001:db8::1/64"),
                testing::ElementsAre(testing::Pair("2001:db8::/128", Strength::host),
                                     testing::Pair("2001:db8::/64", Strength::net),
                                     testing::Pair("2001:db8::1/128", Strength::host)));
    EXPECT_TRUE(strengths("2001:db8::5/126").contains("2001:db8::4/128"));
}

TEST(ConnectedWishes, LinkLocalNeverReachesTheFib) {
    EXPECT_TRUE(strengths("fe80::1/64").empty());
}

TEST(ConnectedWishes, ipv4_peer_has_the_net_and_the_broadcast_addresses) {
    EXPECT_THAT(strengths("10.0.0.1/32", with_peer("10.0.0.2")),
                testing::ElementsAre(testing::Pair("10.0.0.1/32", Strength::host),
                                     testing::Pair("10.0.0.2/32", Strength::net)));
    EXPECT_THAT(strengths("10.0.0.1/24", with_peer("10.0.1.2")),
                testing::ElementsAre(testing::Pair("10.0.0.1/32", Strength::host),
                                     testing::Pair("10.0.1.0/24", Strength::net),
                                     testing::Pair("10.0.1.0/32", Strength::broadcast),
                                     testing::Pair("10.0.1.255/32", Strength::broadcast)));
}

TEST(ConnectedWishes, ipv6_peer_is_a_net_beside_that_of_the_address) {
    EXPECT_THAT(strengths("2001:db8:9::1/128", with_peer("2001:db8:9::2")),
                testing::ElementsAre(testing::Pair("2001:db8:9::1/128", Strength::host),
                                     testing::Pair("2001:db8:9::2/128", Strength::net)));
    EXPECT_THAT(strengths("2001:db8:9::1/64", with_peer("2001:db8:8::2")),
                testing::ElementsAre(testing::Pair("2001:db8:8::2/128", Strength::net),
                                     testing::Pair("2001:db8:9::/128", Strength::host),
                                     testing::Pair("2001:db8:9::/64", Strength::net),
                                     testing::Pair("2001:db8:9::1/128", Strength::host)));
    EXPECT_TRUE(strengths("fe80::1/128", with_peer("fe80::2")).empty());
}

TEST(ConnectedWishes, of_several_nets_the_one_that_is_up_then_the_metric_then_the_first) {
    ConnectedWishes wishes;
    const Prefix prefix = Prefix::parse("10.0.0.0/24").value();
    const auto best = [&] { return wishes.net(prefix)->spec.next_hops.front().interface; };
    wishes.add(prefix, wish_of_net(2, {false, 0, 20}));
    wishes.add(prefix, wish_of_net(3, {false, 0, 10}));
    EXPECT_EQ(best(), 3);
    wishes.add(prefix, wish_of_net(4, {true, 0, 1}));
    EXPECT_EQ(best(), 3);
    wishes.remove(prefix, wish_of_net(2, {false, 0, 20}));
    wishes.remove(prefix, wish_of_net(3, {false, 0, 10}));
    wishes.add(prefix, wish_of_net(5, {false, 100, 2}));
    EXPECT_EQ(best(), 5);
    wishes.add(prefix, wish_of_host());
    EXPECT_EQ(best(), 5) << "behind what is stronger";
}

TEST(ConnectedWishes, StrongestWins) {
    ConnectedWishes wishes;
    const Prefix prefix = Prefix::parse("192.0.2.1/32").value();
    const ConnectedWish net{Strength::net, {}};
    const ConnectedWish host{Strength::host, {}};
    EXPECT_TRUE(wishes.add(prefix, net));
    EXPECT_FALSE(wishes.add(prefix, net)) << "a second equal wish changes nothing";
    EXPECT_TRUE(wishes.add(prefix, host));
    EXPECT_EQ(wishes.strongest(prefix)->strength, Strength::host);
    EXPECT_FALSE(wishes.remove(prefix, net));
    EXPECT_TRUE(wishes.remove(prefix, host));
    EXPECT_EQ(wishes.strongest(prefix)->strength, Strength::net);
    EXPECT_TRUE(wishes.remove(prefix, net));
    EXPECT_EQ(wishes.strongest(prefix), nullptr);
    EXPECT_FALSE(wishes.remove(prefix, net));
}

}  // namespace
}  // namespace pktpit::router
