// SPDX-License-Identifier: BSD-3-Clause
// What is followed is what a kernel has that does not tell all: by rule where one knows, else by a
// comparison, which takes nothing that events change meanwhile for a difference.
#include <gtest/gtest.h>

#include <set>

#include "router/kernel/kernel_state.h"
#include "tests/unit/kernel/recorder.h"
#include "tests/unit/kernel/silent_kernel.h"

namespace pktpit::router {
namespace {

using test::SilentKernel;

/// A follower of a SilentKernel. A comparison goes as NetlinkKernel's does: what is judged was received one
/// step before, when the kernel made what follows it.
class Follower {
  public:
    explicit Follower(uint32_t seed) : kernel(seed) {
        for (const auto& event : kernel.dump())
            state.consume(event);
        kernel.events.clear();
        settle();
    }
    void settle() {
        Turn turn = Turn::of_steps(1 + kernel.below(30));
        while (state.settle(turn))
            turn = Turn::of_steps(1 + kernel.below(30));
    }
    /// All that has been told, or some of it.
    void follow(bool all = true) {
        for (size_t left = all ? kernel.events.size() : kernel.below(4); left > 0 && !kernel.events.empty();
             --left) {
            state.consume(kernel.events.front());
            kernel.events.pop_front();
        }
        if (all || kernel.below(2) == 0) settle();
    }
    /// `between` the steps something may happen.
    template <class Between>
    ComparisonResult compare(Between between) {
        const size_t before = listener.comparisons.size();
        SilentKernel::Cursor at;
        state.consume(ComparisonBegin{});
        for (const auto kind : {ComparedKind::nexthops, ComparedKind::ipv4, ComparedKind::ipv6}) {
            at = {kind, 0, std::nullopt};
            auto received = kernel.piece(at);
            auto made = kernel.piece(at);
            while (!received.empty()) {
                between();
                follow();
                for (const auto& object : received)
                    state.consume(object);
                state.consume(ComparisonPiece{});
                received = std::exchange(made, kernel.piece(at));
            }
            between();
            follow();
            state.consume(ComparisonPiece{true});
            state.consume(ComparedAll{kind, true});
        }
        state.consume(ComparisonEnd{});
        follow();
        EXPECT_EQ(listener.comparisons.size(), before + 1);
        return listener.comparisons.back();
    }
    ComparisonResult compare() {
        return compare([] {});
    }
    [[nodiscard]] std::map<Prefix, KernelRoute> truth() const {
        Recorder nobody;
        KernelState fresh(RouteFilter{true, RT_TABLE_MAIN, {}}, nobody);
        for (const auto& event : kernel.dump())
            fresh.consume(event);
        fresh.settle();
        return routes_in(fresh.routes());
    }
    void expect_in_step() {
        const auto kernels = truth();
        EXPECT_EQ(routes_in(state.routes()), kernels);
        EXPECT_EQ(listener.routes, kernels);
    }

    SilentKernel kernel;
    Recorder listener;
    KernelState state{RouteFilter{true, RT_TABLE_MAIN, {}}, listener};
};

class Comparison : public testing::TestWithParam<uint32_t> {};

TEST_P(Comparison, what_follows_by_rule_needs_none) {
    Follower follower(GetParam());
    for (unsigned round = 0; round < 60 && !HasFailure(); ++round) {
        for (unsigned step = 0; step < 20; ++step) {
            follower.kernel.change();
            follower.follow(false);
        }
        follower.follow();
        follower.expect_in_step();
    }
    EXPECT_GT(follower.truth().size(), 5U);
}

TEST_P(Comparison, what_is_told_meanwhile_is_no_difference) {
    Follower follower(GetParam());
    for (unsigned round = 0; round < 30 && !HasFailure(); ++round) {
        const auto result = follower.compare([&] {
            for (unsigned step = follower.kernel.below(4); step > 0; --step) {
                follower.kernel.change();
                follower.follow(false);
            }
        });
        EXPECT_EQ(result.differences(), 0U) << result.first;
        EXPECT_TRUE(result.complete);
        follower.expect_in_step();
    }
}

TEST_P(Comparison, finds_each_that_has_changed_without_a_word) {
    Follower follower(GetParam());
    uint64_t found = 0;
    for (unsigned round = 0; round < 40 && !HasFailure(); ++round) {
        for (unsigned step = 0; step < 20; ++step)
            follower.kernel.change();
        follower.follow();
        const auto before = follower.truth();
        std::set<Prefix> silent;
        for (unsigned step = follower.kernel.below(4); step > 0; --step)
            silent.insert(follower.kernel.change_silently());
        const auto now = follower.truth();
        const auto result = follower.compare();
        // Of two routes of a prefix the one that does not count may have changed, or back and forth.
        EXPECT_LE(result.prefixes, silent.size());
        uint64_t seen = 0;
        for (const Prefix& prefix : silent)
            seen += before.contains(prefix) != now.contains(prefix) ||
                    (before.contains(prefix) && before.at(prefix) != now.at(prefix));
        EXPECT_GE(result.prefixes, seen);
        EXPECT_EQ(result.first.empty(), result.differences() == 0);
        found += result.prefixes;
        follower.expect_in_step();
        EXPECT_EQ(follower.compare().differences(), 0U) << "all is right by now";
    }
    EXPECT_GT(found, 20U);
}

TEST_P(Comparison, ends_in_the_kernels_state_whatever_happens_meanwhile) {
    Follower follower(GetParam());
    for (unsigned round = 0; round < 30 && !HasFailure(); ++round) {
        (void)follower.compare([&] {
            for (unsigned step = follower.kernel.below(3); step > 0; --step)
                follower.kernel.change();
            if (follower.kernel.below(3) == 0) follower.kernel.change_silently();
            follower.follow(false);
        });
        (void)follower.compare();
        follower.expect_in_step();
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Comparison, testing::Range(1U, 13U));

RouteEvent blackhole(unsigned number) {
    RouteEvent route;
    route.prefix = Prefix::of(IpAddress::v4(0x64000000 + (number << 8)), 24);
    route.table = RT_TABLE_MAIN;
    route.protocol = RTPROT_STATIC;
    route.type = RTN_BLACKHOLE;
    route.creates = true;
    return route;
}

class ComparedState : public testing::Test {
  protected:
    ComparedState() {
        for (const KernelEvent& event : {KernelEvent{ResyncBegin{}}, KernelEvent{ResyncEnd{}}})
            state.consume(event);
        state.settle();
    }
    void all_of(ComparedKind kind, bool complete = true) {
        state.consume(ComparisonPiece{true});
        state.consume(ComparedAll{kind, complete});
    }

    Recorder listener;
    KernelState state{RouteFilter{true, RT_TABLE_MAIN, {}}, listener};
};

TEST_F(ComparedState, what_an_incomplete_dump_has_left_out_stays) {
    state.consume(blackhole(1));
    state.consume(ComparisonBegin{});
    all_of(ComparedKind::ipv4, false);
    all_of(ComparedKind::ipv6);
    state.consume(ComparisonEnd{});
    state.settle();
    EXPECT_EQ(listener.routes.size(), 1U);
    ASSERT_EQ(listener.comparisons.size(), 1U);
    EXPECT_FALSE(listener.comparisons[0].complete);
}

TEST_F(ComparedState, missing_ones_go_in_turns) {
    constexpr unsigned many = 300;
    for (unsigned number = 0; number < many; ++number)
        state.consume(blackhole(number));
    state.consume(ComparisonBegin{});
    all_of(ComparedKind::ipv4);
    state.consume(ComparisonEnd{});
    for (unsigned gone = 100; gone <= 200; gone += 100) {
        Turn turn = Turn::of_steps(100);
        EXPECT_TRUE(state.settle(turn));
        EXPECT_EQ(listener.routes.size(), many - gone);
    }
    // One that comes meanwhile stays.
    state.consume(blackhole(many - 1));
    state.settle();
    EXPECT_EQ(listener.routes.size(), 1U);
    ASSERT_EQ(listener.comparisons.size(), 1U);
    EXPECT_EQ(listener.comparisons[0].prefixes, many - 1);
    EXPECT_EQ(listener.comparisons[0].first, "100.0.0.0/24: the kernel has it no more");
}

TEST_F(ComparedState, a_resync_breaks_it_off) {
    state.consume(blackhole(1));
    state.consume(ComparisonBegin{});
    state.consume(ResyncBegin{});
    all_of(ComparedKind::ipv4);
    state.consume(ComparisonEnd{});
    state.consume(ResyncEnd{false});
    state.settle();
    EXPECT_EQ(listener.routes.size(), 1U);
    EXPECT_TRUE(listener.comparisons.empty());
}

// A table that is being written anew is not compared, and costs no memory for what has changed.
TEST_F(ComparedState, gives_up_where_too_much_changes) {
    state.consume(ComparisonBegin{});
    for (unsigned number = 0; number <= RouteComparison::most_touched; ++number)
        state.consume(blackhole(number));
    state.consume(ComparisonPiece{});
    state.consume(Compared{blackhole(100'000)});
    all_of(ComparedKind::ipv4);
    state.consume(ComparisonEnd{});
    state.settle();
    EXPECT_EQ(listener.routes.size(), RouteComparison::most_touched + 1);
    ASSERT_EQ(listener.comparisons.size(), 1U);
    EXPECT_FALSE(listener.comparisons[0].complete);
    EXPECT_EQ(listener.comparisons[0].differences(), 0U);
}

// ignore_routes_with_linkdown: nothing is told when the carrier is back, and whoever follows knows the link.
TEST_F(ComparedState, what_a_dump_calls_dead_without_a_carrier_is_as_it_was) {
    LinkEvent eth;
    eth.ifindex = 2;
    eth.name = "eth2";
    eth.admin_up = true;
    RouteEvent route = blackhole(1);
    route.type = RTN_UNICAST;
    route.next_hops = {{2, IpAddress::parse("10.0.0.2").value(), 1, false}};
    for (const bool carrier : {false, true}) {
        eth.running = eth.up = carrier;
        state.consume(eth);
        route.next_hops[0].dead = route.dumped = false;
        state.consume(route);
        state.consume(ComparisonBegin{});
        route.next_hops[0].dead = route.dumped = true;
        for (const bool piece : {true, false})  // what events have touched is two pieces old
            state.consume(ComparisonPiece{piece});
        state.consume(Compared{route});
        all_of(ComparedKind::ipv4);
        state.consume(ComparisonEnd{});
        state.settle();
        EXPECT_EQ(listener.comparisons.back().differences(), carrier ? 1U : 0U);
        EXPECT_EQ(listener.routes.size(), carrier ? 0U : 1U);
    }
}

// Linux leaves out of its dumps what stands between the next hops of another route of that metric.
TEST_F(ComparedState, what_linux_leaves_out_of_a_dump_stays) {
    RouteEvent several = blackhole(0);
    several.prefix = *Prefix::parse("2001:db8:1::/48");
    several.type = RTN_UNICAST;
    several.next_hops = {{2, IpAddress::parse("fe80::1").value(), 1, false},
                         {2, IpAddress::parse("fe80::2").value(), 1, false}};
    RouteEvent one = several;
    one.next_hops = {{3, std::nullopt, 1, false}};
    one.appends = true;
    state.consume(several);
    state.consume(one);
    state.consume(ComparisonBegin{});
    several.dumped = true;
    state.consume(Compared{several});
    all_of(ComparedKind::ipv6);
    state.consume(ComparisonEnd{});
    state.settle();
    ASSERT_EQ(listener.comparisons.size(), 1U);
    EXPECT_EQ(listener.comparisons[0].differences(), 0U);
    several.removed = true;
    several.dumped = false;
    state.consume(several);
    state.settle();
    EXPECT_EQ(listener.routes.at(several.prefix).next_hops.front().ifindex, 3U);
}

}  // namespace
}  // namespace pktpit::router
