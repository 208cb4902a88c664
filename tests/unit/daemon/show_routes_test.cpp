#include "router/daemon/show_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

    fib::Capacity capacity{.groups = 64, .buckets = 1024, .adjacencies = 64, .blocks4 = 64, .blocks6 = 16};
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
