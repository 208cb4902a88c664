// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/show_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/routing/memory_counters.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

class ShowRoutesTest : public testing::Test {
  protected:
    ShowRoutesTest() {
        const auto id = routing.add_interface("lan", 1, {}, 0x8100).value();
        routing.set_link(id, {11, true, MacAddress{{2, 0, 0, 0, 0, 1}}, 1500});
        routing.add_address(id, InterfaceAddress::parse("192.0.2.1/24").value(), {});
        for (const char* text : {"10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16", "11.0.0.0/8"})
            add(text, fib::RouteSource::config);
        add("10.1.0.0/16", fib::RouteSource::kernel, 20);
    }
    void add(const char* text, fib::RouteSource source, uint8_t preference = 10) {
        const auto set =
            routing.acquire_next_hops({PP_ADJ_FORWARD, {{IpAddress::parse("192.0.2.7").value(), 0, 1}}})
                .value();
        ASSERT_TRUE(routing.set_route({Prefix::parse(text).value(), source, preference, 0, set}));
        routing.release_next_hops(set);
    }
    static std::vector<std::string> prefixes(const json& answer) {
        std::vector<std::string> found;
        for (const auto& route : answer["routes"])
            found.push_back(route["prefix"]);
        return found;
    }

    fib::Capacity capacity{
        .groups = 64, .buckets = 1024, .adjacencies = 64, .tables = 2, .roots = 0, .node_bytes = 256 << 10};
    pp_fib_geometry geometry = fib::plan_geometry(capacity);
    std::vector<std::byte> memory{geometry.image_bytes + 64};
    std::span<std::byte> aligned{memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64),
                                 geometry.image_bytes};
    fib::FibImage image{aligned, geometry, [] {}};
    Routing routing{image, [](InterfaceId, const IpAddress&) {},
                    [](const Error& error) { FAIL() << error.to_string(); }};
};

TEST_F(ShowRoutesTest, PagesHoldEveryRouteOnceAndInOrder) {
    RouteQuery query;
    query.within = Prefix::parse("10.0.0.0/7").value();
    query.limit = 2;
    json page = show_routes(routing, query);
    EXPECT_EQ(page["total"], 5);
    EXPECT_EQ(prefixes(page), (std::vector<std::string>{"10.0.0.0/8", "10.1.0.0/16", "10.1.0.0/16"}));
    EXPECT_EQ(page["next"], "10.1.0.0/16");
    query.after = Prefix::parse(page["next"].get<std::string>()).value();
    page = show_routes(routing, query);
    EXPECT_EQ(prefixes(page), (std::vector<std::string>{"10.2.0.0/16", "11.0.0.0/8"}));
    EXPECT_TRUE(page["next"].is_null());
}

TEST_F(ShowRoutesTest, BestComesFirstAndIsMarked) {
    RouteQuery query;
    query.within = Prefix::parse("10.1.0.0/16").value();
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
        const auto set = routing.acquire_next_hops({PP_ADJ_FORWARD, std::move(hops), 0}).value();
        ASSERT_TRUE(routing.set_route({Prefix::parse(text).value(), fib::RouteSource::cli, 5, 0, set}));
        routing.release_next_hops(set);
    };
    const auto ip = [](const char* text) { return IpAddress::parse(text).value(); };
    const auto hop_of = [&](const char* text) {
        const auto route = routing.route(Prefix::parse(text).value(), fib::RouteSource::cli).value();
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
    MemoryCounters store;
    RouteCounters counters(store);
    const Prefix prefix = Prefix::parse("12.0.0.0/8").value();
    const auto counter = counters.acquire({prefix, fib::RouteSource::cli}).value();
    const auto set =
        routing.acquire_next_hops({PP_ADJ_FORWARD, {{IpAddress::parse("192.0.2.7").value(), 0, 1}}, counter})
            .value();
    ASSERT_TRUE(routing.set_route({prefix, fib::RouteSource::cli, 5, 0, set}));
    routing.release_next_hops(set);
    store.counts[counter] = {12, 3456};
    RouteQuery query;
    query.within = prefix;
    EXPECT_EQ(show_routes(routing, query, &counters)["routes"][0]["counters"],
              json::parse(R"({"packets": 12, "bytes": 3456})"));
    query.within = Prefix::parse("10.0.0.0/8").value();
    EXPECT_TRUE(show_routes(routing, query, &counters)["routes"][0]["counters"].is_null());
    EXPECT_EQ(show_route_counters(counters),
              json::parse(R"([{"prefix": "12.0.0.0/8", "source": "cli", "packets": 12, "bytes": 3456}])"));
}

TEST_F(ShowRoutesTest, WhereAPacketWouldGo) {
    json answer = show_route_to(routing, IpAddress::parse("10.1.2.3").value());
    EXPECT_EQ(answer["prefix"], "10.1.0.0/16");
    EXPECT_EQ(answer["verdict"], "no_neighbour");
    EXPECT_EQ(answer["adjacency"]["kind"], "incomplete");
    EXPECT_EQ(answer["adjacency"]["via"], "192.0.2.7");
    routing.set_neighbour(1, IpAddress::parse("192.0.2.7").value(),
                          {MacAddress{{2, 1, 0, 0, 0, 7}}, NeighbourState::reachable, false});
    answer = show_route_to(routing, IpAddress::parse("10.1.2.3").value());
    EXPECT_EQ(answer["verdict"], "forwarded");
    EXPECT_EQ(answer["adjacency"]["dst_mac"], "02:01:00:00:00:07");
    EXPECT_EQ(answer["adjacency"]["port"], "lan");
    EXPECT_EQ(answer["group"]["members"].size(), 1U);
    EXPECT_EQ(show_route_to(routing, IpAddress::parse("203.0.113.1").value())["verdict"], "no_route");
    EXPECT_EQ(show_route_to(routing, IpAddress::parse("192.0.2.1").value())["verdict"], "host_local");
}

}  // namespace
}  // namespace pktpit::router
