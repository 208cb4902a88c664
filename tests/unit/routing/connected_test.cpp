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

std::map<std::string, Strength> strengths(const char* text, InterfaceId interface = 3,
                                          std::optional<IpAddress> broadcast = {}) {
    std::map<std::string, Strength> found;
    for (const auto& [prefix, wish] : wishes_of(interface, address(text), broadcast))
        found[prefix.to_string()] = wish.strength;
    return found;
}

TEST(ConnectedWishes, Ipv4NetHasItsAddressItsNetAndBothBroadcastAddresses) {
    EXPECT_THAT(strengths("192.0.2.1/24"),
                testing::ElementsAre(testing::Pair("192.0.2.0/24", Strength::net),
                                     testing::Pair("192.0.2.0/32", Strength::broadcast),
                                     testing::Pair("192.0.2.1/32", Strength::host),
                                     testing::Pair("192.0.2.255/32", Strength::broadcast)));
}

TEST(ConnectedWishes, KernelsBroadcastAddressIsTaken) {
    const auto found = strengths("192.0.2.1/24", 3, IpAddress::parse("192.0.2.127").value());
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

TEST(ConnectedWishes, AddressOfAForeignDeviceIsOnlyTheHosts) {
    EXPECT_THAT(strengths("192.0.2.1/24", 0),
                testing::ElementsAre(testing::Pair("192.0.2.1/32", Strength::host)));
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
