// SPDX-License-Identifier: BSD-3-Clause
// Random routes inside each other, of which links fail: what the RIB says beforehand of where packets would
// go without their next hops is where they go with the failure, before any prefix is touched.
#include <map>
#include <random>

#include "tests/sanitized.h"
#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class CoveringRoutes : public RoutingTest, public testing::WithParamInterface<unsigned> {
  protected:
    CoveringRoutes() {
        EXPECT_EQ(routing.add_interface("dmz", 3, {}, 0x8100).value(), dmz);
        routing.set_link(dmz, link(13));
        routing.add_address(dmz, address("203.0.113.1/24"), {});
        for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/12", "10.0.0.0/14"})
            prefixes_.push_back(prefix(text));
        for (int i = 0; i < 4; i++) {
            const std::string net = "10." + std::to_string(i);
            for (const char* rest : {".0.0/16", ".0.0/20", ".0.0/24", ".1.0/24", ".1.128/25", ".1.9/32"})
                prefixes_.push_back(prefix((net + rest).c_str()));
        }
        for (const char* text : {"::/0", "2001:db8:1::/48", "2001:db8:1:1::/64", "2001:db8:1:1::9/128"})
            prefixes_.push_back(prefix(text));
        for (const auto& [on, text] : gateways)
            routing.set_neighbour(on, ip(text), reachable(static_cast<uint8_t>(10 * on + ip(text).bytes[3])));
        routing.set_neighbour(lan, ip("2001:db8::7"), reachable(7));
        routing.set_neighbour(wan, ip("2001:db8:2::7"), reachable(8));
        routing.add_address(wan, address("2001:db8:2::1/64"), {});
    }

    static LinkState link_of(InterfaceId id, bool up = true) { return link(10U + id, up); }
    InterfaceId some_interface() { return static_cast<InterfaceId>(1 + below(3)); }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }

    NextHopSetSpec some_next_hops(Family family) {
        if (below(9) == 0) return {PP_ADJ_UNREACHABLE, {}};
        if (family == Family::ipv6)
            return {PP_ADJ_FORWARD, {{ip(below(2) ? "2001:db8::7" : "2001:db8:2::7"), 0, 1}}};
        const auto hop = [&](size_t i) { return NextHopSpec{ip(gateways[i].second), gateways[i].first, 1}; };
        if (below(5) == 0) return {PP_ADJ_FORWARD, {hop(0), hop(2)}};
        if (below(3) == 0) return {PP_ADJ_FORWARD, {{ip(gateways[1].second), 0, 1}}};
        return {PP_ADJ_FORWARD, {hop(2 * below(2) + below(2))}};
    }

    void change_route() {
        const Prefix& which = prefixes_[below(static_cast<uint32_t>(prefixes_.size()))];
        const auto source = below(4) ? RouteSource::kernel : RouteSource::config;
        if (below(4) == 0) {
            ASSERT_TRUE(routing.erase_route(which, source));
            return;
        }
        const auto spec = some_next_hops(which.address.family);
        ASSERT_TRUE(set_route(which, spec, source, static_cast<uint8_t>(10 + below(3))));
    }

    void settle() {
        for (int i = 0; i < 2; i++)  // the routes have come to rest
            routing.tick({});
        while (!routing.settle(1 + below(5))) {
        }
    }

    /// Kind, interface and neighbour of all flows to the address.
    std::set<std::tuple<int, int, int>> way(const IpAddress& to) const {
        std::set<std::tuple<int, int, int>> met;
        for (uint32_t i = 0; i < 256; i++) {
            const auto adjacency = at(to.to_string().c_str(), i << 24);
            met.emplace(adjacency.kind, adjacency.interface, adjacency.dst_mac[5]);
        }
        return met;
    }
    /// By what the RIB has.
    std::set<std::tuple<int, int, int>> wanted(const IpAddress& to) const {
        const auto best = routing.rib().match(to);
        if (!best) return {{PP_ADJ_INVALID, 0, 0}};
        const NextHopSets& sets = routing.next_hop_sets();
        const pp_adjacency_kind kind = sets.spec_of(best->next_hops).kind;
        if (kind != PP_ADJ_FORWARD) return {{kind, 0, 0}};
        std::set<std::tuple<int, int, int>> met;
        for (const auto& hop : sets.hops_of(best->next_hops))
            met.emplace(PP_ADJ_FORWARD, hop.interface,
                        routing.adjacencies().neighbour({hop.interface, *hop.via})->mac.bytes[5]);
        return met;
    }

    /// What the RIB has in the place of the best next hops to the address: the first others that can be used,
    /// of the longest prefix.
    struct Choice {
        fib::NextHopSetId first = 0;
        fib::NextHopSetId second = 0;
    };
    Choice choice(const IpAddress& to) const {
        Choice found;
        for (int length = static_cast<int>(to.bits()); length >= 0; length--)
            for (const auto& candidate :
                 routing.rib().candidates(Prefix::of(to, static_cast<uint8_t>(length)))) {
                if (!routing.next_hop_sets().usable(candidate.next_hops)) continue;
                if (found.first == 0)
                    found.first = candidate.next_hops;
                else if (found.second == 0 && candidate.next_hops != found.first)
                    found.second = candidate.next_hops;
            }
        return found;
    }

    void fail_a_link() {
        const InterfaceId failing = some_interface();
        std::map<IpAddress, Choice> before;
        for (const auto& each : prefixes_)
            before[each.address] = choice(each.address);
        routing.set_link(failing, link_of(failing, false));
        std::map<IpAddress, std::set<std::tuple<int, int, int>>> at_once;
        for (const auto& each : prefixes_)
            at_once[each.address] = way(each.address);
        const NextHopSets& sets = routing.next_hop_sets();
        std::set<IpAddress> to_be_right;
        for (const auto& [to, known] : before) {
            if (known.first == 0) continue;
            if (sets.usable(known.first) || (known.second != 0 && sets.usable(known.second)))
                to_be_right.insert(to);
            moved_ += !sets.usable(known.first) && to_be_right.contains(to);
        }
        settle();
        for (const auto& each : prefixes_) {
            const auto now = way(each.address);
            ASSERT_EQ(now, wanted(each.address)) << each.address.to_string();
            if (to_be_right.contains(each.address)) {
                ASSERT_EQ(at_once[each.address], now) << each.address.to_string() << " before it was touched";
            }
        }
        if (below(3) != 0) routing.set_link(failing, link_of(failing));
    }

    static constexpr InterfaceId dmz = 3;
    const std::array<std::pair<InterfaceId, const char*>, 4> gateways{
        {{lan, "192.0.2.10"}, {lan, "192.0.2.11"}, {wan, "198.51.100.10"}, {dmz, "203.0.113.10"}}};
    std::vector<Prefix> prefixes_;
    int moved_ = 0;
    std::mt19937 random_{GetParam()};
};

TEST_P(CoveringRoutes, stand_in_where_the_rib_says) {
    const auto usage = image.usage();
    const size_t sets = routing.next_hop_sets().size();
    routing.leave_work([] {});
    for (int round = 0; round < 300; round++) {
        for (uint32_t i = below(20); i > 0; i--) {
            change_route();
            if (below(3) == 0) (void)routing.settle(1 + below(3));
            if (below(12) == 0) {
                const InterfaceId any = some_interface();
                routing.set_link(any, link_of(any, below(3) != 0));
            }
        }
        settle();
        ASSERT_NO_FATAL_FAILURE(fail_a_link()) << "round " << round;
        EXPECT_TRUE(refused.empty());
    }
    EXPECT_GT(moved_, 200) << "or nothing was tried";
    for (const auto on : {lan, wan, dmz})
        routing.set_link(on, link_of(on));
    for (const auto& each : prefixes_)
        for (const auto source : {RouteSource::config, RouteSource::kernel})
            ASSERT_TRUE(routing.erase_route(each, source));
    settle();
    EXPECT_EQ(image.usage().groups, usage.groups);
    EXPECT_EQ(image.usage().adjacencies, usage.adjacencies);
    EXPECT_EQ(routing.next_hop_sets().size(), sets);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoveringRoutes, testing::Range(1U, 1 + pktpit::test::rounds_of(16U)));

}  // namespace
}  // namespace pktpit::router
