// SPDX-License-Identifier: BSD-3-Clause
// Routes with an MTU of their own: what their packets' adjacency says, and how many adjacencies that takes.
#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class RouteMtuTest : public RoutingTest {
  protected:
    RouteMtuTest() { routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7)); }

    void add_with_mtu(const char* text, std::vector<NextHopSpec> hops, uint32_t mtu, uint64_t resilient = 0) {
        NextHopSetSpec spec{PP_ADJ_FORWARD, std::move(hops)};
        spec.mtu = mtu;
        spec.resilient = resilient;
        ASSERT_TRUE(set_route(prefix(text), spec));
    }
    void set_link_mtu(uint32_t mtu) {
        LinkState state = link(11);
        state.mtu = mtu;
        routing.set_link(lan, state);
    }
    [[nodiscard]] size_t adjacencies() const { return routing.adjacencies().size(); }
};

TEST_F(RouteMtuTest, packets_of_the_route_have_the_smaller_of_its_and_the_links_mtu) {
    add_with_mtu("10.1.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1300);
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 0);
    add_with_mtu("10.3.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 9000);
    EXPECT_EQ(at("10.1.0.1").mtu, 1300U);
    EXPECT_EQ(at("10.2.0.1").mtu, 1500U);
    EXPECT_EQ(at("10.3.0.1").mtu, 1500U);
    for (const char* to : {"10.1.0.1", "10.2.0.1", "10.3.0.1"})
        EXPECT_EQ(at(to).dst_mac[5], 7) << to;
}

TEST_F(RouteMtuTest, only_what_differs_takes_an_adjacency) {
    add_with_mtu("10.0.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 0);
    const size_t before = adjacencies();
    add_with_mtu("10.1.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1500);
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 9000);
    EXPECT_EQ(adjacencies(), before) << "the link keeps these anyway";
    add_with_mtu("10.3.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1300);
    add_with_mtu("10.4.0.0/16", {{ip("192.0.2.7"), lan, 3}}, 1300);
    EXPECT_EQ(adjacencies(), before + 1);
    for (const char* gone : {"10.3.0.0/16", "10.4.0.0/16"})
        ASSERT_TRUE(routing.erase_route(prefix(gone), RouteSource::config));
    EXPECT_EQ(adjacencies(), before);
}

TEST_F(RouteMtuTest, a_neighbour_writes_all_of_its_adjacencies_and_is_asked_for_once) {
    add_with_mtu("10.1.0.0/16", {{ip("192.0.2.8"), lan, 1}}, 1300);
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.8"), lan, 1}}, 0);
    add_with_mtu("10.3.0.0/16", {{ip("192.0.2.8"), lan, 1}}, 1400);
    EXPECT_TRUE(routing.adjacencies().in_use({lan, ip("192.0.2.8")}));
    asked.clear();
    routing.resolve_missing();
    EXPECT_EQ(asked, (std::vector<std::string>{"1 192.0.2.8"}));
    routing.set_neighbour(lan, ip("192.0.2.8"), reachable(8));
    for (const char* to : {"10.1.0.1", "10.2.0.1", "10.3.0.1"}) {
        EXPECT_EQ(at(to).kind, PP_ADJ_FORWARD) << to;
        EXPECT_EQ(at(to).dst_mac[5], 8) << to;
    }
    routing.remove_neighbour(lan, ip("192.0.2.8"));
    for (const char* to : {"10.1.0.1", "10.2.0.1", "10.3.0.1"})
        EXPECT_EQ(at(to).kind, PP_ADJ_INCOMPLETE) << to;
    ASSERT_TRUE(routing.erase_route(prefix("10.2.0.0/16"), RouteSource::config));
    EXPECT_TRUE(routing.adjacencies().in_use({lan, ip("192.0.2.8")}));
}

TEST_F(RouteMtuTest, the_links_mtu_may_change_around_it) {
    add_with_mtu("10.1.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1300);
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 0);
    const size_t before = adjacencies();
    set_link_mtu(1200);
    EXPECT_EQ(at("10.1.0.1").mtu, 1200U);
    EXPECT_EQ(adjacencies(), before - 1) << "one will do";
    set_link_mtu(9000);
    EXPECT_EQ(at("10.1.0.1").mtu, 1300U);
    EXPECT_EQ(at("10.2.0.1").mtu, 9000U);
    EXPECT_EQ(adjacencies(), before);
}

TEST_F(RouteMtuTest, gateways_behind_a_route_have_its_mtu_too) {
    add_with_mtu("203.0.113.0/24", {{ip("192.0.2.7"), lan, 1}}, 1400);
    add_with_mtu("10.1.0.0/16", {{ip("203.0.113.1"), 0, 1}}, 0);
    add_with_mtu("10.2.0.0/16", {{ip("203.0.113.1"), 0, 1}}, 1300);
    add_with_mtu("10.3.0.0/16", {{ip("10.1.0.1"), 0, 1}}, 1450);
    EXPECT_EQ(at("10.1.0.1").mtu, 1400U);
    EXPECT_EQ(at("10.2.0.1").mtu, 1300U);
    EXPECT_EQ(at("10.3.0.1").mtu, 1400U);
    add_with_mtu("203.0.113.0/24", {{ip("192.0.2.7"), lan, 1}}, 1350);
    EXPECT_EQ(at("10.1.0.1").mtu, 1350U);
    EXPECT_EQ(at("10.3.0.1").mtu, 1350U);
}

TEST_F(RouteMtuTest, destinations_on_the_link_and_backups_have_it) {
    add_with_mtu("10.1.0.0/16", {{std::nullopt, lan, 1}}, 1300);
    EXPECT_EQ(at("10.1.0.1").kind, PP_ADJ_GLEAN);
    EXPECT_EQ(at("10.1.0.1").mtu, 1300U);
    routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.7"), lan, 1}, {ip("198.51.100.9"), wan, 1, true}}, 1300);
    const size_t before = adjacencies();
    routing.set_link(lan, link(11, false));
    EXPECT_EQ(at("10.2.0.1").dst_mac[5], 9);
    EXPECT_EQ(at("10.2.0.1").mtu, 1300U);
    EXPECT_LE(adjacencies(), before) << "the backup's was held beforehand, with this MTU";
}

TEST_F(RouteMtuTest, routes_of_one_resilient_group_keep_their_mtus_apart) {
    constexpr uint64_t group = 7;
    add_with_mtu("10.1.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1300, group);
    add_with_mtu("10.2.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 0, group);
    EXPECT_EQ(at("10.1.0.1").mtu, 1300U);
    EXPECT_EQ(at("10.2.0.1").mtu, 1500U);
    ASSERT_TRUE(routing.erase_route(prefix("10.2.0.0/16"), RouteSource::config));
    add_with_mtu("10.3.0.0/16", {{ip("192.0.2.7"), lan, 1}}, 1300, group);
    EXPECT_EQ(image.find(prefix("10.1.0.0/16")), image.find(prefix("10.3.0.0/16"))) << "one set";
}

}  // namespace
}  // namespace pktpit::router
