// SPDX-License-Identifier: BSD-3-Clause
// Random graphs of routes over routes over links, with links that fail, against a resolver that looks
// everything up afresh for each gateway and keeps nothing. After every change the whole table must be what
// the naive one makes of the same routes: groups, weights, best routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "router/routing/routing.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::router {
namespace {

using fib::RouteSource;
using State = Resolution::State;

constexpr int links = 4;

struct ModelRoute {
    RouteSource source;
    uint8_t preference;
    NextHopSetSpec spec;
};

/// What the routes mean, by the words of router/routing/gateways.h.
class Naive {
  public:
    std::map<Prefix, std::vector<ModelRoute>> routes;  ///< connected ones too
    std::set<InterfaceId> up;
    bool via_default = false;

    struct Answer {
        State state = State::no_route;
        std::map<std::pair<InterfaceId, IpAddress>, double> shares;
        unsigned depth = 0;
        size_t loop_to = none;  ///< place in the path that the loop goes back to
    };
    static constexpr size_t none = SIZE_MAX;

    [[nodiscard]] const Answer& resolve(const IpAddress& gateway) const {
        const auto [known, added] = answers_.try_emplace(gateway);
        std::vector<IpAddress> path;
        if (added) known->second = resolve(gateway, path);
        return known->second;
    }
    void changed() { answers_.clear(); }
    /// Where the route's packets go: empty if it cannot be used.
    [[nodiscard]] std::map<std::pair<InterfaceId, IpAddress>, double> shares_of(
        const NextHopSetSpec& spec) const {
        std::map<std::pair<InterfaceId, IpAddress>, double> shares;
        for (const auto& hop : spec.next_hops) {
            if (hop.is_gateway_alone())
                add(shares, resolve(*hop.via).shares, hop.weight);
            else if (up.contains(hop.interface))
                add(shares, {{{hop.interface, hop.via.value_or(IpAddress{})}, 1.0}}, hop.weight);
        }
        return shares;
    }
    [[nodiscard]] const ModelRoute* best(const Prefix& prefix) const {
        for (const ModelRoute* route : in_order(prefix))
            if (route->spec.kind != PP_ADJ_FORWARD || !shares_of(route->spec).empty()) return route;
        return nullptr;
    }

  private:
    [[nodiscard]] std::vector<const ModelRoute*> in_order(const Prefix& prefix) const {
        std::vector<const ModelRoute*> found;
        if (const auto at = routes.find(prefix); at != routes.end())
            for (const auto& route : at->second)
                found.push_back(&route);
        std::ranges::sort(found, [](const ModelRoute* a, const ModelRoute* b) {
            return std::pair(a->preference, a->source) < std::pair(b->preference, b->source);
        });
        return found;
    }
    template <class Shares>
    static void add(Shares& into, const Shares& shares, double weight) {
        double all = 0;
        for (const auto& [hop, share] : shares)
            all += share;
        for (const auto& [hop, share] : shares)
            into[hop] += weight * share / all;
    }

    Answer resolve(const IpAddress& gateway, std::vector<IpAddress>& path) const {
        if (const auto at = std::ranges::find(path, gateway); at != path.end())
            return {State::loop, {}, 0, static_cast<size_t>(at - path.begin())};
        const size_t here = path.size();
        path.push_back(gateway);
        Answer answer = follow(gateway, path, here);
        path.pop_back();
        // The gateway that closes the loop is the last that belongs to it.
        if (answer.loop_to == here) answer.loop_to = none;
        return answer;
    }

    Answer follow(const IpAddress& gateway, std::vector<IpAddress>& path, size_t here) const {
        bool any = false;
        for (int length = 32; length >= 0; length--) {
            for (const ModelRoute* route : in_order(Prefix::of(gateway, static_cast<unsigned>(length)))) {
                if (length == 0 && !via_default)
                    return {any ? State::unusable : State::only_default, {}, 0, none};
                any = true;
                if (route->spec.kind == PP_ADJ_HOST || route->spec.kind == PP_ADJ_BROADCAST)
                    return {State::own_address, {}, 0, none};
                if (route->spec.kind != PP_ADJ_FORWARD) return {State::discards, {}, 0, none};
                Answer answer{State::resolved, {}, 0, none};
                for (const auto& hop : route->spec.next_hops) {
                    if (!hop.is_gateway_alone()) {
                        if (!up.contains(hop.interface)) continue;
                        add(answer.shares, {{{hop.interface, hop.via.value_or(gateway)}, 1.0}}, hop.weight);
                        if (hop.via) answer.depth = std::max(answer.depth, 1U);
                        continue;
                    }
                    const Answer below = resolve(*hop.via, path);
                    if (below.loop_to != none && below.loop_to <= here)
                        return {State::loop, {}, 0, below.loop_to};
                    if (below.state != State::resolved) continue;
                    add(answer.shares, below.shares, hop.weight);
                    answer.depth = std::max(answer.depth, below.depth + 1);
                }
                if (answer.shares.empty()) continue;
                if (answer.depth > deepest_recursion) return {State::too_deep, {}, 0, none};
                return answer;
            }
        }
        return {any ? State::unusable : State::no_route, {}, 0, none};
    }

    /// Whole answers since the last change, to ask for each gateway once. Never used on the way to another.
    mutable std::map<IpAddress, Answer> answers_;
};

class RandomGateways : public testing::TestWithParam<uint32_t> {
  protected:
    RandomGateways() : random_(GetParam()) {
        for (InterfaceId id = 1; id <= links; id++) {
            EXPECT_EQ(routing_.add_interface("eth" + std::to_string(id), id, {}, 0x8100).value(), id);
            set_up(id, true);
            const InterfaceAddress own{IpAddress::v4(0xc0000001u + (uint32_t{id} << 8)), 24};
            routing_.add_address(id, own, {});
            connected(own.net(), {PP_ADJ_FORWARD, {{std::nullopt, id, 1}}});
            connected(Prefix::of(own.address, 32), {PP_ADJ_HOST, {}});
            for (const IpAddress& end : {own.net().address, own.net().last()})
                connected(Prefix::of(end, 32), {PP_ADJ_BROADCAST, {{std::nullopt, id, 1}}});
        }
    }
    void connected(const Prefix& prefix, NextHopSetSpec spec) {
        model_.routes[prefix].push_back({RouteSource::connected, 0, std::move(spec)});
    }
    void set_up(InterfaceId id, bool up) {
        routing_.set_link(id, {id + 10U, up, MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(id)}}, 1500});
        if (up)
            model_.up.insert(id);
        else
            model_.up.erase(id);
    }
    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }

    /// Few, so that routes cover gateways and each other; sometimes the default route.
    Prefix prefix() {
        if (below(16) == 0) return Prefix::of(IpAddress::v4(0U), 0);
        return Prefix::of(inside(), 6 + 2 * below(3) + (below(4) == 0 ? 22 - 2 * below(3) : 0));
    }
    IpAddress inside() { return IpAddress::v4((1 + below(12)) << 26 | below(4) << 22 | below(2) << 1); }
    IpAddress gateway() {
        return below(3) == 0 ? IpAddress::v4(0xc0000000u + ((1 + below(links)) << 8) + below(5) * 51)
                             : inside();
    }
    NextHopSetSpec spec() {
        if (below(14) == 0) return {below(2) ? PP_ADJ_BLACKHOLE : PP_ADJ_PROHIBIT, {}};
        NextHopSetSpec spec;
        std::set<NextHopSpec> hops;
        for (uint32_t i = 0, count = 1 + below(3); i < count; i++) {
            NextHopSpec hop{gateway(), 0, static_cast<uint16_t>(1 + below(3))};
            if (below(8) == 0) hop.interface = static_cast<InterfaceId>(1 + below(links));
            if (hop.interface && below(3) == 0) hop.via.reset();
            if (hops.insert({hop.via, hop.interface, 1}).second) spec.next_hops.push_back(hop);
        }
        return spec;
    }

    void change() {
        const uint32_t draw = below(20);
        if (draw == 0) {
            const auto id = static_cast<InterfaceId>(1 + below(links));
            set_up(id, !model_.up.contains(id));
        } else if (draw == 1) {
            model_.via_default = !model_.via_default;
            routing_.set_resolve_via_default(model_.via_default);
        } else if (draw < 10) {
            const Prefix gone =
                below(3) || used_.empty() ? prefix() : used_[below(static_cast<uint32_t>(used_.size()))];
            const RouteSource source = below(2) ? RouteSource::config : RouteSource::kernel;
            const bool was_there =
                std::erase_if(model_.routes[gone], [&](const auto& r) { return r.source == source; }) > 0;
            ASSERT_EQ(routing_.erase_route(gone, source).value(), was_there);
        } else {
            const ModelRoute route{below(2) ? RouteSource::config : RouteSource::kernel,
                                   static_cast<uint8_t>(1 + below(3)), spec()};
            const Prefix where = prefix();
            used_.push_back(where);
            std::erase_if(model_.routes[where], [&](const auto& r) { return r.source == route.source; });
            model_.routes[where].push_back(route);
            const auto set = routing_.acquire_next_hops(route.spec).value();
            ASSERT_TRUE(routing_.set_route({where, route.source, route.preference, 0, set}));
            routing_.release_next_hops(set);
        }
    }

    void compare(int step) {
        for (const auto& [prefix, routes] : model_.routes) {
            for (const ModelRoute& route : routes) {
                for (const auto& hop : route.spec.next_hops) {
                    if (!hop.is_gateway_alone()) continue;
                    const auto expected = model_.resolve(*hop.via);
                    const Resolution* found = routing_.next_hop_sets().resolution_of(*hop.via);
                    ASSERT_NE(found, nullptr);
                    ASSERT_EQ(static_cast<int>(found->state), static_cast<int>(expected.state))
                        << "step " << step << ", gateway " << hop.via->to_string();
                    ASSERT_EQ(found->depth, expected.depth) << hop.via->to_string();
                    states_seen_.insert(found->state);
                    deepest_ = std::max(deepest_, found->depth);
                }
            }
            const ModelRoute* best = model_.best(prefix);
            const auto found = routing_.rib().best(prefix);
            ASSERT_EQ(found.has_value(), best != nullptr) << "step " << step << ", " << prefix.to_string();
            ASSERT_EQ(image_.find(prefix).has_value(), best != nullptr);
            if (!best) continue;
            ASSERT_EQ(found->source, best->source) << "step " << step << ", " << prefix.to_string();
            if (routing_.rib().candidates(prefix).size() == 1) {
                ASSERT_EQ(routing_.next_hop_sets().first_of(*image_.find(prefix)), found->next_hops);
            }
            if (best->spec.kind == PP_ADJ_FORWARD)
                compare_shares(model_.shares_of(best->spec),
                               routing_.next_hop_sets().hops_of(found->next_hops), *image_.find(prefix));
            if (HasFailure()) return;
        }
    }
    void compare_shares(const std::map<std::pair<InterfaceId, IpAddress>, double>& expected,
                        const std::vector<ResolvedHop>& hops, fib::GroupId group) const {
        double wanted = 0;
        double all = 0;
        for (const auto& [hop, share] : expected)
            wanted += share;
        for (const auto& hop : hops)
            all += hop.weight;
        ASSERT_EQ(hops.size(), expected.size());
        for (const auto& hop : hops) {
            const auto share = expected.find({hop.interface, hop.via.value_or(IpAddress{})});
            ASSERT_NE(share, expected.end());
            // Each level rounds to weights of 16 bits.
            ASSERT_NEAR(hop.weight / all, share->second / wanted, 1e-4);
        }
        // And the image's group has exactly these members.
        const std::byte* base = image_.memory().data();
        const auto* g = &image_.geometry();
        uint32_t first = 0;
        const uint32_t bits = pp_fib_group_bits(base, g, group, &first);
        std::set<std::pair<InterfaceId, IpAddress>> members;
        for (uint32_t i = 0; i < 1u << bits; i++) {
            const uint32_t id = bits ? pp_fib_bucket(base, g, first, bits, i << (32 - bits)) : first;
            const auto key = routing_.adjacencies().key_of(id);
            ASSERT_TRUE(key);
            members.emplace(key->interface, key->gateway.value_or(IpAddress{}));
        }
        ASSERT_EQ(members.size(), expected.size());
        for (const auto& [hop, share] : expected)
            ASSERT_TRUE(members.contains(hop));
    }

    std::mt19937 random_;
    Naive model_;
    std::vector<Prefix> used_;
    std::set<State> states_seen_;
    unsigned deepest_ = 0;
    pktpit::test::TestImage memory_{pktpit::test::TestImage::small({.groups = 1024,
                                                                    .buckets = 1 << 20,
                                                                    .adjacencies = 1024,
                                                                    .tables = 2,
                                                                    .roots = 0,
                                                                    .node_bytes = 2 << 20})};
    fib::FibImage& image_ = *memory_;
    Routing routing_{image_, [](InterfaceId, const IpAddress&) {},
                     [](const Error& error) { ADD_FAILURE() << error.to_string(); }};
};

TEST_P(RandomGateways, AgreeWithTheNaiveResolver) {
    for (int step = 0; step < pktpit::test::rounds_of(500); step++) {
        change();
        model_.changed();
        if (HasFailure()) return;
        compare(step);
        if (HasFailure()) return;
    }
    for (const State state : {State::resolved, State::no_route, State::only_default, State::discards,
                              State::own_address, State::loop, State::unusable})
        EXPECT_TRUE(states_seen_.contains(state)) << "never seen: " << static_cast<int>(state);
    EXPECT_GE(deepest_, 4U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGateways, testing::Range(1u, 5u));

}  // namespace
}  // namespace pktpit::router
