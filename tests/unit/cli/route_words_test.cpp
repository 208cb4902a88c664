// SPDX-License-Identifier: BSD-3-Clause
// The grammar of `route add`: what iproute2's users type, and what is not understood.
#include "router/cli/route_words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/cli/run_cli.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using test::split;

void expect_route(const std::string& line, const char* expected, Family family = Family::ipv4) {
    const auto route = parse_route_words(split(line), family);
    ASSERT_TRUE(route) << line << ": " << route.error().to_string();
    EXPECT_EQ(*route, json::parse(expected)) << line;
}

TEST(RouteWords, OneNextHop) {
    expect_route("10.0.0.0/8 via 192.0.2.1",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}]})");
    expect_route("10.0.0.0/8 via 192.0.2.1 dev eth0",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1", "interface": "eth0"}]})");
    expect_route("10.0.0.0/8 dev eth0 via 192.0.2.1",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1", "interface": "eth0"}]})");
    expect_route("10.0.0.0/8 dev eth0", R"({"prefix": "10.0.0.0/8", "next_hops": [{"interface": "eth0"}]})");
    expect_route("unicast 10.0.0.0/8 dev eth0",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"interface": "eth0"}]})");
    expect_route("2001:DB8::/32 via inet6 fe80::1 dev eth0",
                 R"({"prefix": "2001:db8::/32", "next_hops": [{"via": "fe80::1", "interface": "eth0"}]})");
    // Options may stand before the prefix.
    expect_route("via 192.0.2.1 10.0.0.0/8",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}]})");
}

TEST(RouteWords, Mtu) {
    expect_route("10.0.0.0/8 via 192.0.2.1 mtu 1400",
                 R"({"prefix": "10.0.0.0/8", "mtu": 1400, "next_hops": [{"via": "192.0.2.1"}]})");
    EXPECT_FALSE(parse_route_to_delete(split("10.0.0.0/8 mtu 1400"), Family::ipv4)) << "more than a prefix";
}

// RFC 8950, with and without iproute2's `inet6`.
TEST(RouteWords, Ipv4OverIpv6) {
    const char* one = R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "fe80::1", "interface": "eth0"}]})";
    expect_route("10.0.0.0/8 via inet6 fe80::1 dev eth0", one);
    expect_route("10.0.0.0/8 via fe80::1 dev eth0", one);
    expect_route("10.0.0.0/8 nexthop via inet 192.0.2.1 nexthop via inet6 2001:db8::1",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}, {"via": "2001:db8::1"}]})");
    expect_route("default nexthop via 2001:db8::1 nexthop via 192.0.2.1",
                 R"({"prefix": "0.0.0.0/0", "next_hops": [{"via": "2001:db8::1"}, {"via": "192.0.2.1"}]})");
    expect_route("0.0.0.0/0 via fe80::1 dev eth0",
                 R"({"prefix": "0.0.0.0/0", "next_hops": [{"via": "fe80::1", "interface": "eth0"}]})");
}

TEST(RouteWords, SeveralNextHops) {
    const char* two =
        R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1", "weight": 2}, {"via": "192.0.2.2"}]})";
    expect_route("10.0.0.0/8 nexthop via 192.0.2.1 weight 2 nexthop via 192.0.2.2", two);
    expect_route("10.0.0.0/8 via 192.0.2.1 weight 2 via 192.0.2.2", two);
    expect_route(
        "10.0.0.0/8 nexthop dev eth0 nexthop dev eth1 weight 65535",
        R"({"prefix": "10.0.0.0/8", "next_hops": [{"interface": "eth0"}, {"interface": "eth1", "weight": 65535}]})");
}

TEST(RouteWords, Backups) {
    expect_route("10.0.0.0/8 via 192.0.2.1 backup via 198.51.100.1 weight 3 backup dev eth1 metric 5",
                 R"({"prefix": "10.0.0.0/8", "metric": 5, "next_hops": [{"via": "192.0.2.1"}],
            "backup": [{"via": "198.51.100.1", "weight": 3}, {"interface": "eth1"}]})");
    expect_route("10.0.0.0/8 nexthop via 192.0.2.1 nexthop via 192.0.2.2 backup via 192.0.2.3",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}, {"via": "192.0.2.2"}],
                     "backup": [{"via": "192.0.2.3"}]})");
    for (const char* wrong : {"10.0.0.0/8 backup via 192.0.2.1", "10.0.0.0/8 via 192.0.2.1 backup",
                              "10.0.0.0/8 via 192.0.2.1 backup via 192.0.2.2 nexthop via 192.0.2.3",
                              "blackhole 10.0.0.0/8 backup via 192.0.2.1"})
        EXPECT_FALSE(parse_route_words(split(wrong), Family::ipv4)) << wrong;
}

TEST(RouteWords, NumbersOfTheRoute) {
    expect_route(
        "10.0.0.0/8 via 192.0.2.1 preference 255 metric 4294967295",
        R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}], "preference": 255, "metric": 4294967295})");
    expect_route("metric 0 10.0.0.0/8 nexthop via 192.0.2.1 nexthop via 192.0.2.2 preference 1",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}, {"via": "192.0.2.2"}],
                     "preference": 1, "metric": 0})");
}

TEST(RouteWords, Vrfs) {
    const char* in_red = R"({"prefix": "10.0.0.0/8", "vrf": "red", "next_hops": [{"via": "192.0.2.1"}]})";
    expect_route("10.0.0.0/8 via 192.0.2.1 vrf red", in_red);
    expect_route("vrf red 10.0.0.0/8 via 192.0.2.1", in_red);
    for (const char* wrong : {"10.0.0.0/8 via 192.0.2.1 vrf", "vrf red 10.0.0.0/8 via 192.0.2.1 vrf red"})
        EXPECT_FALSE(parse_route_words(split(wrong), Family::ipv4)) << wrong;
    EXPECT_EQ(parse_route_to_delete(split("10.0.0.0/8 vrf red"), Family::ipv4).value(),
              nlohmann::json::parse(R"({"prefix": "10.0.0.0/8", "vrf": "red"})"));
}

TEST(RouteWords, TypesOnEitherSide) {
    expect_route("blackhole 10.0.0.0/8", R"({"prefix": "10.0.0.0/8", "type": "blackhole"})");
    expect_route("10.0.0.0/8 unreachable", R"({"prefix": "10.0.0.0/8", "type": "unreachable"})");
    expect_route("10.0.0.0/8 counters via 192.0.2.1",
                 R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}], "counters": true})");
    expect_route("prohibit ::/0 metric 5", R"({"prefix": "::/0", "type": "prohibit", "metric": 5})");
}

TEST(RouteWords, HostsAndDefaults) {
    expect_route("192.0.2.9 dev eth0", R"({"prefix": "192.0.2.9/32", "next_hops": [{"interface": "eth0"}]})");
    expect_route("2001:db8::9 dev eth0",
                 R"({"prefix": "2001:db8::9/128", "next_hops": [{"interface": "eth0"}]})");
    expect_route("default via 192.0.2.1", R"({"prefix": "0.0.0.0/0", "next_hops": [{"via": "192.0.2.1"}]})");
    expect_route("default via 2001:db8::1", R"({"prefix": "::/0", "next_hops": [{"via": "2001:db8::1"}]})");
    expect_route("default dev eth0", R"({"prefix": "0.0.0.0/0", "next_hops": [{"interface": "eth0"}]})");
    expect_route("blackhole default", R"({"prefix": "::/0", "type": "blackhole"})", Family::ipv6);
}

TEST(RouteWords, WhatIsNotUnderstoodIsSaid) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "no prefix"},
        {"via 192.0.2.1", "no prefix"},
        {"10.0.0.0/8", "no next hop"},
        {"10.0.0.0/8 metric 5", "no next hop"},
        {"10.0.0.0/8 via", "nothing behind \"via\""},
        {"10.0.0.0/8 via inet", "nothing behind \"via inet\""},
        {"10.0.0.0/8 via gateway", "via \"gateway\""},
        {"2001:db8::/32 via 192.0.2.1", "gateway 192.0.2.1 is IPv4, but 2001:db8::/32 is IPv6"},
        {"2001:db8::/32 via 2001:db8::1 backup via 192.0.2.1", "gateway 192.0.2.1 is IPv4"},
        {"10.0.0.0/8 via inet fe80::1 dev eth0", "via inet \"fe80::1\""},
        {"10.0.0.0/8 via inet6 192.0.2.1", "via inet6 \"192.0.2.1\""},
        {"10.0.0.0/8 dev", "nothing behind \"dev\""},
        {"10.0.0.0/8 dev a-name-of-16-byte", "dev \"a-name-of-16-byte\""},
        {"10.0.0.0/8 dev eth0 dev eth1", "interface twice"},
        {"10.0.0.0/8 via 192.0.2.1 weight 0", "weight \"0\""},
        {"10.0.0.0/8 via 192.0.2.1 weight 65536", "weight \"65536\""},
        {"10.0.0.0/8 via 192.0.2.1 weight -1", "weight \"-1\""},
        {"10.0.0.0/8 via 192.0.2.1 weight 1.5", "weight \"1.5\""},
        {"10.0.0.0/8 via 192.0.2.1 weight 1 weight 2", "weight twice"},
        {"10.0.0.0/8 weight 1", "neither via nor dev"},
        {"10.0.0.0/8 nexthop", "neither via nor dev"},
        {"10.0.0.0/8 nexthop nexthop via 192.0.2.1", "neither via nor dev"},
        {"10.0.0.0/8 via 192.0.2.1 nexthop via 192.0.2.2", "before the first \"nexthop\""},
        {"10.0.0.0/8 via 192.0.2.1 preference 0", "preference \"0\""},
        {"10.0.0.0/8 via 192.0.2.1 preference 256", "preference \"256\""},
        {"10.0.0.0/8 via 192.0.2.1 metric 1 metric 2", "metric twice"},
        {"10.0.0.0/8 via 192.0.2.1 metric 4294967296", "metric \"4294967296\""},
        {"10.0.0.0/8 via 192.0.2.1 mtu 67", "mtu \"67\""},
        {"10.0.0.0/8 via 192.0.2.1 mtu 65536", "mtu \"65536\""},
        {"10.0.0.0/8 via 192.0.2.1 mtu lock 1400", "mtu \"lock\""},
        {"10.0.0.0/8 via 192.0.2.1 mtu 1400 mtu 1400", "mtu twice"},
        {"blackhole 10.0.0.0/8 mtu 1400", "an MTU of a route of type blackhole"},
        {"10.0.0.0/8 via 192.0.2.1 11.0.0.0/8", "\"11.0.0.0/8\" is not understood"},
        {"10.0.0.0/8 via 192.0.2.1 proto static", "\"proto\" is something"},
        {"10.0.0.0/8 via 192.0.2.1 src 192.0.2.2", "\"src\" is something"},
        {"default default via 192.0.2.1", "\"default\" is not understood"},
        {"10.0.0.1/8 via 192.0.2.1", "bits set behind its length"},
        {"10.0.0.0/33 via 192.0.2.1", "is not a prefix"},
        {"10.0.0/8 via 192.0.2.1", "is not a prefix"},
        {"ten via 192.0.2.1", "is not a prefix"},
        {"blackhole 10.0.0.0/8 via 192.0.2.1", "next hop for a route of type blackhole"},
        {"blackhole 10.0.0.0/8 prohibit", "both blackhole and prohibit"},
    };
    for (const auto& [line, message] : cases) {
        const auto route = parse_route_words(split(line), Family::ipv4);
        ASSERT_FALSE(route) << line << " became " << *route;
        EXPECT_NE(route.error().message.find(message), std::string::npos)
            << line << ": " << route.error().to_string();
        EXPECT_FALSE(route.error().expected.empty()) << line;
    }
}

TEST(RouteWords, HostBitsComeWithTheMendedPrefix) {
    const auto route = parse_route_words(split("10.1.2.3/8 dev eth0"), Family::ipv4);
    ASSERT_FALSE(route);
    EXPECT_EQ(route.error().expected, "10.0.0.0/8");
}

TEST(RouteWords, RemovalIsByPrefixAlone) {
    const auto removal = [](const char* line) { return parse_route_to_delete(split(line), Family::ipv6); };
    EXPECT_EQ(removal("10.0.0.0/8").value(), json::parse(R"({"prefix": "10.0.0.0/8"})"));
    EXPECT_EQ(removal("blackhole 10.0.0.0/8").value(), json::parse(R"({"prefix": "10.0.0.0/8"})"));
    EXPECT_EQ(removal("default").value(), json::parse(R"({"prefix": "::/0"})"));
    EXPECT_FALSE(removal(""));
    EXPECT_FALSE(removal("10.0.0.0/8 via 192.0.2.1"));
    EXPECT_FALSE(removal("10.0.0.0/8 metric 5"));
    EXPECT_FALSE(removal("10.0.0.0/8 counters"));
}

}  // namespace
}  // namespace pktpit::router::cli
