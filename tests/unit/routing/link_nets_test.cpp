// SPDX-License-Identifier: BSD-3-Clause
// Nets on links as Linux has them: of peers, of several interfaces, by addresses and by the kernel's word.
#include <random>

#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class NetsOnLinks : public RoutingTest {
  protected:
    AddressDetails peer(const char* text) {
        AddressDetails details;
        details.peer = ip(text);
        return details;
    }
    static AddressDetails metric(uint32_t metric) {
        AddressDetails details;
        details.metric = metric;
        return details;
    }
    static AddressDetails without_route() {
        AddressDetails details;
        details.prefix_route = false;
        return details;
    }
    /// By the net's route alone: 0 where there is none.
    InterfaceId link_of(const char* net, VrfId vrf = default_vrf) {
        const auto best = routing.rib(vrf).best(prefix(net));
        if (!best || best->source != RouteSource::connected) return 0;
        return routing.next_hop_sets().spec_of(best->next_hops).next_hops.front().interface;
    }
};

TEST_F(NetsOnLinks, a_peer_is_on_the_link_and_the_address_is_the_hosts) {
    for (const auto& [own, other, gateway] : {std::tuple{"10.0.0.1/32", "10.0.0.2", "203.0.113.0/24"},
                                              {"2001:db8:9::1/128", "2001:db8:9::2", "2001:db8:77::/48"}}) {
        routing.add_address(wan, address(own), peer(other));
        EXPECT_EQ(at(address(own).address.to_string().c_str()).kind, PP_ADJ_HOST);
        EXPECT_EQ(at(other).kind, PP_ADJ_GLEAN);
        routing.set_neighbour(wan, ip(other), reachable(9));
        EXPECT_EQ(at(other).kind, PP_ADJ_FORWARD);
        EXPECT_EQ(at(other).dst_mac[5], 9);
        // Also as a gateway, whether or not it is known.
        ASSERT_TRUE(add(gateway, {{ip(other), 0, 1}}));
        EXPECT_EQ(at(prefix(gateway).address.to_string().c_str()).dst_mac[5], 9);
        routing.remove_neighbour(wan, ip(other));
        EXPECT_EQ(at(other).kind, PP_ADJ_GLEAN);
        EXPECT_EQ(routing.next_hop_sets().resolution_of(ip(other))->state, Resolution::State::resolved);
        routing.set_neighbour(wan, ip(other), reachable(9));
        EXPECT_EQ(at(prefix(gateway).address.to_string().c_str()).dst_mac[5], 9);
        routing.remove_address(wan, address(own), ip(other));
        EXPECT_EQ(at(other).kind, PP_ADJ_INVALID);
        EXPECT_EQ(at(prefix(gateway).address.to_string().c_str()).kind, PP_ADJ_INVALID);
        ASSERT_TRUE(routing.erase_route(prefix(gateway), RouteSource::config));
    }
}

TEST_F(NetsOnLinks, one_address_with_several_peers) {
    const auto before = image.usage();
    routing.add_address(lan, address("10.0.0.1/32"), peer("10.0.0.2"));
    routing.add_address(wan, address("10.0.0.1/32"), peer("10.0.0.3"));
    routing.add_address(wan, address("10.0.0.1/32"), peer("10.0.0.4"));
    EXPECT_EQ(link_of("10.0.0.2/32"), lan);
    EXPECT_EQ(link_of("10.0.0.3/32"), wan);
    routing.remove_address(wan, address("10.0.0.1/32"), ip("10.0.0.3"));
    EXPECT_EQ(link_of("10.0.0.3/32"), 0);
    EXPECT_EQ(link_of("10.0.0.4/32"), wan);
    EXPECT_EQ(at("10.0.0.1").kind, PP_ADJ_HOST);
    EXPECT_EQ(std::ranges::count(routing.interfaces().find(wan)->addresses, address("10.0.0.1/32")), 1);
    routing.remove_interface(wan);
    EXPECT_EQ(link_of("10.0.0.4/32"), 0);
    EXPECT_EQ(at("10.0.0.1").kind, PP_ADJ_HOST);
    routing.remove_address(lan, address("10.0.0.1/32"), ip("10.0.0.2"));
    EXPECT_EQ(at("10.0.0.1").kind, PP_ADJ_INVALID);
    EXPECT_LE(image.usage().prefixes4, before.prefixes4);
}

TEST_F(NetsOnLinks, a_peer_moves_with_its_interface_and_follows_the_link_that_has_it) {
    routing.add_address(wan, address("10.0.0.1/32"), peer("10.0.0.2"));
    routing.set_neighbour(wan, ip("10.0.0.2"), reachable(9));
    routing.set_neighbour(lan, ip("10.0.0.2"), reachable(7));
    const VrfId red = routing.add_vrf({"red", 10}).value();
    routing.set_interface_vrf(wan, red);
    EXPECT_EQ(at("10.0.0.2").kind, PP_ADJ_INVALID);
    EXPECT_EQ(link_of("10.0.0.2/32", red), wan);
    routing.set_interface_vrf(wan, default_vrf);
    EXPECT_EQ(at("10.0.0.2").dst_mac[5], 9);
    routing.add_address(lan, address("10.0.0.1/32"), peer("10.0.0.2"));
    EXPECT_EQ(at("10.0.0.2").dst_mac[5], 9) << "the first one has it";
    routing.set_link(wan, link(12, false));
    EXPECT_EQ(at("10.0.0.2").dst_mac[5], 7) << "the other link";
    routing.remove_vrf(red);
}

TEST_F(NetsOnLinks, a_longer_route_to_nowhere_does_not_hide_the_peer_but_the_hosts_own_does) {
    routing.add_address(wan, address("10.0.0.1/32"), peer("10.0.0.2"));
    routing.set_neighbour(wan, ip("10.0.0.2"), reachable(9));
    ASSERT_TRUE(set_route(prefix("10.0.0.2/32"), {PP_ADJ_BLACKHOLE, {}}, RouteSource::kernel, 20));
    EXPECT_EQ(at("10.0.0.2").dst_mac[5], 9) << "of its own length, behind the connected one";
    routing.add_host_prefix(prefix("10.0.0.2/32"));
    EXPECT_EQ(at("10.0.0.2").kind, PP_ADJ_HOST);
    routing.remove_host_prefix(prefix("10.0.0.2/32"));
    EXPECT_EQ(at("10.0.0.2").dst_mac[5], 9);
}

TEST_F(NetsOnLinks, of_two_links_the_first_then_the_other_when_it_goes_down) {
    routing.add_address(wan, address("10.0.0.1/24"));
    routing.add_address(lan, address("10.0.0.2/24"));
    routing.set_neighbour(lan, ip("10.0.0.9"), reachable(7));
    routing.set_neighbour(wan, ip("10.0.0.9"), reachable(9));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    EXPECT_EQ(at("10.0.0.9").dst_mac[5], 9);
    routing.set_link(wan, link(12, false));
    EXPECT_EQ(link_of("10.0.0.0/24"), lan);
    EXPECT_EQ(at("10.0.0.9").dst_mac[5], 7);
    routing.set_link(wan, link(12));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan) << "the carrier alone was lost";
    routing.set_link(wan, link(12, false));
    routing.forget_prefix_routes(wan);
    routing.set_link(wan, link(12));
    EXPECT_EQ(link_of("10.0.0.0/24"), lan) << "set up anew, it comes behind";
    routing.remove_address(lan, address("10.0.0.2/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
}

TEST_F(NetsOnLinks, the_better_metric_wins) {
    routing.add_address(wan, address("10.0.0.1/24"), metric(200));
    routing.add_address(lan, address("10.0.0.2/24"), metric(100));
    EXPECT_EQ(link_of("10.0.0.0/24"), lan);
    routing.add_address(wan, address("10.0.0.1/24"), metric(50));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    // Of IPv6 none is 256.
    routing.add_address(wan, address("2001:db8:c::1/64"));
    routing.add_address(lan, address("2001:db8:c::2/64"), metric(255));
    EXPECT_EQ(link_of("2001:db8:c::/64"), lan);
}

TEST_F(NetsOnLinks, a_secondary_address_makes_no_route_of_its_own) {
    routing.add_address(wan, address("10.0.0.1/24"), metric(200));
    routing.add_address(wan, address("10.0.0.3/24"), metric(1));
    routing.add_address(lan, address("10.0.0.2/24"), metric(100));
    EXPECT_EQ(link_of("10.0.0.0/24"), lan);
    routing.remove_address(wan, address("10.0.0.1/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan) << "promoted";
}

TEST_F(NetsOnLinks, without_a_prefix_route_the_kernels_word_alone_counts) {
    routing.add_address(wan, address("10.0.0.1/24"), without_route());
    EXPECT_EQ(link_of("10.0.0.0/24"), 0);
    EXPECT_EQ(at("10.0.0.1").kind, PP_ADJ_HOST);
    routing.add_address(lan, address("10.0.0.2/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), lan);
    routing.remove_address(lan, address("10.0.0.2/24"));
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 101, 1);
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.remove_prefix_route(wan, prefix("10.0.0.0/24"), 101);
    EXPECT_EQ(link_of("10.0.0.0/24"), 0);
}

TEST_F(NetsOnLinks, a_net_goes_with_its_route_though_the_address_stays) {
    routing.add_address(wan, address("10.0.0.1/24"));
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 0, 1);
    routing.settle_prefix_routes();
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.remove_prefix_route(wan, prefix("10.0.0.0/24"), 0);
    EXPECT_EQ(link_of("10.0.0.0/24"), wan) << "another may be on its way";
    routing.settle_prefix_routes();
    EXPECT_EQ(link_of("10.0.0.0/24"), 0);
    EXPECT_EQ(at("10.0.0.1").kind, PP_ADJ_HOST);
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 0, 2);
    EXPECT_EQ(link_of("10.0.0.0/24"), wan) << "set by hand";
    routing.remove_prefix_route(wan, prefix("10.0.0.0/24"), 0);
    routing.settle_prefix_routes();
    routing.forget_prefix_routes(wan);
    EXPECT_EQ(link_of("10.0.0.0/24"), wan) << "the device was set up anew";
}

TEST_F(NetsOnLinks, an_exchange_of_routes_is_no_gap) {
    routing.add_address(wan, address("10.0.0.1/24"));
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 0, 1);
    routing.add_address(wan, address("10.0.0.3/24"));
    // A secondary address is promoted: the kernel's route goes and comes.
    routing.remove_address(wan, address("10.0.0.1/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.remove_prefix_route(wan, prefix("10.0.0.0/24"), 0);
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 0, 2);
    routing.settle_prefix_routes();
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    // Another metric of the address: the new route is told first.
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 50, 3);
    routing.remove_prefix_route(wan, prefix("10.0.0.0/24"), 0);
    routing.add_address(wan, address("10.0.0.3/24"), metric(50));
    routing.settle_prefix_routes();
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.remove_address(wan, address("10.0.0.3/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), 0);
}

TEST_F(NetsOnLinks, the_kernels_order_counts_once_it_is_told) {
    routing.add_address(wan, address("10.0.0.1/24"));
    routing.add_address(lan, address("10.0.0.2/24"));
    EXPECT_EQ(link_of("10.0.0.0/24"), wan);
    routing.set_prefix_route(lan, prefix("10.0.0.0/24"), 0, 1);
    routing.set_prefix_route(wan, prefix("10.0.0.0/24"), 0, 2);
    EXPECT_EQ(link_of("10.0.0.0/24"), lan);
}

TEST_F(NetsOnLinks, an_ipv6_net_of_the_hosts_own_goes_before_longer_routes) {
    const auto before = image.usage();
    routing.add_address(wan, address("2001:db8:2::1/64"));
    ASSERT_TRUE(add("2001:db8:9:1::/64", {{ip("2001:db8:2::9"), wan, 1}}));
    routing.set_neighbour(wan, ip("2001:db8:2::9"), reachable(9));
    routing.add_address(lan, address("2001:db8:9:2::1/64"));
    routing.set_neighbour(lan, ip("2001:db8:9:2::7"), reachable(7));
    EXPECT_EQ(at("2001:db8:9:1::5").dst_mac[5], 9);
    EXPECT_EQ(at("2001:db8:9:2::7").dst_mac[5], 7);
    for (int twice = 0; twice < 2; twice++)
        routing.add_host_prefix(prefix("2001:db8:9::/48"));
    for (const char* to : {"2001:db8:9:1::5", "2001:db8:9:2::1", "2001:db8:9:2::7", "2001:db8:9:3::3"}) {
        EXPECT_EQ(at(to).kind, PP_ADJ_HOST) << to;
        EXPECT_EQ(routing.next_hop_sets().spec_of(routing.match(ip(to))->next_hops).kind, PP_ADJ_HOST) << to;
    }
    // What comes meanwhile is hidden, too, and there when the net has gone.
    ASSERT_TRUE(add("2001:db8:9:3::/64", {{ip("2001:db8:2::9"), wan, 1}}));
    routing.set_neighbour(lan, ip("2001:db8:9:2::8"), reachable(8));
    EXPECT_EQ(at("2001:db8:9:3::3").kind, PP_ADJ_HOST);
    EXPECT_EQ(at("2001:db8:9:2::8").kind, PP_ADJ_HOST);
    routing.remove_host_prefix(prefix("2001:db8:9::/48"));
    EXPECT_EQ(at("2001:db8:9:3::3").kind, PP_ADJ_HOST) << "one of two is left";
    routing.remove_host_prefix(prefix("2001:db8:9::/48"));
    EXPECT_EQ(at("2001:db8:9:1::5").dst_mac[5], 9);
    EXPECT_EQ(at("2001:db8:9:3::3").dst_mac[5], 9);
    EXPECT_EQ(at("2001:db8:9:2::8").dst_mac[5], 8);
    EXPECT_EQ(at("2001:db8:9:9::9").kind, PP_ADJ_INVALID);
    routing.remove_neighbour(lan, ip("2001:db8:9:2::7"));
    routing.remove_neighbour(lan, ip("2001:db8:9:2::8"));
    routing.remove_neighbour(wan, ip("2001:db8:2::9"));
    routing.remove_address(lan, address("2001:db8:9:2::1/64"));
    routing.remove_address(wan, address("2001:db8:2::1/64"));
    for (const char* text : {"2001:db8:9:1::/64", "2001:db8:9:3::/64"})
        ASSERT_TRUE(routing.erase_route(prefix(text), RouteSource::config));
    expect_usage(before);
    EXPECT_TRUE(refused.empty());
}

TEST_F(NetsOnLinks, inside_an_ipv4_net_of_the_hosts_own_the_longest_prefix_wins) {
    routing.add_host_prefix(prefix("10.9.0.0/16"));
    ASSERT_TRUE(add("10.9.1.0/24", {{ip("198.51.100.9"), wan, 1}}));
    routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    EXPECT_EQ(at("10.9.1.5").dst_mac[5], 9);
    EXPECT_EQ(at("10.9.2.5").kind, PP_ADJ_HOST);
}

// Whatever happens in between, what is left is what addresses and routes are left.
TEST_F(NetsOnLinks, nothing_is_left_of_random_changes) {
    const auto before = image.usage();
    std::mt19937 random(5);
    for (int round = 0; round < 20; round++) {
        std::set<std::tuple<InterfaceId, std::string, std::string>> there;
        for (int step = 0; step < 200; step++) {
            const InterfaceId on = random() % 2 ? lan : wan;
            const std::string own =
                std::array{"10.0.0.1/24", "10.0.0.2/24", "10.0.0.1/32", "10.0.1.1/31"}[random() % 4];
            const std::string other = own.ends_with("/32") ? "10.0.0.9" : "";
            std::optional<IpAddress> its_peer;
            if (!other.empty()) its_peer = ip(other.c_str());
            switch (random() % 7) {
                case 0:
                case 1:
                    routing.add_address(
                        on, address(own.c_str()),
                        {{}, its_peer, static_cast<uint32_t>(random() % 3), random() % 4 != 0});
                    there.emplace(on, own, other);
                    break;
                case 2:
                    routing.remove_address(on, address(own.c_str()), its_peer);
                    there.erase({on, own, other});
                    break;
                case 3:
                    routing.set_prefix_route(on, prefix("10.0.0.0/24"), static_cast<uint32_t>(random() % 3),
                                             random() % 1000);
                    break;
                case 4:
                    routing.remove_prefix_route(on, prefix("10.0.0.0/24"),
                                                static_cast<uint32_t>(random() % 3));
                    break;
                case 5:
                    routing.settle_prefix_routes();
                    break;
                default:
                    routing.set_link(on, link(on == lan ? 11 : 12, random() % 2));
            }
            if (random() % 8 == 0) routing.set_neighbour(on, ip("10.0.0.9"), reachable(9));
        }
        for (const InterfaceId on : {lan, wan}) {
            for (const auto& [id, own, other] : there)
                if (id == on)
                    routing.remove_address(on, address(own.c_str()),
                                           other.empty() ? std::nullopt : std::optional(ip(other.c_str())));
            routing.forget_prefix_routes(on);
            routing.set_link(on, link(on == lan ? 11 : 12));
            routing.remove_neighbour(on, ip("10.0.0.9"));
        }
        EXPECT_EQ(link_of("10.0.0.0/24"), 0);
        expect_usage(before);
    }
}

}  // namespace
}  // namespace pktpit::router
