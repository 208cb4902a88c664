// SPDX-License-Identifier: BSD-3-Clause
// Random routes with backups and second bests, over links and neighbours that come and go, in pieces of
// random size: in the end the image is what one that was made of the same state at once has.
#include <array>
#include <random>

#include "tests/sanitized.h"
#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class RandomFailures : public RoutingTest, public testing::WithParamInterface<unsigned> {
  protected:
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }
    IpAddress gateway(InterfaceId on) {
        return ip(
            (std::string(on == lan ? "192.0.2." : "198.51.100.") + std::to_string(10 + below(3))).c_str());
    }
    void change_route() {
        const auto which = prefix(("10." + std::to_string(below(12)) + ".0.0/16").c_str());
        const auto source = below(2) ? RouteSource::config : RouteSource::kernel;
        if (below(3) == 0) {
            ASSERT_TRUE(routing.erase_route(which, source));
            return;
        }
        NextHopSetSpec spec;
        for (uint32_t i = 1 + below(3); i > 0; i--) {
            const InterfaceId on = below(2) ? lan : wan;
            spec.next_hops.push_back({gateway(on), on, 1, !spec.next_hops.empty() && below(2) == 0});
        }
        ASSERT_TRUE(set_route(which, spec, source, static_cast<uint8_t>(10 + below(3))));
    }
    void change_something() {
        const InterfaceId on = below(2) ? lan : wan;
        switch (below(6)) {
            case 0:
                return routing.set_link(on, link(10U + on, below(3) != 0));
            case 1: {
                constexpr std::array states{NeighbourState::failed, NeighbourState::reachable,
                                            NeighbourState::reachable, NeighbourState::incomplete};
                const auto address = gateway(on);
                if (below(8) == 0) return routing.remove_neighbour(on, address);
                const auto state = states.at(below(states.size()));
                return routing.set_neighbour(on, address,
                                             {MacAddress{{2, 1, 0, 0, 0, address.bytes[3]}}, state, false});
            }
            case 2:
                (void)routing.settle(1 + below(4));
                return;
            default:
                return change_route();
        }
    }
    /// For each prefix that the RIB has: where packets should go, by what sets resolve to now.
    void check() {
        for (int i = 0; i < 12; i++) {
            const auto which = prefix(("10." + std::to_string(i) + ".0.0/16").c_str());
            const auto best = routing.rib().best(which);
            ASSERT_EQ(image.find(which).has_value(), best.has_value()) << which.to_string();
            if (!best) continue;
            std::set<std::pair<InterfaceId, int>> wanted;
            std::set<std::pair<InterfaceId, int>> failed;
            for (const auto& hop : routing.next_hop_sets().hops_of(best->next_hops)) {
                const Neighbour* known = routing.adjacencies().neighbour({hop.interface, *hop.via});
                const bool dead = known && known->state == NeighbourState::failed;
                (dead ? failed : wanted)
                    .emplace(hop.interface, known && known->usable() ? hop.via->bytes[3] : 0);
            }
            if (wanted.empty()) wanted = failed;
            std::set<std::pair<InterfaceId, int>> met;
            for (uint32_t hash = 0; hash < 512; hash++) {
                const auto adjacency = at(("10." + std::to_string(i) + ".1.1").c_str(), hash << 23);
                met.emplace(adjacency.interface, adjacency.dst_mac[5]);
            }
            ASSERT_EQ(met, wanted) << which.to_string();
        }
    }

    std::mt19937 random_{GetParam()};
};

TEST_P(RandomFailures, end_where_the_state_says) {
    const auto usage = image.usage();
    int turns = 0;
    routing.leave_work([&] { turns++; });
    for (int round = 0; round < 400; round++) {
        for (uint32_t i = below(30); i > 0; i--)
            change_something();
        if (HasFatalFailure()) return;
        while (!routing.settle(1 + below(5))) {
        }
        ASSERT_NO_FATAL_FAILURE(check()) << "round " << round;
        EXPECT_TRUE(refused.empty());
    }
    EXPECT_GT(turns, 100);
    for (int i = 0; i < 12; i++)
        for (const auto source : {RouteSource::config, RouteSource::kernel})
            ASSERT_TRUE(routing.erase_route(prefix(("10." + std::to_string(i) + ".0.0/16").c_str()), source));
    for (const auto on : {lan, wan}) {
        routing.set_link(on, link(10U + on));
        for (const char* last : {"10", "11", "12"})
            routing.remove_neighbour(
                on, ip((std::string(on == lan ? "192.0.2." : "198.51.100.") + last).c_str()));
    }
    ASSERT_TRUE(routing.settle(1000));
    EXPECT_EQ(image.usage().groups, usage.groups);
    EXPECT_EQ(image.usage().adjacencies, usage.adjacencies);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFailures, testing::Range(1U, 1 + pktpit::test::rounds_of(16U)));

}  // namespace
}  // namespace pktpit::router
