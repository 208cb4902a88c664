// SPDX-License-Identifier: BSD-3-Clause
// Routes of a real kernel: after each kind of change, what was followed is what a dump says.
#include <linux/rtnetlink.h>

#include <sstream>

#include "tests/system/network_namespace.h"

namespace pktpit::router {
namespace {

class SystemRoutes : public NetworkNamespace {};

TEST_F(SystemRoutes, DumpSeesRoutesOfTheTableOnly) {
    run("ip route add 192.0.2.0/24 via 10.0.0.2 metric 7");
    run("ip route add 198.51.100.0/24 via 10.0.0.2 table 100");
    run("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::2");
    run("ip route add blackhole 203.0.113.0/24");
    run("ip route add 203.0.113.128/25 tos 0x10 via 10.0.0.2");
    run("ip route add 203.0.114.0/24 encap ip id 1 dst 10.0.0.3 via 10.0.0.2 2>/dev/null || true");
    start();
    const auto route = state->routes().find(prefix("192.0.2.0/24"));
    ASSERT_TRUE(route);
    EXPECT_EQ(route->metric, 7U);
    EXPECT_EQ(route->protocol, RTPROT_BOOT);
    EXPECT_EQ(route->next_hops, (std::vector<KernelNextHop>{{ifindex("v0"), address("10.0.0.2"), 1, false}}));
    EXPECT_FALSE(state->routes().find(prefix("198.51.100.0/24")));
    EXPECT_FALSE(state->routes().find(prefix("127.0.0.0/8"))) << "a route of table local";
    EXPECT_FALSE(state->routes().find(prefix("203.0.113.128/25")))
        << "a TOS route must not catch other packets";
    ASSERT_TRUE(state->routes().find(prefix("203.0.113.0/24")));
    EXPECT_EQ(state->routes().find(prefix("203.0.113.0/24"))->type, RTN_BLACKHOLE);
    ASSERT_TRUE(state->routes().find(prefix("2001:db8:1::/48")));
    EXPECT_EQ(state->routes().find(prefix("10.0.0.0/24"))->protocol, RTPROT_KERNEL);
    EXPECT_EQ(recorder.routes, routes_in(state->routes()));
}

TEST_F(SystemRoutes, OtherTableByFilter) {
    run("ip route add 198.51.100.0/24 via 10.0.0.2 table 1000");
    NetlinkOptions options = with_routes();
    options.routes.table = 1000;
    start(options);
    EXPECT_EQ(recorder.routes.size(), 1U);
    run("ip -6 route add 2001:db8:7::/48 via 2001:db8:a::2 table 1000");
    run("ip -6 route add 2001:db8:8::/48 via 2001:db8:a::2");
    catch_up();
    EXPECT_EQ(recorder.routes.size(), 2U);
    EXPECT_TRUE(recorder.routes.contains(prefix("2001:db8:7::/48")));
}

TEST_F(SystemRoutes, NoRoutesWhenNotEnabled) {
    start(NetlinkOptions{});
    run("ip route add 192.0.2.0/24 via 10.0.0.2");
    catch_up();
    EXPECT_TRUE(recorder.routes.empty());
}

TEST_F(SystemRoutes, FollowsIpv4) {
    start();
    run_in_step("ip route add 192.0.2.0/24 via 10.0.0.2");
    run("ip route append 192.0.2.0/24 via 10.0.0.3");
    run_in_step("ip route prepend 192.0.2.0/24 via 10.0.0.4");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("10.0.0.4"));
    run_in_step("ip route replace 192.0.2.0/24 via 10.0.0.5");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("10.0.0.5"));
    run_in_step("ip route del 192.0.2.0/24 via 10.0.0.5");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("10.0.0.2"));
    run_in_step("ip route add 192.0.2.0/24 via 10.1.0.9 metric 50");
    run("ip route del 192.0.2.0/24 via 10.0.0.2");
    run_in_step("ip route del 192.0.2.0/24 via 10.0.0.3");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].metric, 50U);
    run_in_step("ip route replace unreachable 192.0.2.0/24 metric 50");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].type, RTN_UNREACHABLE);
    run_in_step("ip route del unreachable 192.0.2.0/24 metric 50");
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.2.0/24")));
}

TEST_F(SystemRoutes, FollowsIpv4MultipathAndIpv6NextHop) {
    start();
    run_in_step("ip route add 192.0.2.0/24 nexthop via 10.0.0.2 weight 3 nexthop via 10.1.0.2");
    const auto& hops = recorder.routes[prefix("192.0.2.0/24")].next_hops;
    ASSERT_EQ(hops.size(), 2U);
    EXPECT_EQ(hops[0], (KernelNextHop{ifindex("v0"), address("10.0.0.2"), 3, false}));
    run_in_step("ip route replace 192.0.2.0/24 via inet6 2001:db8:a::5 dev v0");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("2001:db8:a::5"));
    run_in_step("ip route replace 192.0.2.0/24 nexthop via inet6 2001:db8:a::6 dev v0 nexthop via 10.1.0.2");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("2001:db8:a::6"));
    run_in_step("ip route del 192.0.2.0/24");
}

TEST_F(SystemRoutes, FollowsIpv6) {
    start();
    const Prefix p = prefix("2001:db8:1::/48");
    run_in_step("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::2");
    run("ip -6 route append 2001:db8:1::/48 via 2001:db8:a::3");
    run_in_step("ip -6 route prepend 2001:db8:1::/48 via 2001:db8:b::3");
    EXPECT_EQ(recorder.routes[p].next_hops.size(), 3U);
    run("ip -6 route append 2001:db8:1::/48 dev v0");
    run_in_step("ip -6 route del 2001:db8:1::/48 via 2001:db8:a::3");
    EXPECT_EQ(recorder.routes[p].next_hops.size(), 2U);
    run_in_step("ip -6 route replace 2001:db8:1::/48 via 2001:db8:a::5");
    EXPECT_EQ(recorder.routes[p].next_hops.size(), 1U);
    run_in_step(
        "ip -6 route replace 2001:db8:1::/48 nexthop via 2001:db8:a::6 weight 2 nexthop via 2001:db8:b::6");
    EXPECT_EQ(recorder.routes[p].next_hops[0].weight, 2U);
    run_in_step("ip -6 route replace 2001:db8:1::/48 dev w0");
    run_in_step("ip -6 route del 2001:db8:1::/48");
    EXPECT_FALSE(recorder.routes[p].next_hops[0].gateway);
    run_in_step("ip -6 route del 2001:db8:1::/48 dev w0");
    EXPECT_FALSE(recorder.routes.contains(p));
    run("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::2 metric 5");
    run_in_step("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::3 metric 4");
    EXPECT_EQ(recorder.routes[p].metric, 4U);
    run_in_step("ip -6 route replace unreachable 2001:db8:1::/48 metric 4");
    run_in_step("ip -6 route del 2001:db8:1::/48 metric 4");
    EXPECT_EQ(recorder.routes[p].metric, 5U);
}

class NexthopObjects : public SystemRoutes, public ::testing::WithParamInterface<int> {};

TEST_P(NexthopObjects, AreFollowed) {
    run("echo " + std::to_string(GetParam()) + " > /proc/sys/net/ipv4/nexthop_compat_mode");
    run("ip nexthop add id 9 via 10.0.0.99 dev v0");
    run("ip route add 192.0.9.0/24 nhid 9");
    start();
    run("ip nexthop add id 1 via 10.0.0.2 dev v0");
    run("ip nexthop add id 2 via 10.1.0.2 dev w0");
    run("ip nexthop add id 3 group 1,3/2");
    run("ip nexthop add id 4 via 2001:db8:a::2 dev v0");
    run("ip nexthop add id 5 via 2001:db8:b::2 dev w0");
    run("ip nexthop add id 6 group 4/5,3");
    run("ip nexthop add id 7 blackhole");
    run("ip route add 192.0.2.0/24 nhid 3");
    run("ip route add 192.0.3.0/24 nhid 4");
    run("ip route add 192.0.4.0/24 nhid 7");
    run("ip route add 192.0.5.0/24 nhid 2");
    run("ip -6 route add 2001:db8:1::/48 nhid 6");
    run_in_step("ip -6 route add 2001:db8:2::/48 nhid 5");
    ASSERT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops.size(), 2U);
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].weight, 3U);
    EXPECT_EQ(recorder.routes[prefix("192.0.4.0/24")].type, RTN_BLACKHOLE);
    EXPECT_EQ(recorder.routes[prefix("192.0.9.0/24")].next_hops.size(), 1U);

    run_in_step("ip nexthop replace id 1 via 10.0.0.7 dev v0");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops[0].gateway, address("10.0.0.7"));
    run_in_step("ip nexthop replace id 3 group 2");
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops.size(), 1U);
    run_in_step("ip nexthop replace id 3 group 1/2,4");
    run_in_step("ip nexthop del id 5");  // shrinks the group, and takes 2001:db8:2::/48 along
    EXPECT_EQ(recorder.routes[prefix("2001:db8:1::/48")].next_hops.size(), 1U);
    EXPECT_FALSE(recorder.routes.contains(prefix("2001:db8:2::/48")));

    run_in_step("ip route replace 192.0.4.0/24 via 10.0.0.3");
    EXPECT_EQ(recorder.routes[prefix("192.0.4.0/24")].type, RTN_UNICAST);
    run("ip link set w1 down");  // w0 loses its carrier: the kernel drops its nexthop objects without a word
    catch_up();
    ASSERT_TRUE(wait_until([&] { return !recorder.routes.contains(prefix("192.0.5.0/24")); }));
    expect_in_step();
    EXPECT_EQ(recorder.routes[prefix("192.0.2.0/24")].next_hops.size(), 1U);
    run_in_step("ip link set v0 down");
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.2.0/24")));
    EXPECT_EQ(state->routes().nexthops(), 1U) << "the blackhole";
}

INSTANTIATE_TEST_SUITE_P(CompatMode, NexthopObjects, ::testing::Values(0, 1));

TEST_F(SystemRoutes, VanishWithTheirDevices) {
    start();
    const auto routes = [] {
        run("ip route replace 192.0.2.0/24 via 10.1.0.2");
        run("ip route replace 192.0.3.0/24 nexthop via 10.0.0.2 nexthop via 10.1.0.2");
        run("ip route replace 192.0.4.0/24 via 10.0.0.2");
        run("ip route replace 192.0.5.0/24 nexthop via 10.0.0.2 nexthop via 10.0.0.3");
        run("ip -6 route replace 2001:db8:1::/48 nexthop via 2001:db8:a::2 nexthop via 2001:db8:b::2");
        run("ip -6 route replace 2001:db8:2::/48 via 2001:db8:b::2");
    };
    routes();
    expect_in_step();
    run_in_step("ip link set w0 down");
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.2.0/24")));
    EXPECT_EQ(recorder.routes[prefix("192.0.3.0/24")].next_hops.size(), 1U);
    run_in_step("ip link set w0 up");
    EXPECT_EQ(recorder.routes[prefix("192.0.3.0/24")].next_hops.size(), 2U);
    run("ip addr add 2001:db8:b::1/64 dev w0 nodad");
    routes();
    expect_in_step();
    run_in_step("ip addr del 10.1.0.1/24 dev w0");  // its last one
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.2.0/24")));
    EXPECT_EQ(recorder.routes[prefix("192.0.3.0/24")].next_hops.size(), 1U);
    run_in_step("ip addr add 10.1.0.1/24 dev w0");
    EXPECT_EQ(recorder.routes[prefix("192.0.3.0/24")].next_hops.size(), 2U);
    routes();
    run_in_step("ip link set w1 down");  // carrier only: the routes stay
    EXPECT_TRUE(recorder.routes.contains(prefix("192.0.2.0/24")));
    run_in_step("ip link set w1 up");
    run_in_step("ip link del w0");
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.3.0/24")));
    EXPECT_EQ(recorder.routes[prefix("2001:db8:1::/48")].next_hops.size(), 1U);
}

TEST_F(SystemRoutes, VanishWithTheirSourceAddress) {
    run("ip addr add 10.0.0.77/24 dev v0");
    start();
    run_in_step("ip route add 192.0.2.0/24 via 10.1.0.3 src 10.0.0.77");
    run_in_step("ip addr del 10.0.0.77/24 dev v0");
    EXPECT_FALSE(recorder.routes.contains(prefix("192.0.2.0/24")));
}

TEST_F(SystemRoutes, Ipv6OnesLoseTheirSourceAlone) {
    run("ip addr add 2001:db8:9::1/128 dev lo");
    start();
    for (const char* way : {"blackhole 2001:db8:1::/48", "unreachable 2001:db8:2::/48",
                            "2001:db8:3::/48 via 2001:db8:a::2", "2001:db8:4::/48 dev v0"})
        run_in_step(std::string("ip -6 route add ") + way + " src 2001:db8:9::1");
    run_in_step("ip addr del 2001:db8:9::1/128 dev lo");
    for (const char* number : {"1", "2", "3", "4"})
        run_in_step(std::string("ip -6 route del 2001:db8:") + number + "::/48");
    EXPECT_FALSE(recorder.routes.contains(prefix("2001:db8:1::/48")));
}

/// 5,000 changes in one `ip -batch`: adds, replacements, removals.
std::string changes() {
    std::ostringstream batch;
    const auto name = [](unsigned i) {
        return "100.64." + std::to_string(i / 256) + "." + std::to_string(i % 256) + "/32";
    };
    for (unsigned i = 0; i < 2500; ++i)
        batch << "route add " << name(i) << " via 10.0.0.2\n";
    for (unsigned i = 0; i < 2500; i += 2)
        batch << "route replace " << name(i) << " via 10.1.0.3\n";
    for (unsigned i = 0; i < 2500; i += 2)
        batch << "route del " << name(i + 1) << "\n";
    return batch.str();
}

// rt6_mtu_change(): a device's MTU becomes that of the IPv6 routes by it, of which nothing is told.
TEST_F(SystemRoutes, ComparisonFindsWhatIsNotTold) {
    run("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::2 mtu 1400");
    run("ip -6 route add 2001:db8:2::/48 via 2001:db8:a::2");
    start();
    EXPECT_EQ(compare().differences(), 0U);
    run("ip link set v0 mtu 1300");
    catch_up();
    EXPECT_EQ(recorder.routes[prefix("2001:db8:1::/48")].mtu, 1400U)
        << "it is told by now, and needs no comparison";
    const auto compared = compare();
    EXPECT_EQ(compared.prefixes, 1U);
    EXPECT_EQ(compared.first, "2001:db8:1::/48: the kernel has another");
    EXPECT_TRUE(compared.complete);
    EXPECT_EQ(recorder.routes[prefix("2001:db8:1::/48")].mtu, 1300U);
    expect_in_step();
    EXPECT_EQ(compare().differences(), 0U);
}

TEST_F(SystemRoutes, ComparisonTakesNoLostCarrierForDeath) {
    run("sysctl -qw net.ipv4.conf.all.ignore_routes_with_linkdown=1 "
        "net.ipv6.conf.all.ignore_routes_with_linkdown=1");
    run("ip route add 192.0.2.0/24 via 10.0.0.2");
    run("ip -6 route add 2001:db8:1::/48 via 2001:db8:a::2");
    start();
    for (const char* carrier : {"down", "up"}) {
        run(std::string("ip link set v1 ") + carrier);
        catch_up();
        EXPECT_EQ(compare().differences(), 0U);
        EXPECT_TRUE(recorder.routes.contains(prefix("192.0.2.0/24")));
        EXPECT_TRUE(recorder.routes.contains(prefix("2001:db8:1::/48")));
    }
    expect_in_step();
}

// rt6_ifdown() tells nothing of next hops that die beside others.
TEST_F(SystemRoutes, ComparisonFindsNextHopsWhereIpv6IsOff) {
    run("ip -6 route add 2001:db8:1::/48 nexthop via 2001:db8:a::2 nexthop via 2001:db8:b::2");
    start();
    run("sysctl -qw net.ipv6.conf.v0.disable_ipv6=1");
    catch_up();
    EXPECT_EQ(compare().prefixes, 1U);
    EXPECT_EQ(recorder.routes[prefix("2001:db8:1::/48")].next_hops.size(), 1U);
    expect_in_step();
    run("sysctl -qw net.ipv6.conf.v0.disable_ipv6=0");
    EXPECT_TRUE(wait_until([&] { return recorder.routes[prefix("2001:db8:1::/48")].next_hops.size() == 2; }))
        << "its link-local address enlivens them";
    expect_in_step();
}

// Routes come and go while it is read, in more than one piece; none of them is a difference.
TEST_F(SystemRoutes, ComparisonBesideChanges) {
    std::ostringstream routes;
    for (unsigned i = 0; i < 20'000; ++i)
        routes << "route add 100.80." << i / 256 << '.' << i % 256 << "/32 via 10.0.0.2\n";
    run(Batch(routes.str()).command());
    start();
    const Batch batch(changes());
    FILE* changing = popen(batch.command().c_str(), "r");
    ASSERT_NE(changing, nullptr);
    const auto compared = compare();
    EXPECT_EQ(pclose(changing), 0);
    EXPECT_EQ(compared.differences(), 0U) << compared.first;
    expect_in_step();
    EXPECT_EQ(compare().differences(), 0U);
}

TEST_F(SystemRoutes, OverflowEndsInTheKernelsState) {
    start(with_routes(4096));
    run("ip route add 192.0.2.0/24 via 10.0.0.2");
    ASSERT_TRUE(wait_until([&] { return recorder.routes.contains(prefix("192.0.2.0/24")); }));
    run("ip route add 100.64.0.1/32 via 10.0.0.9");  // there before, gone after: the batch replaces and
                                                     // removes it
    ASSERT_TRUE(wait_until([&] { return recorder.routes.contains(prefix("100.64.0.1/32")); }));
    run("ip route del 100.64.0.1/32");
    run(Batch(changes()).command());  // nobody reads meanwhile
    recorder.take();
    ASSERT_TRUE(wait_until([&] { return recorder.resyncs >= 2; }));
    const auto log = recorder.take();
    EXPECT_EQ(std::count(log.begin(), log.end(), "-route 192.0.2.0/24"), 0) << "it was there all the time";
    EXPECT_EQ(std::count(log.begin(), log.end(), "-route 100.64.0.1/32"), 1);
    EXPECT_EQ(recorder.routes.size(), kernel_routes().size());
    expect_in_step();
    EXPECT_TRUE(recorder.routes.contains(prefix("192.0.2.0/24")));
    EXPECT_EQ(recorder.routes[prefix("100.64.0.0/32")].next_hops[0].gateway, address("10.1.0.3"));
    unsigned present = 0;
    for (const auto& [p, route] : recorder.routes)
        present += p.length == 32;
    EXPECT_EQ(present, 1250U);
    const KernelCounters counters = kernel->counters();
    EXPECT_GE(counters.overflows, 1U);
    EXPECT_GE(counters.drops, 1U);
    EXPECT_GE(counters.resyncs, 2U);
    EXPECT_EQ(counters.waiting, 0U);
    EXPECT_TRUE(state->is_complete());
}

class InTurns : public SystemRoutes {
  protected:
    void open(const NetlinkOptions& options = with_routes()) {
        kernel = std::move(*NetlinkKernel::open(options));
        state = std::make_unique<KernelState>(options.routes, recorder);
        kernel->begin_dump();
    }
    /// True: there is more to do at once.
    bool turn(uint64_t steps) {
        Turn turn = Turn::of_steps(steps);
        const auto more = follow(*kernel, *state, turn);
        EXPECT_TRUE(more) << more.error().to_string();
        return more && *more;
    }
};

TEST_F(InTurns, TheTableIsReadWhileItChanges) {
    std::ostringstream before;
    for (unsigned i = 0; i < 20'000; ++i)
        before << "route add 100.80." << i / 256 << '.' << i % 256 << "/32 via 10.0.0.2\n";
    run(Batch(before.str()).command());
    const Batch batch(changes());
    open();
    FILE* changing = popen(batch.command().c_str(), "r");
    ASSERT_NE(changing, nullptr);
    unsigned turns = 0;
    size_t largest = 0;
    size_t before_turn = recorder.routes.size();
    while (turn(2)) {
        ++turns;
        largest = std::max(largest, recorder.routes.size() - std::min(before_turn, recorder.routes.size()));
        before_turn = recorder.routes.size();
    }
    EXPECT_EQ(pclose(changing), 0);
    EXPECT_GT(turns, 10U);
    EXPECT_LT(largest, 5'000U) << "most of the table was told in one turn";
    expect_in_step();
    EXPECT_TRUE(state->is_complete());
    EXPECT_EQ(recorder.resyncs, 1U) << "events that came meanwhile were lost";
}

TEST_F(InTurns, DumpOfIpv6ThatRoutesVanishDuringIsRepeated) {
    std::ostringstream routes;
    for (unsigned i = 0; i < 5'000; ++i)
        routes << "route add 2001:db8:" << std::hex << i << "::/48 via 2001:db8:a::2\n" << std::dec;
    run(Batch(routes.str()).command("-6"));
    open();
    const auto six = [&] {
        return std::count_if(recorder.routes.begin(), recorder.routes.end(),
                             [](const auto& entry) { return entry.first.address.is_v6(); });
    };
    while (six() < 500)
        ASSERT_TRUE(turn(1));
    ASSERT_LT(six(), 4'000) << "the dump is over";
    // Linux skips as many routes as it has dumped, and so one that it has not.
    for (const char* gone : {"1", "2", "3"})
        run(std::string("ip -6 route del 2001:db8:") + gone + "::/48");
    while (turn(64)) {
    }
    EXPECT_GE(kernel->counters().dumps_repeated, 1U);
    EXPECT_TRUE(state->is_complete());
    expect_in_step();
    EXPECT_FALSE(recorder.routes.contains(prefix("2001:db8:2::/48")));
}

TEST_F(SystemRoutes, OverflowWhileLinksAndAddressesChange) {
    start(with_routes(4096));
    const uint32_t old = ifindex("w0");
    run("ip neigh add 10.1.0.50 lladdr 02:00:00:00:00:50 dev w0");
    ASSERT_TRUE(wait_until([&] { return state->neighbour(old, address("10.1.0.50")) != nullptr; }));
    run(Batch(changes()).command());
    run("ip link del w0");
    run("ip link add w0 type veth peer name w1");
    run("ip link set w0 up; ip link set w1 up; ip addr add 10.1.0.200/24 dev w0");
    ASSERT_TRUE(wait_until([&] { return recorder.resyncs >= 2; }));
    expect_in_step();
    EXPECT_NE(ifindex("w0"), old);
    EXPECT_EQ(state->link(old), nullptr);
    EXPECT_EQ(state->neighbour(old, address("10.1.0.50")), nullptr);
    const auto addresses = state->addresses(ifindex("w0"));
    EXPECT_TRUE(std::any_of(addresses.begin(), addresses.end(),
                            [](const auto& of) { return of.address.to_string() == "10.1.0.200/24"; }));
}

}  // namespace
}  // namespace pktpit::router
