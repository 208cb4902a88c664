// SPDX-License-Identifier: BSD-3-Clause
// A route as JSON: the forms a configuration file allows, and every mistake with its place.
#include "router/api/route_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pktpit::router {
namespace {

using nlohmann::json;

config::StaticRoute good(const char* text) {
    const auto route = parse_route(json::parse(text));
    EXPECT_TRUE(route) << text << ": " << (route ? "" : route.error().at(0).to_string());
    return route.value_or(config::StaticRoute{});
}

/// The places of all errors, in order.
std::vector<std::string> bad(const std::string& text) {
    const auto route = parse_route(json::parse(text));
    std::vector<std::string> places;
    if (route) return places;
    for (const auto& error : route.error()) {
        EXPECT_FALSE(error.message.empty()) << text;
        EXPECT_FALSE(error.expected.empty()) << text;
        places.push_back(error.where);
    }
    return places;
}

using Places = std::vector<std::string>;

TEST(RouteJson, OneNextHopInTheRouteItself) {
    const auto route =
        good(R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "interface": "eth0", "weight": 3})");
    EXPECT_EQ(route.prefix.to_string(), "10.0.0.0/8");
    EXPECT_EQ(route.type, config::RouteType::unicast);
    EXPECT_EQ(route.preference, 10);
    EXPECT_EQ(route.metric, 0U);
    EXPECT_FALSE(route.counters);
    ASSERT_EQ(route.next_hops.size(), 1U);
    EXPECT_EQ(route.next_hops[0].via->to_string(), "192.0.2.7");
    EXPECT_EQ(route.next_hops[0].interface, "eth0");
    EXPECT_EQ(route.next_hops[0].weight, 3);
}

TEST(RouteJson, Backups) {
    for (const char* backup :
         {R"("198.51.100.7")", R"({"via": "198.51.100.7"})", R"([{"via": "198.51.100.7"}])"}) {
        const auto route =
            good((R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "backup": )" + std::string(backup) + "}")
                     .c_str());
        ASSERT_EQ(route.backup.size(), 1U) << backup;
        EXPECT_EQ(route.backup[0].via->to_string(), "198.51.100.7");
    }
    const auto with = [](const char* backup) {
        return bad(R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "backup": )" + std::string(backup) + "}");
    };
    EXPECT_EQ(with("7"), Places{"/backup"});
    EXPECT_EQ(with("[]"), Places{"/backup"});
    EXPECT_EQ(with(R"("banana")"), Places{"/backup/0/via"});
    EXPECT_EQ(with(R"("192.0.2.7")"), Places{"/backup/0"}) << "the next hop itself";
    EXPECT_EQ(bad(R"({"prefix": "10.0.0.0/8", "type": "blackhole", "backup": "192.0.2.7"})"),
              Places{"/backup"});
}

TEST(RouteJson, NextHopsAndNumbers) {
    const auto route =
        good(R"({"prefix": "2001:db8::/32", "counters": true, "preference": 255, "metric": 4294967295,
                               "next_hops": [{"via": "2001:db8::1"}, {"interface": "eth1", "weight": 65535}]})");
    EXPECT_EQ(route.preference, 255);
    EXPECT_TRUE(route.counters);
    EXPECT_EQ(route.metric, 4294967295U);
    ASSERT_EQ(route.next_hops.size(), 2U);
    EXPECT_FALSE(route.next_hops[0].interface);
    EXPECT_EQ(route.next_hops[0].weight, 1);
    EXPECT_FALSE(route.next_hops[1].via);
    EXPECT_EQ(route.next_hops[1].weight, 65535);
}

TEST(RouteJson, Mtu) {
    EXPECT_EQ(good(R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7"})").mtu, 0U);
    const auto route = good(R"({"prefix": "2001:db8::/32", "via": "2001:db8::7", "mtu": 1280})");
    EXPECT_EQ(route.mtu, 1280U);
    const auto kept = nlohmann::json::parse(config::route_text(route));
    EXPECT_EQ(config::parse_route(kept)->mtu, 1280U);
}

TEST(RouteJson, Vrfs) {
    EXPECT_EQ(good(R"({"prefix": "192.0.2.0/24", "type": "blackhole", "vrf": "default"})").vrf, "");
    const auto route = good(
        R"({"prefix": "10.0.0.0/8", "vrf": "red", "backup": [{"via": "192.0.2.2", "vrf": "default"}],
            "next_hops": [{"via": "192.0.2.1", "vrf": "blue"}, {"via": "192.0.2.3"}]})");
    EXPECT_EQ(route.vrf, "red");
    EXPECT_EQ(route.next_hops[0].vrf, "blue");
    EXPECT_EQ(route.next_hops[1].vrf, std::nullopt);
    EXPECT_EQ(route.backup[0].vrf, "");
    EXPECT_EQ(config::parse_route(json::parse(config::route_text(route))), route);
    EXPECT_EQ(bad(R"({"prefix": "192.0.2.0/24", "type": "blackhole", "vrf": 7})"), Places{"/vrf"});
    EXPECT_EQ(bad(R"({"prefix": "192.0.2.0/24", "type": "blackhole", "vrf": "abcdefghijklmnop"})"),
              Places{"/vrf"});
    EXPECT_EQ(bad(R"({"prefix": "10.0.0.0/8",
                      "next_hops": [{"via": "192.0.2.1", "interface": "a", "vrf": "red"}]})"),
              Places{"/next_hops/0/vrf"});
}

// RFC 8950
TEST(RouteJson, Ipv4OverIpv6) {
    const auto route = good(
        R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}, {"via": "fe80::1", "interface": "a"}],
            "backup": "2001:db8::1"})");
    EXPECT_EQ(route.next_hops[1].via, IpAddress::parse("fe80::1").value());
    EXPECT_EQ(route.backup[0].via, IpAddress::parse("2001:db8::1").value());
}

TEST(RouteJson, TypesWithoutNextHop) {
    EXPECT_EQ(good(R"({"prefix": "0.0.0.0/0", "type": "blackhole"})").type, config::RouteType::blackhole);
    EXPECT_EQ(good(R"({"prefix": "::/0", "type": "unreachable"})").type, config::RouteType::unreachable);
    EXPECT_EQ(good(R"({"prefix": "::/0", "type": "prohibit"})").type, config::RouteType::prohibit);
}

TEST(RouteJson, EveryMistakeHasItsPlace) {
    const std::pair<const char*, Places> cases[] = {
        {R"([])", {""}},
        {R"(7)", {""}},
        {R"({"via": "192.0.2.7"})", {""}},
        {R"({"prefix": 7, "via": "192.0.2.7"})", {"/prefix"}},
        {R"({"prefix": "10.0.0.0", "via": "192.0.2.7"})", {"/prefix"}},
        {R"({"prefix": "10.0.0.1/8", "via": "192.0.2.7"})", {"/prefix"}},
        {R"({"prefix": "10.0.0.0/33", "via": "192.0.2.7"})", {"/prefix"}},
        {R"({"prefix": "10.0.0.0/8"})", {""}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "counters": 1})", {"/counters"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2"})", {"/via"}},
        {R"({"prefix": "10.0.0.0/8", "via": null})", {"/via"}},
        {R"({"prefix": "2001:db8::/32", "via": "192.0.2.1"})", {"/prefix"}},
        {R"({"prefix": "2001:db8::/32", "via": "fe80::1", "interface": "a", "backup": "192.0.2.1"})",
         {"/prefix"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "mtu": 67})", {"/mtu"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "mtu": 65536})", {"/mtu"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "mtu": "1400"})", {"/mtu"}},
        {R"({"prefix": "2001:db8::/32", "via": "2001:db8::7", "mtu": 1279})", {"/mtu"}},
        {R"({"prefix": "10.0.0.0/8", "type": "blackhole", "mtu": 1400})", {"/mtu"}},
        {R"({"prefix": "10.0.0.0/8", "interface": ""})", {"/interface"}},
        {R"({"prefix": "10.0.0.0/8", "interface": "sixteen-bytes-xx"})", {"/interface"}},
        {R"({"prefix": "10.0.0.0/8", "weight": 2})", {""}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "weight": 0})", {"/weight"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "weight": 65536})", {"/weight"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "weight": 1.5})", {"/weight"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "preference": 0})", {"/preference"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "preference": 256})", {"/preference"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "metric": -1})", {"/metric"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "metric": 4294967296})", {"/metric"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "metric": "1"})", {"/metric"}},
        {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "next_hops": [{"via": "192.0.2.8"}]})", {""}},
        {R"({"prefix": "10.0.0.0/8", "next_hops": []})", {"/next_hops"}},
        {R"({"prefix": "10.0.0.0/8", "next_hops": "192.0.2.8"})", {"/next_hops"}},
        {R"({"prefix": "10.0.0.0/8", "next_hops": ["192.0.2.8"]})", {"/next_hops/0"}},
        {R"({"prefix": "10.0.0.0/8", "next_hops": [{}]})", {"/next_hops/0"}},
        {R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.8", "metric": 1}]})", {"/next_hops/0"}},
        {R"({"prefix": "10.0.0.0/8", "type": "multicast", "via": "192.0.2.8"})", {"/type"}},
        {R"({"prefix": "10.0.0.0/8", "type": 1, "via": "192.0.2.8"})", {"/type"}},
        {R"({"prefix": "10.0.0.0/8", "type": "blackhole", "via": "192.0.2.8"})", {""}},
        {R"({"prefix": "10.0.0.0/8", "typo": "blackhole", "via": "192.0.2.8"})", {""}},
        // All of them, not the first.
        {R"({"prefix": "x/8", "metric": -1, "next_hops": [{"via": "y"}, {"via": "192.0.2.1", "weight": 0}]})",
         {"/prefix", "/metric", "/next_hops/0/via", "/next_hops/1/weight"}},
    };
    for (const auto& [text, places] : cases)
        EXPECT_EQ(bad(text), places) << text;
}

TEST(RouteJson, TooManyNextHops) {
    json route = {{"prefix", "10.0.0.0/8"}, {"next_hops", json::array()}};
    for (int i = 0; i < 256; i++)
        route["next_hops"].push_back({{"interface", "eth0"}});
    EXPECT_TRUE(parse_route(route));
    route["next_hops"].push_back({{"interface", "eth0"}});
    EXPECT_EQ(bad(route.dump()), Places{"/next_hops"});
}

TEST(RouteJson, LongValuesAreCutInMessages) {
    const auto route = parse_route(json{{"prefix", std::string(100'000, 'x')}, {"type", "blackhole"}});
    ASSERT_FALSE(route);
    EXPECT_LT(route.error().at(0).message.size(), 500U);
}

}  // namespace
}  // namespace pktpit::router
