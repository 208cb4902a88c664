// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "router/daemon/list_routes.h"
#include "tests/unit/control/routing_core.h"

namespace pktpit::router {
namespace {

using nlohmann::json;
using pktpit::test::prefix;
const auto ip = pktpit::test::address;

class ShowRoutesTest : public testing::Test, protected fake::RoutingCore {
  protected:
    ShowRoutesTest() : RoutingCore({.buckets = 1024, .tables = 2, .roots = 0, .node_bytes = 256 << 10}) {
        for (const char* text : {"10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16", "11.0.0.0/8"})
            add(text, fib::RouteSource::config);
        add("10.1.0.0/16", fib::RouteSource::kernel, 20);
    }
    void add(const char* text, fib::RouteSource source, uint8_t preference = 10) {
        set_route(text, source, {PP_ADJ_FORWARD, {{ip("192.0.2.7"), 0, 1}}}, preference);
    }
    fib::NextHopSetId set_route(const char* text, fib::RouteSource source, const NextHopSetSpec& spec,
                                uint8_t preference = 5, VrfId vrf = default_vrf) {
        const auto set = routing.acquire_next_hops(spec).value();
        EXPECT_TRUE(routing.set_route({prefix(text), source, preference, 0, set}, vrf));
        routing.release_next_hops(set);
        return set;
    }
    static std::string whole(const std::unique_ptr<LongAnswer>& answer) {
        std::string text;
        for (;;) {
            auto piece = answer->next();
            text += piece.text;
            if (piece.last) return text;
        }
    }
    static Turn one_step() { return Turn::of_steps(1); }
    static json show_routes(const Routing& routing, const RouteQuery& query,
                            const RouteCounters* counters = nullptr) {
        return json::parse(whole(list_routes(routing, query, RouteForm::page, counters, {}, one_step)));
    }
    static std::vector<std::string> lines_of(const std::string& text) {
        std::vector<std::string> lines;
        std::istringstream stream(text);
        for (std::string line; std::getline(stream, line);)
            lines.push_back(line);
        return lines;
    }
    static std::vector<std::string> prefixes(const json& answer) {
        std::vector<std::string> found;
        for (const auto& route : answer["routes"])
            found.push_back(route["prefix"]);
        return found;
    }

    /// On a device and a port of number 2, without an address.
    InterfaceId add_wan(bool up) {
        const auto wan = routing.add_interface("wan", 2, {}, 0x8100).value();
        set_link(wan, 2, up);
        return wan;
    }
};

TEST_F(ShowRoutesTest, PagesHoldEveryRouteOnceAndInOrder) {
    RouteQuery query;
    query.within = prefix("10.0.0.0/7");
    query.limit = 2;
    json page = show_routes(routing, query);
    EXPECT_EQ(page["total"], 5);
    EXPECT_EQ(prefixes(page), (std::vector<std::string>{"10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16"}));
    EXPECT_EQ(page["next"], "10.1.0.0/16");
    query.after = prefix(page["next"].get<std::string>());
    page = show_routes(routing, query);
    EXPECT_EQ(prefixes(page), (std::vector<std::string>{"10.2.0.0/16", "11.0.0.0/8"}));
    EXPECT_TRUE(page["next"].is_null());
}

TEST_F(ShowRoutesTest, OfAVrfItsRoutesAlone) {
    const VrfId red = routing.add_vrf({"red", 100}).value();
    set_route("10.0.0.0/9", fib::RouteSource::config, {PP_ADJ_BLACKHOLE, {}}, 10, red);
    RouteQuery query;
    query.vrf = "red";
    const json page = show_routes(routing, query);
    EXPECT_EQ(prefixes(page), std::vector<std::string>{"10.0.0.0/9"});
    EXPECT_EQ(page["total"], 1);
    EXPECT_NE(prefixes(show_routes(routing, {})), prefixes(page));
    const IpAddress address = ip("10.0.0.1");
    EXPECT_EQ(show_route_to(routing, address, nullptr, {}, red)["prefix"], "10.0.0.0/9");
    EXPECT_EQ(show_route_to(routing, address)["prefix"], "10.0.0.0/8");
    EXPECT_EQ(show_lookup(routing, {address}, red)["results"][0]["prefix"], "10.0.0.0/9");
    EXPECT_EQ(show_lookup(routing, {address})["results"][0]["prefix"], "10.0.0.0/8");
    const json summary = json::parse(whole(summarise_routes(routing, "red", one_step)));
    EXPECT_EQ(summary["ipv4"]["prefixes"], 1);
    EXPECT_EQ(summary["ipv4"]["installed"], 1);
    const json vrfs = show_vrfs(routing)["vrfs"];
    ASSERT_EQ(vrfs.size(), 2U);
    EXPECT_EQ(vrfs[0]["name"], "default");
    EXPECT_EQ(vrfs[1], json::parse(R"({"name": "red", "table": 100, "interfaces": [],
                                       "routes": {"ipv4": 1, "ipv6": 0}})"));

    // One that goes while it is listed ends the list.
    const auto listing = list_routes(routing, query, RouteForm::lines, nullptr, {}, one_step);
    (void)listing->next();
    routing.remove_vrf(red);
    EXPECT_TRUE(listing->next().last);
}

TEST_F(ShowRoutesTest, LinesSayTheSameAsOneRoute) {
    const auto lines = lines_of(whole(list_routes(routing, {}, RouteForm::lines, nullptr, {}, one_step)));
    ASSERT_EQ(lines.size(), routing.rib().size(Family::ipv4) + 2U)
        << "one prefix has two routes, and the end";
    for (size_t i = 0; i + 1 < lines.size(); i++) {
        const json line = json::parse(lines[i]);
        const Prefix prefix = Prefix::parse(line["prefix"].get<std::string>()).value();
        for (const auto& route : routing.rib().candidates(prefix))
            if (fib::to_string(route.source) == line["source"]) {
                const bool best = routing.rib().best(prefix)->source == route.source;
                EXPECT_EQ(line, show_route(routing, route, best));
            }
    }
    EXPECT_EQ(json::parse(lines.back()),
              json::parse(R"({"end": {"next": null, "total": )" + std::to_string(lines.size() - 1) + "}}"));
}

TEST_F(ShowRoutesTest, WhatIsThereAllTheTimeIsListedOnceWhateverComesAndGoes) {
    const auto host = [](uint32_t number) {
        return Prefix::of(IpAddress::v4(0x14000000 + number * 7919 % 20'011), 32);
    };
    for (uint32_t i = 0; i < 600; i++)
        add(host(i).to_string().c_str(), fib::RouteSource::config);
    RouteQuery everything;
    everything.limit = 1'000'000;
    const auto listing = list_routes(routing, everything, RouteForm::lines, nullptr, {}, one_step);
    std::map<std::string, int> seen;
    uint32_t round = 0;
    for (bool last = false; !last; round++) {
        const auto piece = listing->next();
        last = piece.last;
        for (const auto& line : lines_of(piece.text))
            if (const json route = json::parse(line); route.contains("prefix"))
                seen[route["prefix"].get<std::string>() + " " + route["source"].get<std::string>()]++;
        // Others of the same hash table, in front of the cursor and behind it, and enough that it grows.
        for (uint32_t i = 600 + 5 * round; round < 2000 && i < 605 + 5 * round; i++)
            add(host(i).to_string().c_str(), fib::RouteSource::cli);
        for (uint32_t i = 600 + 5 * round; round < 2000 && round % 3 == 2 && i < 605 + 5 * round; i++)
            ASSERT_TRUE(routing.erase_route(host(i), fib::RouteSource::cli));
        // And the same ones anew.
        add(host(round % 600).to_string().c_str(), fib::RouteSource::config,
            static_cast<uint8_t>(7 + round % 2));
    }
    EXPECT_GT(round, 600U);
    for (uint32_t i = 0; i < 600; i++)
        EXPECT_EQ(seen[host(i).to_string() + " config"], 1) << host(i).to_string();
    for (const auto& [route, times] : seen)
        EXPECT_EQ(times, 1) << route;
}

TEST_F(ShowRoutesTest, APieceIsNoLongerThanItsTurn) {
    const auto listing = list_routes(routing, {}, RouteForm::lines, nullptr, {}, one_step);
    size_t pieces = 1;
    for (auto piece = listing->next(); !piece.last; piece = listing->next(), pieces++)
        EXPECT_LE(lines_of(piece.text).size(), 2U) << "one prefix";
    EXPECT_GE(pieces, routing.rib().size(Family::ipv4));
}

TEST_F(ShowRoutesTest, SummaryCountsBySourceLengthAndInstalled) {
    const auto wan = add_wan(false);
    set_route("12.0.0.0/9", fib::RouteSource::kernel, {PP_ADJ_FORWARD, {{ip("198.51.100.7"), wan, 1}}});
    const json summary = json::parse(whole(summarise_routes(routing, {}, one_step)));
    const json& four = summary["ipv4"];
    EXPECT_EQ(four["prefixes"], routing.rib().size(Family::ipv4));
    EXPECT_EQ(four["unusable"], 1) << "its interface is down";
    EXPECT_EQ(four["refused"], 0);
    EXPECT_EQ(four["installed"], routing.rib().size(Family::ipv4) - 1);
    EXPECT_EQ(four["sources"]["config"], json::parse(R"({"routes": 4, "best": 4})"));
    EXPECT_EQ(four["sources"]["kernel"], json::parse(R"({"routes": 2, "best": 0})"));
    const json& lengths = four["lengths"];
    EXPECT_NE(std::ranges::find(lengths, json{{"length", 16}, {"prefixes", 2}}), lengths.end()) << lengths;
    EXPECT_NE(std::ranges::find(lengths, json{{"length", 9}, {"prefixes", 1}}), lengths.end()) << lengths;
    EXPECT_EQ(summary["ipv6"]["prefixes"], 0);
}

TEST_F(ShowRoutesTest, NextHopGroupsSayWhoForwardsNow) {
    const auto wan = add_wan(true);
    const NextHopSetSpec both{PP_ADJ_FORWARD,
                              {{ip("192.0.2.8"), lan, 1, false}, {ip("198.51.100.7"), wan, 3, false}}};
    const auto set = set_route("20.0.0.0/8", fib::RouteSource::cli, both);
    set_route("21.0.0.0/8", fib::RouteSource::cli, both);
    const auto group = [&] {
        const json answer = json::parse(whole(list_next_hop_groups(routing, one_step)));
        for (const auto& one : answer["groups"])
            if (one["id"] == set) return one;
        return json();
    };
    json now = group();
    EXPECT_EQ(now["prefixes"], 2);
    EXPECT_EQ(now["routes"], 2);
    EXPECT_EQ(now["usable"], true);
    ASSERT_EQ(now["next_hops"].size(), 2U);
    EXPECT_EQ(now["next_hops"][0]["forwards"], true);
    EXPECT_EQ(now["next_hops"][1]["forwards"], true);
    EXPECT_EQ(now["next_hops"][1]["weight"], 3);
    ASSERT_EQ(now["now"].size(), 2U) << now;
    EXPECT_DOUBLE_EQ(now["now"][1]["share"].get<double>(), 0.75);
    set_link(wan, 2, false);
    now = group();
    EXPECT_EQ(now["next_hops"][0]["forwards"], true);
    EXPECT_EQ(now["next_hops"][1]["forwards"], false);
    EXPECT_EQ(now["next_hops"][1]["state"], "down");
    EXPECT_EQ(now["now"].size(), 1U) << now;
}

TEST_F(ShowRoutesTest, BestComesFirstAndIsMarked) {
    RouteQuery query;
    query.within = prefix("10.1.0.0/16");
    const json routes = show_routes(routing, query)["routes"];
    ASSERT_EQ(routes.size(), 2U);
    EXPECT_EQ(routes[0]["source"], "config");
    EXPECT_TRUE(routes[0]["best"]);
    EXPECT_EQ(routes[1]["source"], "kernel");
    EXPECT_FALSE(routes[1]["best"]);
}

TEST_F(ShowRoutesTest, SourceAndFamilySelect) {
    RouteQuery query;
    query.source = "kernel";
    EXPECT_EQ(prefixes(show_routes(routing, query)), (std::vector<std::string>{"10.1.0.0/16"}));
    query = {};
    query.family = Family::ipv6;
    EXPECT_EQ(show_routes(routing, query)["total"], 0);
}

TEST_F(ShowRoutesTest, RecursiveNextHopsStandBeneathTheirGateway) {
    const auto add_via = [&](const char* text, std::vector<NextHopSpec> hops) {
        set_route(text, fib::RouteSource::cli, {PP_ADJ_FORWARD, std::move(hops)});
    };
    const auto hop_of = [&](const char* text) {
        const auto route = routing.route(prefix(text), fib::RouteSource::cli).value();
        return show_route(routing, route, true)["next_hops"][0];
    };
    add_via("203.0.113.0/24", {{ip("172.16.0.1"), 0, 1}});
    json hop = hop_of("203.0.113.0/24");
    EXPECT_EQ(hop["state"], "inactive");
    EXPECT_EQ(hop["reason"], "no route to it");
    EXPECT_TRUE(hop["interface"].is_null());
    add_via("172.16.0.0/16", {{ip("192.0.2.7"), 0, 1}, {ip("192.0.2.8"), 0, 3}});
    hop = hop_of("203.0.113.0/24");
    EXPECT_EQ(hop["state"], "recursive");
    EXPECT_TRUE(hop["reason"].is_null());
    EXPECT_EQ(hop["recursive"], json::parse(R"({"over": "172.16.0.0/16", "next_hops": [
        {"via": "192.0.2.7", "interface": "lan", "weight": 1, "state": "unresolved"},
        {"via": "192.0.2.8", "interface": "lan", "weight": 3, "state": "unresolved"}]})"));
    EXPECT_EQ(hop_of("172.16.0.0/16")["state"], "unresolved");
    EXPECT_EQ(hop_of("172.16.0.0/16")["interface"], "lan");
    const json answer = show_route_to(routing, ip("203.0.113.5"));
    ASSERT_EQ(answer["group"]["members"].size(), 2U);
    EXPECT_EQ(answer["group"]["members"][1]["weight"], 3);
    const json looked_up = show_lookup(routing, {ip("203.0.113.5")})["results"][0]["next_hops"];
    EXPECT_EQ(looked_up, json::parse(R"([{"via": "192.0.2.7", "interface": "lan", "weight": 1},
                                         {"via": "192.0.2.8", "interface": "lan", "weight": 3}])"));
    add_via("172.16.0.0/16", {{ip("203.0.113.9"), 0, 1}});
    EXPECT_EQ(hop_of("203.0.113.0/24")["reason"], "loop: its route 172.16.0.0/16 is reached through it");
}

TEST_F(ShowRoutesTest, CountedRoutesShowTheirCounts) {
    const auto counter = counters.acquire({prefix("12.0.0.0/8"), fib::RouteSource::cli}).value();
    set_route("12.0.0.0/8", fib::RouteSource::cli, {PP_ADJ_FORWARD, {{ip("192.0.2.7"), 0, 1}}, counter});
    store.counts[counter] = {12, 3456};
    RouteQuery query;
    query.within = prefix("12.0.0.0/8");
    EXPECT_EQ(show_routes(routing, query, &counters)["routes"][0]["counters"],
              json::parse(R"({"packets": 12, "bytes": 3456})"));
    query.within = prefix("10.0.0.0/8");
    EXPECT_TRUE(show_routes(routing, query, &counters)["routes"][0]["counters"].is_null());
    EXPECT_EQ(show_route_counters(routing, counters),
              json::parse(R"([{"prefix": "12.0.0.0/8", "source": "cli", "vrf": "default", "packets": 12,
                               "bytes": 3456}])"));
}

TEST_F(ShowRoutesTest, WhereAPacketWouldGo) {
    json answer = show_route_to(routing, ip("10.1.2.3"));
    EXPECT_EQ(answer["prefix"], "10.1.0.0/16");
    EXPECT_EQ(answer["verdict"], "no_neighbour");
    EXPECT_EQ(answer["adjacency"]["kind"], "incomplete");
    EXPECT_EQ(answer["adjacency"]["via"], "192.0.2.7");
    routing.set_neighbour(1, ip("192.0.2.7"),
                          {MacAddress{{2, 1, 0, 0, 0, 7}}, NeighbourState::reachable, false});
    answer = show_route_to(routing, ip("10.1.2.3"));
    EXPECT_EQ(answer["verdict"], "forwarded");
    EXPECT_EQ(answer["adjacency"]["dst_mac"], "02:01:00:00:00:07");
    EXPECT_EQ(answer["adjacency"]["port"], "lan");
    EXPECT_EQ(answer["group"]["members"].size(), 1U);
    EXPECT_EQ(show_route_to(routing, ip("203.0.113.1"))["verdict"], "no_route");
    EXPECT_EQ(show_route_to(routing, ip("192.0.2.1"))["verdict"], "host_local");
}

}  // namespace
}  // namespace pktpit::router
