// SPDX-License-Identifier: BSD-3-Clause
// Which route wins where a host on a link is known: the longest match, of which the neighbour is no part.
#include <map>
#include <optional>
#include <random>

#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class NeighbourRoutes : public RoutingTest {
  protected:
    NeighbourRoutes() {
        routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
        routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    }
    Result<void> add_special_of(const char* text, pp_adjacency_kind kind, RouteSource source) {
        return set_route(prefix(text), {kind, {}}, source);
    }
    void erase(const char* text, RouteSource source = RouteSource::config) {
        ASSERT_TRUE(routing.erase_route(prefix(text), source));
    }
    /// The neighbour as a routing daemon would find it: gone, and known again.
    void meet_again() {
        routing.remove_neighbour(lan, ip("192.0.2.7"));
        routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    }
    void expect_reached() {
        EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_FORWARD);
        EXPECT_EQ(at("192.0.2.7").dst_mac[5], 7);
    }
    void expect_by_gateway() { EXPECT_EQ(at("192.0.2.7").dst_mac[5], 9); }
};

TEST_F(NeighbourRoutes, a_longer_route_to_nowhere_stands) {
    expect_reached();
    for (const auto source : {RouteSource::config, RouteSource::cli, RouteSource::kernel, RouteSource::fpm})
        for (const char* text : {"192.0.2.7/32", "192.0.2.0/25", "192.0.2.0/28"}) {
            ASSERT_TRUE(add_special_of(text, PP_ADJ_BLACKHOLE, source));
            EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_BLACKHOLE) << text;
            meet_again();
            EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_BLACKHOLE) << text << ", met after the route";
            erase(text, source);
            expect_reached();
        }
}

TEST_F(NeighbourRoutes, a_longer_route_by_a_gateway_stands) {
    ASSERT_TRUE(add("192.0.2.7/32", {{ip("198.51.100.9"), 0, 1}}));
    expect_by_gateway();
    meet_again();
    expect_by_gateway();
    erase("192.0.2.7/32");
    expect_reached();
}

TEST_F(NeighbourRoutes, a_route_of_the_nets_own_length_does_not) {
    ASSERT_TRUE(add_special_of("192.0.2.0/24", PP_ADJ_BLACKHOLE, RouteSource::cli));
    expect_reached();
    routing.remove_address(lan, address("192.0.2.1/24"));
    EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_BLACKHOLE) << "the connected net has gone";
    routing.add_address(lan, address("192.0.2.1/24"), {});
    expect_reached();
}

TEST_F(NeighbourRoutes, a_longer_route_that_cannot_be_used_does_not) {
    ASSERT_TRUE(add("192.0.2.0/25", {{ip("198.51.100.9"), wan, 1}}));
    expect_by_gateway();
    routing.set_link(wan, link(12, false));
    expect_reached();
    routing.set_link(wan, link(12, true));
    routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    expect_by_gateway();
}

TEST_F(NeighbourRoutes, a_route_by_the_interface_alone_is_a_link) {
    const auto before = image.usage();
    for (const char* text : {"203.0.113.5/32", "203.0.113.0/24", "203.0.113.4/31"}) {
        ASSERT_TRUE(add(text, {{{}, lan, 1}}));
        EXPECT_NE(at("203.0.113.5").kind, PP_ADJ_FORWARD) << text;
        routing.set_neighbour(lan, ip("203.0.113.5"), reachable(5));
        EXPECT_EQ(at("203.0.113.5").dst_mac[5], 5) << text;
        erase(text);
        EXPECT_EQ(at("203.0.113.5").kind, PP_ADJ_INVALID) << text << ": no route";
        ASSERT_TRUE(add(text, {{{}, lan, 1}}));
        EXPECT_EQ(at("203.0.113.5").dst_mac[5], 5) << text << ", known before the route";
        routing.set_neighbour(lan, ip("203.0.113.5"), {{}, NeighbourState::failed, false});
        EXPECT_NE(at("203.0.113.5").kind, PP_ADJ_FORWARD) << text;
        erase(text);
        routing.remove_neighbour(lan, ip("203.0.113.5"));
    }
    expect_usage(before);
}

TEST_F(NeighbourRoutes, a_neighbour_of_another_link_is_none) {
    ASSERT_TRUE(add("192.0.2.7/32", {{{}, wan, 1}}));
    EXPECT_NE(at("192.0.2.7").kind, PP_ADJ_FORWARD);
    routing.set_neighbour(wan, ip("192.0.2.7"), reachable(70));
    EXPECT_EQ(at("192.0.2.7").dst_mac[5], 70);
    erase("192.0.2.7/32");
    expect_reached();
}

TEST_F(NeighbourRoutes, a_set_that_changes_in_place_is_followed) {
    constexpr uint64_t of_zebra = uint64_t{1} << 32;
    const NextHopSetSpec by_link{PP_ADJ_FORWARD, {{{}, lan, 1}}, 0, of_zebra};
    const NextHopSetSpec by_gateway{PP_ADJ_FORWARD, {{ip("198.51.100.9"), wan, 1}}, 0, of_zebra};
    ASSERT_TRUE(set_route(prefix("203.0.113.0/24"), by_gateway, RouteSource::fpm));
    routing.set_neighbour(lan, ip("203.0.113.5"), reachable(5));
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9);
    const auto change = [&](const NextHopSetSpec& spec) {
        const auto id = routing.acquire_next_hops(spec);
        ASSERT_TRUE(id);
        routing.release_next_hops(*id);
    };
    change(by_link);
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 5);
    change(by_gateway);
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9);

    // With an idle timer the link comes later.
    NextHopSetSpec both = by_gateway;
    both.next_hops.push_back({{}, lan, 1});
    both.idle_timer = std::chrono::seconds{1};
    change(both);
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 9);
    const std::chrono::steady_clock::time_point start{};
    routing.tick(start);
    routing.tick(start + std::chrono::seconds{1});
    EXPECT_EQ(at("203.0.113.5").dst_mac[5], 5);
}

TEST_F(NeighbourRoutes, another_vrf_that_leads_to_the_link_has_it_too) {
    const VrfId red = routing.add_vrf({"red", 10}).value();
    const auto in_red = [&](const char* destination) {
        return *pp_fib_adjacency_at(memory.base(), &memory.geometry(),
                                    memory.member(image.lookup(ip(destination), routing.table_of(red)), 0));
    };
    EXPECT_EQ(in_red("192.0.2.7").kind, PP_ADJ_INVALID);
    ASSERT_TRUE(
        set_route(prefix("192.0.2.0/24"), {PP_ADJ_FORWARD, {{{}, lan, 1}}}, RouteSource::config, 10, red));
    EXPECT_EQ(in_red("192.0.2.7").dst_mac[5], 7);
    ASSERT_TRUE(routing.erase_route(prefix("192.0.2.0/24"), RouteSource::config, red));
    EXPECT_EQ(in_red("192.0.2.7").kind, PP_ADJ_INVALID);
    routing.set_interface_vrf(lan, red);
    EXPECT_EQ(in_red("192.0.2.7").dst_mac[5], 7);
    EXPECT_EQ(at("192.0.2.7").kind, PP_ADJ_INVALID);
    routing.set_interface_vrf(lan, default_vrf);
    expect_reached();
    routing.remove_vrf(red);
}

// Random routes, neighbours and addresses, against the longest match of a list.
class RandomNeighbours : public RoutingTest, public testing::WithParamInterface<uint32_t> {
  protected:
    struct Given {
        pp_adjacency_kind kind = PP_ADJ_FORWARD;
        bool by_gateway = false;
        InterfaceId interface = 0;
    };
    using Place = std::pair<Prefix, RouteSource>;

    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
    InterfaceId some_link() { return below(2) == 0 ? lan : wan; }
    IpAddress host() { return IpAddress::v4(0xc0000201U + 4 * below(4) + 64 * below(3) + below(3)); }

    void change_route() {
        const Place place{Prefix::of(host(), 24 + below(9)),
                          below(2) == 0 ? RouteSource::config : RouteSource::kernel};
        if (below(3) == 0) {
            ASSERT_TRUE(routing.erase_route(place.first, place.second));
            given.erase(place);
            return;
        }
        Given one;
        if (below(4) == 0)
            one.kind = PP_ADJ_BLACKHOLE;
        else
            one = {PP_ADJ_FORWARD, below(3) == 0, some_link()};
        NextHopSetSpec spec{one.kind, {}};
        if (one.by_gateway)
            spec.next_hops = {{ip("198.51.100.9"), wan, 1}};
        else if (one.kind == PP_ADJ_FORWARD)
            spec.next_hops = {{{}, one.interface, 1}};
        ASSERT_TRUE(
            set_route(place.first, spec, place.second, place.second == RouteSource::config ? 10 : 20));
        given[place] = one;
    }
    void change_neighbour() {
        const InterfaceId on = some_link();
        const IpAddress address = host();
        if (below(3) == 0) {
            routing.remove_neighbour(on, address);
            neighbours.erase({on, address});
        } else {
            const auto mac = static_cast<uint8_t>(10 + below(200));
            routing.set_neighbour(on, address, reachable(mac));
            neighbours[{on, address}] = mac;
        }
    }
    /// A host that is the other end of a link, which is a link to it alone.
    void change_peer() {
        const IpAddress peer = host();
        const Place place{Prefix::of(peer, 32), RouteSource::connected};
        if (given.erase(place) != 0) {
            routing.remove_address(lan, address("192.0.2.203/32"), peer);
            return;
        }
        routing.add_address(lan, address("192.0.2.203/32"), {{}, peer});
        given[place] = {PP_ADJ_FORWARD, false, lan};
    }
    void change_address() {
        if (below(3) == 0) return change_peer();
        const InterfaceAddress net = address(below(2) == 0 ? "192.0.2.201/24" : "192.0.2.202/25");
        const Place place{net.net(), RouteSource::connected};
        if (given.contains(place)) {
            routing.remove_address(lan, net);
            given.erase(place);
        } else {
            routing.add_address(lan, net, {});
            given[place] = {PP_ADJ_FORWARD, false, lan};
        }
    }
    /// -1: it is dropped, or its next hop is not known; 0: no route.
    int expected(const IpAddress& to) {
        const Given* best = nullptr;
        std::pair<int, int> rank;
        for (const auto& [place, route] : given) {
            if (!place.first.contains(to)) continue;
            const int preference = place.second == RouteSource::connected ? 0
                                   : place.second == RouteSource::config  ? 10
                                                                          : 20;
            const std::pair now{-int{place.first.length}, preference};
            if (best && rank <= now) continue;
            best = &route;
            rank = now;
        }
        if (!best) return 0;
        if (best->kind != PP_ADJ_FORWARD) return -1;
        if (best->by_gateway) return 9;
        const auto known = neighbours.find({best->interface, to});
        return known == neighbours.end() ? -1 : known->second;
    }
    int found(const IpAddress& to) const {
        const auto adjacency = at(to.to_string().c_str());
        if (adjacency.kind == PP_ADJ_INVALID) return 0;
        return adjacency.kind == PP_ADJ_FORWARD ? adjacency.dst_mac[5] : -1;
    }

    std::map<Place, Given> given;
    std::map<std::pair<InterfaceId, IpAddress>, int> neighbours;
    std::mt19937 random_{GetParam()};
};

TEST_P(RandomNeighbours, are_reached_where_the_longest_match_is_their_link) {
    routing.remove_address(lan, address("192.0.2.1/24"));
    routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    for (int step = 0; step < 3000; step++) {
        switch (below(8)) {
            case 0:
                change_address();
                break;
            case 1:
            case 2:
            case 3:
                change_neighbour();
                break;
            default:
                change_route();
        }
        for (int look = 0; look < 4; look++) {
            const IpAddress to = host();
            ASSERT_EQ(found(to), expected(to)) << to.to_string() << " after step " << step;
        }
    }
    EXPECT_TRUE(refused.empty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomNeighbours, testing::Range(1U, 9U));

}  // namespace
}  // namespace pktpit::router
