// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <cstring>

#include "routing_fixture.h"

namespace pktpit::router {
namespace {

TEST_F(RoutingTest, OwnAddressesNetsAndBroadcasts) {
    EXPECT_EQ(at("192.0.2.1").kind, PP_ADJ_HOST);
    EXPECT_EQ(at("192.0.2.77").kind, PP_ADJ_GLEAN);
    EXPECT_EQ(at("192.0.2.255").kind, PP_ADJ_BROADCAST);
    EXPECT_EQ(at("192.0.2.255").interface, lan);
    EXPECT_EQ(at("2001:db8::1").kind, PP_ADJ_HOST);
    EXPECT_EQ(at("2001:db8::77").kind, PP_ADJ_GLEAN);
    EXPECT_EQ(at("203.0.113.1").kind, PP_ADJ_INVALID);
    EXPECT_TRUE(refused.empty());
}

TEST_F(RoutingTest, AddressesOfForeignDevicesAreTheHosts) {
    routing.add_host_prefix(prefix("10.9.9.9/32"));
    EXPECT_EQ(at("10.9.9.9").kind, PP_ADJ_HOST);
    EXPECT_EQ(at("10.9.9.8").kind, PP_ADJ_INVALID);
    routing.remove_host_prefix(prefix("10.9.9.9/32"));
    EXPECT_EQ(at("10.9.9.9").kind, PP_ADJ_INVALID);
}

TEST_F(RoutingTest, NeighbourGetsAHostRouteAndLosesIt) {
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    const auto adjacency = at("192.0.2.7");
    EXPECT_EQ(adjacency.kind, PP_ADJ_FORWARD);
    EXPECT_EQ(adjacency.dst_mac[5], 7);
    EXPECT_EQ(adjacency.src_mac[5], 11);
    EXPECT_EQ(adjacency.port, 1);
    EXPECT_EQ(adjacency.mtu, 1500U);
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_GLEAN);
}

TEST_F(RoutingTest, NeighbourOutsideEveryNetGetsNoRoute) {
    routing.set_neighbour(lan, ip("203.0.113.7"), reachable(7));
    EXPECT_EQ(at("203.0.113.7").kind, PP_ADJ_INVALID);
    routing.add_address(lan, address("203.0.113.1/24"), {});
    EXPECT_EQ(at("203.0.113.7").kind, PP_ADJ_FORWARD) << "the net came after the neighbour";
    routing.remove_address(lan, address("203.0.113.1/24"));
    EXPECT_EQ(at("203.0.113.7").kind, PP_ADJ_INVALID);
}

TEST_F(RoutingTest, GatewayIsFoundOnItsNetAndFollowed) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.7"), 0, 1}}));
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_INCOMPLETE);
    routing.resolve_missing();
    EXPECT_THAT(asked, testing::Contains("1 192.0.2.7"));
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    EXPECT_EQ(at("10.1.1.1").dst_mac[5], 7);
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(8));
    EXPECT_EQ(at("10.1.1.1").dst_mac[5], 8) << "a new MAC address needs no route change";
    EXPECT_EQ(at("192.0.2.7").dst_mac[5], 8);
}

TEST_F(RoutingTest, a_stale_neighbour_is_verified_when_it_gets_its_first_next_hop) {
    const Neighbour stale{MacAddress{{2, 1, 0, 0, 0, 7}}, NeighbourState::stale, false};
    routing.set_neighbour(lan, ip("203.0.113.7"), stale);
    routing.set_neighbour(lan, ip("192.0.2.7"), stale);
    routing.set_neighbour(lan, ip("192.0.2.8"), reachable(8));
    routing.resolve_missing();
    EXPECT_THAT(asked, testing::ElementsAre("1 192.0.2.7")) << "of the connected net";
    asked.clear();
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.7"), 0, 1}}));
    ASSERT_TRUE(add("10.0.0.0/9", {{ip("203.0.113.7"), lan, 1}}));
    routing.resolve_missing();
    EXPECT_THAT(asked, testing::ElementsAre("1 203.0.113.7")) << "the other is asked for already";
    asked.clear();
    routing.resolve_missing();
    EXPECT_THAT(asked, testing::IsEmpty());
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_FORWARD) << "meanwhile it is used";
}

TEST_F(RoutingTest, GroupOfDeadMembersStillAsksForThem) {
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.7"), 0, 1}}));
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_INCOMPLETE);
}

TEST_F(RoutingTest, SpecialRoutes) {
    ASSERT_TRUE(add_special("10.1.0.0/16", PP_ADJ_BLACKHOLE));
    ASSERT_TRUE(add_special("10.2.0.0/16", PP_ADJ_UNREACHABLE));
    ASSERT_TRUE(add_special("10.3.0.0/16", PP_ADJ_PROHIBIT));
    EXPECT_EQ(at("10.1.0.1").kind, PP_ADJ_BLACKHOLE);
    EXPECT_EQ(at("10.2.0.1").kind, PP_ADJ_UNREACHABLE);
    EXPECT_EQ(at("10.3.0.1").kind, PP_ADJ_PROHIBIT);
}

TEST_F(RoutingTest, VlanInterfaceIsFoundByItsTagsAndPushesThem) {
    const auto vlan = routing.add_interface("lan.100", 1, {100}, 0x8100).value();
    routing.set_link(vlan, {0, true, link(11).mac, 1500});
    routing.add_address(vlan, address("203.0.113.1/24"), {});
    EXPECT_EQ(pp_fib_vlan_interface(image.memory().data(), &image.geometry(), 1, 100, 0), vlan);
    routing.set_neighbour(vlan, ip("203.0.113.5"),
                          {MacAddress{{2, 1, 0, 0, 0, 5}}, NeighbourState::permanent, true});
    const auto adjacency = at("203.0.113.5");
    EXPECT_EQ(adjacency.kind, PP_ADJ_FORWARD);
    EXPECT_EQ(adjacency.port, 1);
    const uint8_t tag[] = {0x81, 0x00, 0, 100};
    EXPECT_EQ(std::memcmp(&adjacency.tpid[0], tag, 2), 0);
    EXPECT_EQ(std::memcmp(&adjacency.tci[0], tag + 2, 2), 0);
    EXPECT_EQ(adjacency.tpid[1], 0);
    routing.remove_interface(vlan);
    EXPECT_EQ(pp_fib_vlan_interface(image.memory().data(), &image.geometry(), 1, 100, 0), 0U);
    EXPECT_EQ(at("203.0.113.5").kind, PP_ADJ_INVALID);
}

TEST_F(RoutingTest, ConfiguredNeighbourIsNotOverruledByTheKernel) {
    routing.set_neighbour(lan, ip("192.0.2.7"),
                          {MacAddress{{2, 1, 0, 0, 0, 7}}, NeighbourState::permanent, true});
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    EXPECT_EQ(at("192.0.2.7").dst_mac[5], 7);
}

TEST_F(RoutingTest, MtuAndMacOfAnInterfaceReachItsAdjacencies) {
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    auto changed = link(11);
    changed.mtu = 9000;
    changed.mac.bytes[5] = 99;
    routing.set_link(lan, changed);
    EXPECT_EQ(at("192.0.2.7").mtu, 9000U);
    EXPECT_EQ(at("192.0.2.7").src_mac[5], 99);
}

TEST_F(RoutingTest, RemovedInterfaceLeavesNothing) {
    const auto before = image.usage();
    const auto id = routing.add_interface("dmz", 3, {}, 0x8100).value();
    routing.set_link(id, link(13));
    routing.add_address(id, address("203.0.113.1/24"), {});
    routing.set_neighbour(id, ip("203.0.113.7"), reachable(7));
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("203.0.113.7"), 0, 1}}));
    routing.remove_interface(id);
    EXPECT_EQ(at("203.0.113.7").kind, PP_ADJ_INVALID);
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_INVALID);
    EXPECT_TRUE(routing.erase_route(prefix("10.0.0.0/8"), RouteSource::config).value());
    expect_usage(before);
}

TEST_F(RoutingTest, InterfaceMadeAnewUnderItsIdHasItsRoutesAgain) {
    const auto id = routing.add_interface("dmz", 3, {}, 0x8100).value();
    const auto make = [&] {
        routing.set_link(id, link(13));
        routing.add_address(id, address("203.0.113.1/24"), {});
        routing.set_neighbour(id, ip("203.0.113.7"), reachable(7));
    };
    make();
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("203.0.113.7"), id, 1}}));
    EXPECT_EQ(at("10.1.1.1").dst_mac[5], 7);
    routing.remove_interface(id);
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_INVALID);
    ASSERT_EQ(routing.add_interface("dmz", 3, {}, 0x8100, id).value(), id);
    make();
    EXPECT_EQ(at("10.1.1.1").dst_mac[5], 7);
    EXPECT_NE(routing.add_interface("other", 4, {}, 0x8100, id).value(), id)
        << "an id that is taken is not given";
}

TEST_F(RoutingTest, FullTableRefusesTheRouteAndKeepsTheOthers) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.7"), 0, 1}}));
    Result<void> last;
    int added = 0;
    for (; added < 300; added++) {
        last =
            add(("20." + std::to_string(added % 250) + "." + std::to_string(added / 250) + ".0/24").c_str(),
                {{ip("192.0.2.7"), 0, 1}});
        if (!last) break;
    }
    ASSERT_FALSE(last) << "64 KiB cannot hold " << added << " nets of different /16s";
    EXPECT_THAT(last.error().to_string(), testing::HasSubstr("table_memory_mib"));
    EXPECT_EQ(routing.rib().size(RouteSource::config), static_cast<size_t>(added) + 1);
    EXPECT_EQ(at("10.1.1.1").kind, PP_ADJ_INCOMPLETE);
    EXPECT_EQ(at("20.0.0.1").kind, PP_ADJ_INCOMPLETE);
}

/// A resilient group of the kernel's: one set, whose members change in place.
class ResilientTest : public RoutingTest {
  protected:
    ResilientTest() {
        for (uint8_t host = 2; host <= 4; host++) {
            const IpAddress gateway = ip(("192.0.2." + std::to_string(host)).c_str());
            routing.set_neighbour(lan, gateway, reachable(host));
        }
        at_second(0);
    }
    void at_second(int second) {
        routing.tick(std::chrono::steady_clock::time_point(std::chrono::seconds(second)));
    }
    void compose(std::vector<int> hosts) {
        NextHopSetSpec spec{PP_ADJ_FORWARD, {}, 0, 10, std::chrono::seconds(3)};
        for (const int host : hosts)
            spec.next_hops.push_back({ip(("192.0.2." + std::to_string(host)).c_str()), lan, 1});
        ASSERT_TRUE(set_route(prefix("10.0.0.0/8"), spec, RouteSource::kernel, 20));
    }
    std::vector<int> flows() const {
        std::vector<int> to;
        for (uint32_t i = 0; i < 256; i++)
            to.push_back(at("10.1.1.1", i << 24).dst_mac[5]);
        return to;
    }
};

TEST_F(ResilientTest, what_comes_waits_for_the_idle_timer) {
    compose({2, 3});
    const auto before = flows();
    compose({2, 3, 4});
    at_second(0);
    at_second(2);
    compose({2, 3, 4});  // of another route: the timer goes on
    EXPECT_EQ(flows(), before);
    at_second(3);
    const auto after = flows();
    EXPECT_EQ(std::set<int>(after.begin(), after.end()), (std::set<int>{2, 3, 4}));
    for (size_t flow = 0; flow < after.size(); flow++)
        EXPECT_TRUE(after[flow] == before[flow] || after[flow] == 4) << "only to the one that came";
}

TEST_F(ResilientTest, what_goes_takes_only_its_own_flows_at_once) {
    compose({2, 3, 4});
    const auto before = flows();
    compose({2, 3});
    const auto after = flows();
    for (size_t flow = 0; flow < after.size(); flow++) {
        EXPECT_NE(after[flow], 4);
        if (before[flow] != 4) {
            EXPECT_EQ(after[flow], before[flow]);
        }
    }
}

TEST_F(ResilientTest, a_member_that_goes_again_before_its_time_never_comes) {
    compose({2});
    compose({2, 3});
    compose({2});
    at_second(10);
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{2}));
    compose({3});
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{3})) << "nobody stays: nothing to wait for";
    ASSERT_TRUE(routing.erase_route(prefix("10.0.0.0/8"), RouteSource::kernel));
    compose({2});
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{2})) << "a group anew";
}

// What the host is offered by DHCP has no route.
TEST_F(RoutingTest, a_port_with_an_interface_that_has_no_ipv4_address_awaits_dhcp) {
    const auto awaits = [this](uint16_t port) {
        return (pp_fib_port_at(memory.base(), &memory.geometry(), port)->flags & PP_PORT_AWAITS_DHCP) != 0;
    };
    EXPECT_FALSE(awaits(1));
    routing.remove_address(lan, address("2001:db8::1/64"));
    EXPECT_FALSE(awaits(1));
    routing.remove_address(lan, address("192.0.2.1/24"));
    EXPECT_TRUE(awaits(1));
    routing.add_address(lan, address("2001:db8::1/64"), {});
    EXPECT_TRUE(awaits(1));
    routing.add_address(lan, address("192.0.2.9/24"), {});
    EXPECT_FALSE(awaits(1));
    const auto vlan = routing.add_interface("lan.9", 1, {9}, 0x8100).value();
    routing.set_link(vlan, link(99));
    EXPECT_TRUE(awaits(1));
    EXPECT_FALSE(awaits(2));
    routing.add_address(vlan, address("192.0.9.1/24"), {});
    EXPECT_FALSE(awaits(1));
    routing.remove_address(vlan, address("192.0.9.1/24"));
    routing.remove_interface(vlan);
    EXPECT_FALSE(awaits(1));
}

TEST_F(RoutingTest, what_the_host_listens_to_by_an_interface_that_is_set_down) {
    const auto before = image.usage();
    const auto set_down = [this](bool down) {
        LinkState state = link(11, !down);
        state.set_down = down;
        routing.set_link(lan, state);
    };
    routing.set_link(lan, link(11, false));
    for (const char* own : {"192.0.2.1", "2001:db8::1", "2001:db8::"})
        EXPECT_EQ(at(own).kind, PP_ADJ_HOST) << own << ": without a carrier it is there as ever";
    EXPECT_EQ(at("192.0.2.255").kind, PP_ADJ_BROADCAST);
    set_down(true);
    for (const char* gone : {"192.0.2.255", "192.0.2.0", "2001:db8::", "2001:db8::1"})
        EXPECT_EQ(at(gone).kind, PP_ADJ_INVALID) << gone;
    EXPECT_EQ(at("192.0.2.1").kind, PP_ADJ_HOST);
    routing.add_address(lan, address("192.0.4.1/24"), {});
    EXPECT_EQ(at("192.0.4.255").kind, PP_ADJ_INVALID);
    set_down(false);
    for (const char* own : {"192.0.2.1", "2001:db8::1", "2001:db8::"})
        EXPECT_EQ(at(own).kind, PP_ADJ_HOST) << own;
    for (const char* text : {"192.0.2.255", "192.0.4.255"})
        EXPECT_EQ(at(text).kind, PP_ADJ_BROADCAST) << text;
    set_down(true);
    routing.remove_address(lan, address("192.0.4.1/24"));
    set_down(false);
    EXPECT_EQ(at("192.0.4.255").kind, PP_ADJ_INVALID);
    expect_usage(before);
}

}  // namespace
}  // namespace pktpit::router
