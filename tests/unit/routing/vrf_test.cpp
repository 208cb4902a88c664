// SPDX-License-Identifier: BSD-3-Clause
// VRFs: the same prefixes and addresses twice, and what leads from one to the other.
#include "router/forward/batch.h"
#include "router/forward/forward.h"
#include "tests/unit/forward/packets.h"
#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

constexpr uint16_t red_port = 3, other_red_port = 4;

class VrfTest : public RoutingTest {
  protected:
    VrfTest() {
        red = routing.add_vrf({"red", 100}).value();
        red_lan = add_port("red-lan", red_port, "192.0.2.1/24");
        red_wan = add_port("red-wan", other_red_port, "198.51.100.1/24");
    }
    InterfaceId add_port(const char* name, PortId port, const char* net) {
        const auto id = routing.add_interface(name, port, {}, 0x8100, 0, red).value();
        routing.set_link(id, link(port + 10U));
        routing.add_address(id, address(net), {});
        return id;
    }
    Result<void> add_in(VrfId vrf, const char* text, std::vector<NextHopSpec> hops) {
        return set_route(prefix(text), {PP_ADJ_FORWARD, std::move(hops)}, RouteSource::config, 10, vrf);
    }
    static NextHopSpec gateway(const char* via, VrfId vrf = default_vrf) {
        return {ip(via), 0, 1, false, vrf};
    }
    /// What forward() says of a packet that comes in by the port; `frame` finds it with all else of a batch.
    Decision decide(uint16_t port, const char* destination, const char* source = "203.0.113.9") {
        const test::Mac own{2, 0, 0, 0, 0, static_cast<uint8_t>(port + 10)};
        const auto frame = test::frame({own, {2, 9, 9, 9, 9, 9}, {}},
                                       test::Ipv4{.source = source, .destination = destination});
        const ImageView view{image.memory().data(), &image.geometry()};
        const auto size = static_cast<uint32_t>(frame.size());
        const Decision one = forward(view, port, frame, size);
        const std::array in{IngressFrame{1, frame, size}, IngressFrame{port, frame, size}};
        std::array<Decision, 2> batched;
        Forwarder(view).forward(in, batched);
        EXPECT_EQ(batched[1].verdict, one.verdict);
        EXPECT_EQ(batched[1].adjacency, one.adjacency);
        return one;
    }
    uint16_t way_of(uint16_t port, const char* destination) { return decide(port, destination).egress_port; }

    VrfId red = 0;
    InterfaceId red_lan = 0, red_wan = 0;
};

TEST_F(VrfTest, the_same_prefix_leads_elsewhere_in_each) {
    ASSERT_TRUE(add_in(default_vrf, "10.0.0.0/8", {gateway("198.51.100.7")}));
    ASSERT_TRUE(add_in(red, "10.0.0.0/8", {gateway("198.51.100.7", red)}));
    routing.set_neighbour(wan, ip("198.51.100.7"), reachable(7));
    routing.set_neighbour(red_wan, ip("198.51.100.7"), reachable(8));
    EXPECT_EQ(decide(1, "10.1.2.3").verdict, PP_FORWARDED);
    EXPECT_EQ(way_of(1, "10.1.2.3"), 2);
    EXPECT_EQ(decide(red_port, "10.1.2.3").verdict, PP_FORWARDED);
    EXPECT_EQ(way_of(red_port, "10.1.2.3"), other_red_port);
    EXPECT_EQ(decide(red_port, "10.1.2.3").header[5], 8);
}

TEST_F(VrfTest, what_only_the_default_one_has_is_not_found) {
    ASSERT_TRUE(add_in(default_vrf, "0.0.0.0/0", {gateway("198.51.100.7")}));
    routing.set_neighbour(wan, ip("198.51.100.7"), reachable(7));
    EXPECT_EQ(decide(1, "10.1.2.3").verdict, PP_FORWARDED);
    EXPECT_EQ(decide(red_port, "10.1.2.3").verdict, PP_PUNT_NO_ROUTE);
    EXPECT_FALSE(routing.rib(red).match(ip("10.1.2.3")));
}

TEST_F(VrfTest, overlapping_addresses_and_neighbours_are_each_its_own) {
    routing.add_address(red_wan, address("203.0.113.1/24"), {});
    EXPECT_EQ(decide(1, "192.0.2.1").verdict, PP_HOST_LOCAL);
    EXPECT_EQ(decide(red_port, "192.0.2.1").verdict, PP_HOST_LOCAL);
    EXPECT_EQ(decide(red_port, "203.0.113.1").verdict, PP_HOST_LOCAL);
    EXPECT_EQ(decide(1, "203.0.113.1").verdict, PP_PUNT_NO_ROUTE);
    routing.set_neighbour(lan, ip("192.0.2.9"), reachable(1));
    routing.set_neighbour(red_lan, ip("192.0.2.9"), reachable(2));
    EXPECT_EQ(decide(2, "192.0.2.9").header[5], 1);
    EXPECT_EQ(decide(other_red_port, "192.0.2.9").header[5], 2);
    EXPECT_EQ(way_of(other_red_port, "192.0.2.9"), red_port);
    EXPECT_TRUE(routing.is_broadcast(ip("203.0.113.255"), red));
    EXPECT_FALSE(routing.is_broadcast(ip("203.0.113.255")));
}

// RFC 1812 5.3.8, of the packet's own table.
TEST_F(VrfTest, an_own_address_is_no_source_where_it_is_own_alone) {
    ASSERT_TRUE(add_in(default_vrf, "10.0.0.0/8", {gateway("198.51.100.7")}));
    ASSERT_TRUE(add_in(red, "10.0.0.0/8", {gateway("198.51.100.7", red)}));
    routing.set_neighbour(wan, ip("198.51.100.7"), reachable(7));
    routing.set_neighbour(red_wan, ip("198.51.100.7"), reachable(8));
    routing.add_address(red_wan, address("172.16.0.1/24"), {});
    EXPECT_EQ(decide(red_port, "10.1.2.3", "172.16.0.1").verdict, PP_DROP_OWN_SOURCE);
    EXPECT_EQ(decide(1, "10.1.2.3", "172.16.0.1").verdict, PP_FORWARDED);
}

TEST_F(VrfTest, a_next_hop_on_an_interface_of_another_leaks_there) {
    ASSERT_TRUE(add_in(red, "10.0.0.0/8", {{ip("198.51.100.7"), wan, 1}}));
    routing.set_neighbour(wan, ip("198.51.100.7"), reachable(7));
    EXPECT_EQ(decide(red_port, "10.1.2.3").verdict, PP_FORWARDED);
    EXPECT_EQ(way_of(red_port, "10.1.2.3"), 2);
    EXPECT_EQ(decide(1, "10.1.2.3").verdict, PP_PUNT_NO_ROUTE);
    // Gateways that it resolves leave there, too.
    ASSERT_TRUE(add_in(red, "172.20.0.0/16", {gateway("10.9.9.9", red)}));
    EXPECT_EQ(way_of(red_port, "172.20.1.1"), 2);
}

TEST_F(VrfTest, a_gateway_is_resolved_by_the_routes_of_its_own) {
    ASSERT_TRUE(add_in(red, "10.0.0.0/8", {gateway("172.16.5.5", red)}));
    ASSERT_TRUE(add_in(default_vrf, "172.16.0.0/16", {gateway("198.51.100.7")}));
    EXPECT_EQ(routing.next_hop_sets().resolution_of(ip("172.16.5.5"), red)->state,
              Resolution::State::no_route);
    ASSERT_TRUE(add_in(red, "172.16.0.0/16", {gateway("198.51.100.7", red)}));
    const Resolution* now = routing.next_hop_sets().resolution_of(ip("172.16.5.5"), red);
    ASSERT_EQ(now->state, Resolution::State::resolved);
    EXPECT_EQ(now->hops.front().interface, red_wan);
    ASSERT_TRUE(routing.erase_route(prefix("172.16.0.0/16"), RouteSource::config, red).value());
    EXPECT_EQ(routing.next_hop_sets().resolution_of(ip("172.16.5.5"), red)->state,
              Resolution::State::no_route);
}

TEST_F(VrfTest, an_interface_moves_with_its_addresses_and_neighbours) {
    routing.set_neighbour(lan, ip("192.0.2.77"), reachable(7));
    routing.set_interface_vrf(lan, red);
    EXPECT_EQ(routing.vrf_of(lan), red);
    EXPECT_FALSE(routing.rib().best(prefix("192.0.2.0/24")));
    EXPECT_FALSE(routing.rib().best(prefix("192.0.2.77/32")));
    EXPECT_FALSE(routing.rib().best(prefix("2001:db8::/64")));
    EXPECT_TRUE(routing.rib(red).best(prefix("2001:db8::/64")));
    EXPECT_TRUE(routing.rib(red).best(prefix("192.0.2.77/32")));
    EXPECT_EQ(way_of(1, "192.0.2.77"), 1);
    EXPECT_EQ(decide(2, "192.0.2.77").verdict, PP_PUNT_NO_ROUTE);
    routing.set_interface_vrf(lan, default_vrf);
    EXPECT_TRUE(routing.rib().best(prefix("192.0.2.77/32")));
    EXPECT_FALSE(routing.rib(red).best(prefix("192.0.2.77/32")));
    EXPECT_TRUE(routing.rib(red).best(prefix("192.0.2.0/24"))) << "of the interface that stayed";
    EXPECT_EQ(way_of(2, "192.0.2.77"), 1);
}

TEST_F(VrfTest, a_vlan_interface_has_the_tables_of_its_vrf_from_the_first_packet_on) {
    const auto id = routing.add_interface("lan.10", 1, {10}, 0x8100, 0, red).value();
    ASSERT_TRUE(add_in(red, "10.0.0.0/8", {gateway("198.51.100.7", red)}));
    routing.set_neighbour(red_wan, ip("198.51.100.7"), reachable(8));
    const test::Mac own{2, 0, 0, 0, 0, 11};
    const auto frame = test::frame({own, {2, 9, 9, 9, 9, 9}, {{0x8100, 10}}},
                                   test::Ipv4{.source = "203.0.113.9", .destination = "10.1.2.3"});
    const ImageView view{image.memory().data(), &image.geometry()};
    const Decision decision = forward(view, 1, frame, static_cast<uint32_t>(frame.size()));
    EXPECT_EQ(decision.ingress_interface, id);
    EXPECT_EQ(decision.verdict, PP_FORWARDED);
    EXPECT_EQ(decision.egress_port, other_red_port);
}

// Its RIB learns what the others were told before.
TEST_F(VrfTest, a_link_that_was_down_before_is_so_in_a_later_one) {
    routing.set_link(wan, link(12, false));
    const auto set = routing.acquire_next_hops({PP_ADJ_FORWARD, {{ip("198.51.100.7"), wan, 1}}}).value();
    const VrfId blue = routing.add_vrf({"blue", 200}).value();
    ASSERT_TRUE(routing.set_route({prefix("10.0.0.0/8"), RouteSource::config, 10, 0, set}, blue));
    EXPECT_FALSE(routing.rib(blue).best(prefix("10.0.0.0/8")));
    routing.set_link(wan, link(12));
    EXPECT_TRUE(routing.rib(blue).best(prefix("10.0.0.0/8")));
    routing.release_next_hops(set);
}

TEST_F(VrfTest, what_goes_leaves_nothing) {
    const auto before = image.usage();
    const VrfId blue = routing.add_vrf({"blue", 200}).value();
    EXPECT_EQ(routing.vrf_by_name("blue"), blue);
    routing.set_interface_vrf(lan, blue);
    ASSERT_TRUE(add_in(blue, "10.0.0.0/8", {gateway("192.0.2.7", blue)}));
    routing.set_interface_vrf(lan, default_vrf);
    routing.remove_vrf(blue);
    EXPECT_FALSE(routing.vrf_by_name("blue"));
    EXPECT_EQ(image.usage().tables, before.tables);
    expect_usage(before);
    EXPECT_TRUE(refused.empty());
}

TEST_F(VrfTest, more_than_the_image_has_room_for_are_refused) {
    Result<VrfId> added = red;
    size_t count = 1;
    for (; added; count++)
        added = routing.add_vrf({"vrf" + std::to_string(count), 1000});
    EXPECT_EQ(count, 16U);
    EXPECT_NE(added.error().message.find("no routing table left"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::router
