// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/kernel_state.h"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "tests/unit/kernel/recorder.h"

namespace pktpit::router {
namespace {

using Log = std::vector<std::string>;

class State : public ::testing::Test {
  protected:
    State() : State(RouteFilter{true, RT_TABLE_MAIN, {}}) {}
    explicit State(RouteFilter filter) : state(std::move(filter), recorder) {}

    static IpAddress ip(const char* text) { return *IpAddress::parse(text); }
    static Prefix prefix(const char* text) { return *Prefix::parse(text); }

    static LinkEvent link(uint32_t ifindex, const char* name, bool admin_up = true, bool running = true) {
        LinkEvent event;
        event.ifindex = ifindex;
        event.name = name;
        event.admin_up = admin_up;
        event.running = running;
        event.up = admin_up && running;
        event.ethernet = true;
        return event;
    }
    static AddressEvent address(uint32_t ifindex, const char* text) {
        AddressEvent event;
        event.ifindex = ifindex;
        event.address = *InterfaceAddress::parse(text);
        return event;
    }
    static NeighbourEvent neighbour(uint32_t ifindex, const char* text,
                                    NeighbourState state = NeighbourState::reachable) {
        return {false, ifindex, ip(text), *MacAddress::parse("02:00:00:00:00:01"), state};
    }
    /// "192.0.2.1@7" is a gateway by ifindex 7, "@7" the link itself.
    static RouteEvent route(const char* to, std::initializer_list<const char*> hops, uint32_t metric = 0) {
        RouteEvent event;
        event.prefix = prefix(to);
        event.table = RT_TABLE_MAIN;
        event.protocol = RTPROT_BIRD;
        event.type = RTN_UNICAST;
        event.metric = metric;
        event.creates = true;
        for (const std::string hop : hops) {
            const size_t at = hop.find('@');
            KernelNextHop next_hop;
            next_hop.ifindex = static_cast<uint32_t>(std::stoul(hop.substr(at + 1)));
            if (at > 0) next_hop.gateway = ip(hop.substr(0, at).c_str());
            event.next_hops.push_back(next_hop);
        }
        return event;
    }
    static NextHopEvent nexthop(uint32_t id, const char* gateway, uint32_t ifindex) {
        NextHopEvent event;
        event.id = id;
        event.next_hop = {ifindex, ip(gateway), 1, false};
        return event;
    }
    template <class Event>
    static Event removed(Event event) {
        event.removed = true;
        return event;
    }
    static RouteEvent dumped(RouteEvent event) {
        event.creates = false;
        event.dumped = true;
        return event;
    }
    static RouteEvent replacing(RouteEvent event) {
        event.creates = false;
        event.replaces = true;
        return event;
    }
    static RouteEvent appending(RouteEvent event) {
        event.appends = true;
        return event;
    }
    void feed(std::initializer_list<KernelEvent> events) {
        for (const auto& event : events)
            state.consume(event);
        state.settle();
        EXPECT_EQ(recorder.routes, routes_in(state.routes())) << "the listener knows what the table holds";
    }
    /// Gateways of the route that counts, or "none".
    std::string way(const char* to) {
        const auto found = state.routes().find(prefix(to));
        if (!found) return "none";
        std::string out;
        for (const auto& hop : found->next_hops) {
            out += (out.empty() ? "" : " ") + (hop.gateway ? hop.gateway->to_string() : "") + "@" +
                   std::to_string(hop.ifindex);
        }
        return out;
    }

    Recorder recorder;
    KernelState state;
};

TEST_F(State, LinksByIndexAndName) {
    feed({link(2, "eth0"), link(3, "eth1")});
    EXPECT_EQ(state.link("eth0")->ifindex, 2U);
    EXPECT_EQ(state.link(3)->name, "eth1");
    feed({link(2, "wan0")});
    EXPECT_EQ(state.link("eth0"), nullptr);
    EXPECT_EQ(state.link("wan0")->ifindex, 2U);
    recorder.take();
    feed({link(2, "wan0")});
    EXPECT_EQ(recorder.take(), Log{}) << "nothing changed";
    feed({link(2, "wan0", false)});
    EXPECT_EQ(recorder.take(), Log{"link wan0"});
}

TEST_F(State, NamesMayBeSwapped) {
    feed({link(2, "a"), link(3, "b"), link(2, "tmp"), link(3, "a"), link(2, "b")});
    EXPECT_EQ(state.link("a")->ifindex, 3U);
    EXPECT_EQ(state.link("b")->ifindex, 2U);
    EXPECT_EQ(state.link("tmp"), nullptr);
    // And when the events were lost: the dump's order is the kernel's.
    feed({ResyncBegin{}, link(2, "a"), link(3, "b"), ResyncEnd{}});
    EXPECT_EQ(state.link("a")->ifindex, 2U);
    EXPECT_EQ(state.link("b")->ifindex, 3U);
}

TEST_F(State, RemovedLinkTakesEverythingAlong) {
    feed({link(2, "eth0"), address(2, "192.0.2.1/24"), neighbour(2, "192.0.2.9"),
          route("198.51.100.0/24", {"192.0.2.9@2"}), link(3, "eth1"), address(3, "192.0.3.1/24")});
    recorder.take();
    feed({removed(link(2, "eth0"))});
    const Log expected = {"-neighbour 192.0.2.9", "-address 192.0.2.1/24", "-link eth0",
                          "-route 198.51.100.0/24"};
    EXPECT_EQ(recorder.take(), expected);
    EXPECT_EQ(state.neighbour(2, ip("192.0.2.9")), nullptr);
    EXPECT_TRUE(state.addresses(2).empty());
    EXPECT_EQ(state.addresses(3).size(), 1U);
}

TEST_F(State, InterfaceComesBackUnderItsNameWithAnotherIndex) {
    feed({link(2, "eth0"), address(2, "192.0.2.1/24"), removed(link(2, "eth0")), link(9, "eth0")});
    EXPECT_EQ(state.link("eth0")->ifindex, 9U);
    EXPECT_EQ(state.link(2), nullptr);
    // A late word about the old one is not news of the new one.
    feed({removed(link(2, "eth0")), address(2, "192.0.2.1/24"), neighbour(2, "192.0.2.9")});
    EXPECT_EQ(state.link("eth0")->ifindex, 9U);
    EXPECT_TRUE(recorder.addresses.empty());
    EXPECT_TRUE(recorder.neighbours.empty());
}

TEST_F(State, InterfaceCameBackWhileEventsWereLost) {
    feed({link(2, "eth0"), address(2, "192.0.2.1/24"), neighbour(2, "192.0.2.9")});
    recorder.take();
    feed({ResyncBegin{}, link(9, "eth0"), address(9, "192.0.2.1/24"), ResyncEnd{}});
    const Log expected = {"-neighbour 192.0.2.9", "-address 192.0.2.1/24", "-link eth0", "link eth0",
                          "address 192.0.2.1/24"};
    EXPECT_EQ(recorder.take(), expected) << "the old one goes first, so that the name is free";
    EXPECT_EQ(state.link("eth0")->ifindex, 9U);
}

TEST_F(State, AddressesChangeInPlace) {
    AddressEvent tentative = address(2, "2001:db8::1/64");
    tentative.tentative = true;
    feed({link(2, "eth0"), tentative});
    EXPECT_TRUE(state.addresses(2).at(0).tentative);
    feed({address(2, "2001:db8::1/64")});
    EXPECT_FALSE(state.addresses(2).at(0).tentative);
    EXPECT_EQ(state.addresses(2).size(), 1U);
    // IPv4 knows an address by its net and peer too.
    feed({address(2, "192.0.2.1/24"), address(2, "192.0.2.1/25")});
    EXPECT_EQ(state.addresses(2).size(), 3U);
    feed({removed(address(2, "192.0.2.1/24"))});
    EXPECT_EQ(state.addresses(2).size(), 2U);
    recorder.take();
    feed({removed(address(2, "192.0.2.1/24"))});
    EXPECT_EQ(recorder.take(), Log{});
}

TEST_F(State, NeighbourChangesAreToldOnceButFailuresEachTime) {
    feed({link(2, "eth0"), neighbour(2, "192.0.2.9"), neighbour(2, "192.0.2.9")});
    const Log once = {"link eth0", "neighbour 192.0.2.9"};
    EXPECT_EQ(recorder.take(), once);
    const auto failed = neighbour(2, "192.0.2.9", NeighbourState::failed);
    feed({failed, failed});
    const Log twice = {"neighbour 192.0.2.9", "neighbour 192.0.2.9"};
    EXPECT_EQ(recorder.take(), twice);
    feed({removed(failed), removed(failed)});
    EXPECT_EQ(recorder.take(), Log{"-neighbour 192.0.2.9"});
}

TEST_F(State, LowestMetricCounts) {
    const char* to = "198.51.100.0/24";
    feed({route(to, {"192.0.2.1@2"}, 20), route(to, {"192.0.2.2@2"}, 10), route(to, {"192.0.2.3@2"}, 30)});
    EXPECT_EQ(way(to), "192.0.2.2@2");
    recorder.take();
    feed({removed(route(to, {"192.0.2.3@2"}, 30))});
    EXPECT_EQ(recorder.take(), Log{}) << "it did not count";
    feed({removed(route(to, {"192.0.2.2@2"}, 10))});
    EXPECT_EQ(recorder.take(), Log{"route 198.51.100.0/24"}) << "replaced in one step, never removed";
    EXPECT_EQ(way(to), "192.0.2.1@2");
    feed({removed(route(to, {"192.0.2.1@2"}, 20))});
    EXPECT_EQ(recorder.take(), Log{"-route 198.51.100.0/24"});
    EXPECT_EQ(state.routes().prefixes(), 0U);
}

TEST_F(State, RouterPreferenceDecidesAmongEqualMetrics) {
    RouteEvent low = route("::/0", {"fe80::1@2"}, 1024);
    low.protocol = RTPROT_RA;
    low.preference = 3;
    RouteEvent high = route("::/0", {"fe80::2@2"}, 1024);
    high.protocol = RTPROT_RA;
    high.preference = 1;
    feed({low, high});
    EXPECT_EQ(way("::/0"), "fe80::2@2");
}

TEST_F(State, Ipv4OrderOfEquals) {
    const char* to = "198.51.100.0/24";
    feed({route(to, {"192.0.2.1@2"}), appending(route(to, {"192.0.2.2@2"}))});
    EXPECT_EQ(way(to), "192.0.2.1@2");
    feed({route(to, {"192.0.2.3@2"})});
    EXPECT_EQ(way(to), "192.0.2.3@2") << "NLM_F_CREATE alone goes before";
    feed({replacing(route(to, {"192.0.2.4@2"}))});
    EXPECT_EQ(way(to), "192.0.2.4@2");
    feed({removed(route(to, {"192.0.2.4@2"}))});
    EXPECT_EQ(way(to), "192.0.2.1@2") << "192.0.2.3 was replaced";
    feed({removed(route(to, {"192.0.2.77@2"}))});
    EXPECT_EQ(way(to), "192.0.2.1@2") << "another one's removal";
    RouteEvent only = route(to, {"192.0.2.5@2"});
    only.exclusive = true;
    feed({only, removed(only)});
    EXPECT_EQ(way(to), "none") << "NLM_F_EXCL: the kernel had no other";
}

TEST_F(State, MtuOfARoute) {
    const char* to = "198.51.100.0/24";
    const auto with_mtu = [](RouteEvent event, uint32_t mtu) {
        event.mtu = mtu;
        return event;
    };
    const auto mtu = [&](const char* of) { return recorder.routes.at(prefix(of)).mtu; };
    feed({with_mtu(route(to, {"192.0.2.1@2"}), 1300)});
    EXPECT_EQ(mtu(to), 1300U);
    recorder.take();
    feed({replacing(with_mtu(route(to, {"192.0.2.1@2"}), 1400))});
    EXPECT_EQ(recorder.take(), Log{"route 198.51.100.0/24"});
    EXPECT_EQ(mtu(to), 1400U);
    feed({replacing(route(to, {"192.0.2.1@2"}))});
    EXPECT_EQ(mtu(to), 0U);
    // IPv4 may have two that differ in nothing else.
    feed({appending(with_mtu(route(to, {"192.0.2.1@2"}), 1350)), removed(route(to, {"192.0.2.1@2"}))});
    EXPECT_EQ(mtu(to), 1350U);
    // IPv6's may be another one by the time that it goes.
    const char* to6 = "2001:db8:5::/48";
    feed({with_mtu(route(to6, {"fe80::1@2"}), 1400), removed(with_mtu(route(to6, {"fe80::1@2"}), 1500))});
    EXPECT_EQ(way(to6), "none");
}

TEST_F(State, Ipv6NextHopsMerge) {
    const char* to = "2001:db8::/48";
    feed({route(to, {"2001:db8::1@2"}, 1024)});
    feed({appending(route(to, {"2001:db8::2@3", "2001:db8::1@2"}, 1024))});
    EXPECT_EQ(way(to), "2001:db8::1@2 2001:db8::2@3");
    recorder.take();
    feed({appending(route(to, {"2001:db8::1@2", "2001:db8::2@3"}, 1024))});
    EXPECT_EQ(recorder.take(), Log{}) << "the same set in another order";
    feed({appending(route(to, {"@4"}, 1024))});
    EXPECT_EQ(way(to), "2001:db8::1@2 2001:db8::2@3") << "a route to the link is another route";
    feed({removed(route(to, {"2001:db8::1@2"}, 1024))});
    EXPECT_EQ(way(to), "2001:db8::2@3");
    feed({replacing(route(to, {"2001:db8::7@2"}, 1024))});
    EXPECT_EQ(way(to), "2001:db8::7@2");
    feed({replacing(route(to, {"@5"}, 1024))});
    EXPECT_EQ(way(to), "2001:db8::7@2") << "it replaced the other one";
    feed({removed(route(to, {"2001:db8::7@2"}, 1024))});
    EXPECT_EQ(way(to), "@5");
}

TEST_F(State, LinkDownTakesRoutesAndMarksNextHops) {
    feed({link(2, "eth0"), link(3, "eth1"), route("192.0.2.0/24", {"10.0.0.1@2"}),
          route("192.0.3.0/24", {"10.0.0.1@2", "10.0.1.1@3"}),
          route("2001:db8::/48", {"fd00::1@2", "fd00::2@3"})});
    feed({link(2, "eth0", false, false)});
    EXPECT_EQ(way("192.0.2.0/24"), "none");
    EXPECT_EQ(way("192.0.3.0/24"), "10.0.1.1@3");
    EXPECT_EQ(way("2001:db8::/48"), "fd00::2@3");
    feed({link(2, "eth0", true, false)});
    EXPECT_EQ(way("192.0.2.0/24"), "none") << "the kernel does not bring it back";
    EXPECT_EQ(way("192.0.3.0/24"), "10.0.0.1@2 10.0.1.1@3");
    EXPECT_EQ(way("2001:db8::/48"), "fd00::2@3") << "IPv6 waits for the carrier";
    feed({link(2, "eth0")});
    EXPECT_EQ(way("2001:db8::/48"), "fd00::1@2 fd00::2@3");
    feed({link(2, "eth0", true, false)});
    EXPECT_EQ(way("2001:db8::/48"), "fd00::1@2 fd00::2@3") << "without carrier routes stay";
    feed({removed(link(2, "eth0"))});
    EXPECT_EQ(way("192.0.3.0/24"), "none") << "IPv4 multipath goes whole";
    EXPECT_EQ(way("2001:db8::/48"), "fd00::2@3");
}

// ignore_routes_with_linkdown: a dump calls dead what has no carrier.
TEST_F(State, CarrierThatComesBackEnlivensWhatADumpCalledDead) {
    RouteEvent dead = route("192.0.2.0/24", {"10.0.0.2@2"});
    dead.next_hops[0].dead = true;
    feed({ResyncBegin{}, link(2, "eth0", true, false), address(2, "10.0.0.1/24"), dumped(dead), ResyncEnd{}});
    EXPECT_EQ(way("192.0.2.0/24"), "none");
    feed({link(2, "eth0")});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.2@2");
}

TEST_F(State, Ipv6AddressEnlivensIpv6NextHops) {
    RouteEvent dead = route("2001:db8::/48", {"fd00::1@2", "fd00::2@3"});
    dead.next_hops[0].dead = true;
    feed({ResyncBegin{}, link(2, "eth0"), link(3, "eth1"), dumped(dead), ResyncEnd{}});
    EXPECT_EQ(way("2001:db8::/48"), "fd00::2@3");
    feed({address(2, "fe80::1/64")});
    EXPECT_EQ(way("2001:db8::/48"), "fd00::1@2 fd00::2@3");
}

TEST_F(State, LastIpv4AddressTakesIpv4RoutesAlong) {
    feed({link(2, "eth0"), address(2, "10.0.0.1/24"), address(2, "10.0.9.1/24"), address(2, "fd00::9/64"),
          route("192.0.2.0/24", {"10.0.0.2@2"}), route("2001:db8::/48", {"fd00::1@2"})});
    feed({removed(address(2, "10.0.9.1/24"))});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.2@2");
    feed({removed(address(2, "10.0.0.1/24"))});
    EXPECT_EQ(way("192.0.2.0/24"), "none");
    EXPECT_EQ(way("2001:db8::/48"), "fd00::1@2");
}

TEST_F(State, SourceAddressTakesItsRoutesAlong) {
    RouteEvent sourced = route("192.0.2.0/24", {"10.0.0.2@2"});
    sourced.source = ip("10.0.0.77");
    feed({link(2, "eth0"), address(2, "10.0.0.1/24"), address(2, "10.0.0.77/24"), address(2, "10.0.0.77/32"),
          sourced});
    feed({removed(address(2, "10.0.0.77/24"))});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.2@2") << "the address is still there";
    feed({removed(address(2, "10.0.0.77/32"))});
    EXPECT_EQ(way("192.0.2.0/24"), "none");
}

TEST_F(State, Ipv6RouteLosesItsSourceAlone) {
    for (const uint8_t type : {RTN_UNICAST, RTN_BLACKHOLE}) {
        RouteEvent sourced = route("2001:db8:7::/48", {});
        if (type == RTN_UNICAST) sourced.next_hops = route("2001:db8::/48", {"@2"}).next_hops;
        sourced.type = type;
        sourced.source = ip("fd00::77");
        feed({link(2, "eth0"), address(2, "fd00::77/64"), sourced});
        feed({removed(address(2, "fd00::77/64"))});
        EXPECT_NE(way("2001:db8:7::/48"), "none");
        sourced.source.reset();
        feed({removed(sourced)});
        EXPECT_EQ(way("2001:db8:7::/48"), "none");
    }
}

TEST_F(State, NexthopObjects) {
    RouteEvent by_group = route("192.0.2.0/24", {});
    by_group.nexthop_id = 3;
    RouteEvent by_one = route("192.0.3.0/24", {});
    by_one.nexthop_id = 1;
    NextHopEvent group;
    group.id = 3;
    group.members = {{1, 4}, {2, 1}};
    feed({link(2, "eth0"), link(3, "eth1"), nexthop(1, "10.0.0.1", 2), nexthop(2, "10.0.1.1", 3), group,
          by_group, by_one});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.1@2 10.0.1.1@3");
    EXPECT_EQ(state.routes().find(prefix("192.0.2.0/24"))->next_hops[0].weight, 4);
    feed({nexthop(1, "10.0.0.9", 2)});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.9@2 10.0.1.1@3");
    EXPECT_EQ(way("192.0.3.0/24"), "10.0.0.9@2");
    feed({link(2, "eth0", true, false)});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.1.1@3");
    EXPECT_EQ(way("192.0.3.0/24"), "none") << "gone with its object";
    feed({removed(nexthop(2, "10.0.1.1", 3))});
    EXPECT_EQ(way("192.0.2.0/24"), "none") << "the group's last";
    EXPECT_EQ(state.routes().nexthops(), 0U);
    // Not known (the kernel told no object): what the route says of itself.
    RouteEvent unknown = route("192.0.4.0/24", {"10.0.1.7@3"});
    unknown.nexthop_id = 77;
    feed({unknown});
    EXPECT_EQ(way("192.0.4.0/24"), "10.0.1.7@3");
}

TEST_F(State, Ipv6ReplacementsBesideAnEqual) {
    const char* to = "2001:db8::/48";
    RouteEvent blackhole = route(to, {}, 3);
    blackhole.type = RTN_BLACKHOLE;
    RouteEvent unreachable = route(to, {}, 3);
    unreachable.type = RTN_UNREACHABLE;
    feed({route(to, {"@2"}, 3), blackhole, replacing(blackhole)});
    EXPECT_EQ(state.routes().find(prefix(to))->type, RTN_BLACKHOLE) << "of two equals the first was replaced";
    // Linux 6.18 announces a changed nexthop object as a replacement of each of its routes.
    RouteEvent by_object = route(to, {"fd00::1@2"}, 3);
    by_object.nexthop_id = 2;
    RouteEvent changed = route(to, {"fd00::2@2"}, 3);
    changed.nexthop_id = 2;
    feed({removed(blackhole), removed(blackhole), unreachable, nexthop(2, "fd00::1", 2), by_object,
          nexthop(2, "fd00::2", 2), replacing(changed)});
    EXPECT_EQ(state.routes().find(prefix(to))->type, RTN_UNREACHABLE) << "the first is not what changed";
    feed({removed(unreachable)});
    EXPECT_EQ(way(to), "fd00::2@2");
}

TEST_F(State, GroupThatNamesItselfEnds) {
    NextHopEvent group;
    group.id = 3;
    group.members = {{3, 1}, {4, 1}};
    RouteEvent by_group = route("192.0.2.0/24", {});
    by_group.nexthop_id = 3;
    feed({group, by_group});
    EXPECT_EQ(way("192.0.2.0/24"), "none");
    feed({removed(group)});
}

TEST_F(State, ResyncKeepsWhatIsThereAndDropsWhatIsNot) {
    feed({link(2, "eth0"), address(2, "10.0.0.1/24"), neighbour(2, "10.0.0.2"), neighbour(2, "10.0.0.3"),
          route("192.0.2.0/24", {"10.0.0.2@2"}), route("192.0.3.0/24", {"10.0.0.2@2"}),
          route("192.0.4.0/24", {"10.0.0.2@2"})});
    recorder.take();
    feed({ResyncBegin{}, link(2, "eth0"), address(2, "10.0.0.1/24"), neighbour(2, "10.0.0.2"),
          dumped(route("192.0.2.0/24", {"10.0.0.2@2"})), dumped(route("192.0.4.0/24", {"10.0.0.9@2"}))});
    EXPECT_EQ(recorder.take(), Log{}) << "nothing is told before the end";
    feed({ResyncEnd{}});
    Log log = recorder.take();
    std::sort(log.begin(), log.end());
    const Log expected = {"-neighbour 10.0.0.3", "-route 192.0.3.0/24", "route 192.0.4.0/24"};
    EXPECT_EQ(log, expected);
    EXPECT_EQ(recorder.resyncs, 1U);
}

TEST_F(State, RouteReplacedDuringResync) {
    const char* to = "192.0.2.0/24";
    feed({link(2, "eth0"), route(to, {"10.0.0.1@2"})});
    // The dump has it as it was after a replacement that was lost; the event of the next one follows.
    feed({ResyncBegin{}, link(2, "eth0"), dumped(route(to, {"10.0.0.2@2"})), ResyncEnd{},
          replacing(route(to, {"10.0.0.3@2"}))});
    EXPECT_EQ(way(to), "10.0.0.3@2");
    feed({removed(route(to, {"10.0.0.3@2"}))});
    EXPECT_EQ(way(to), "none") << "nothing older was left behind";
    // The dump has what the event says already.
    feed({ResyncBegin{}, link(2, "eth0"), dumped(route(to, {"10.0.0.5@2"})), ResyncEnd{},
          route(to, {"10.0.0.5@2"})});
    EXPECT_EQ(way(to), "10.0.0.5@2");
    feed({removed(route(to, {"10.0.0.5@2"}))});
    EXPECT_EQ(way(to), "none");
    // In the dump, and removed after it.
    feed({ResyncBegin{}, link(2, "eth0"), dumped(route(to, {"10.0.0.5@2"})), ResyncEnd{},
          removed(route(to, {"10.0.0.5@2"}))});
    EXPECT_EQ(way(to), "none");
}

TEST_F(State, FailedResyncDropsNothing) {
    feed({link(2, "eth0"), address(2, "10.0.0.1/24"), route("192.0.2.0/24", {"10.0.0.2@2"})});
    feed({ResyncBegin{}});
    feed({ResyncBegin{}, link(2, "eth0"), address(2, "10.0.0.1/24"),
          dumped(route("192.0.2.0/24", {"10.0.0.2@2"})), ResyncEnd{}});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.2@2");
    EXPECT_EQ(state.addresses(2).size(), 1U);
    const auto log = recorder.take();
    EXPECT_EQ(std::count_if(log.begin(), log.end(), [](const auto& line) { return line[0] == '-'; }), 0);
}

TEST_F(State, OtherTablesAreIgnored) {
    RouteEvent other = route("192.0.2.0/24", {"10.0.0.2@2"});
    other.table = 100;
    feed({other});
    EXPECT_EQ(state.routes().prefixes(), 0U);
}

class Filtered : public State {
  protected:
    Filtered() : State(RouteFilter{true, RT_TABLE_MAIN, {RTPROT_BIRD, RTPROT_STATIC}}) {}
};

TEST_F(Filtered, UnwantedProtocolReplacesAWantedRoute) {
    RouteEvent wanted = route("192.0.2.0/24", {"10.0.0.1@2"});
    RouteEvent unwanted = route("192.0.2.0/24", {"10.0.0.2@2"});
    unwanted.protocol = RTPROT_ZEBRA;
    feed({wanted, replacing(unwanted)});
    EXPECT_EQ(way("192.0.2.0/24"), "none") << "the wanted one is no longer in the kernel";
    feed({replacing(wanted)});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.1@2");
    unwanted.metric = 0;
    wanted.metric = 5;
    feed({removed(route("192.0.2.0/24", {"10.0.0.1@2"})), unwanted, wanted});
    EXPECT_EQ(way("192.0.2.0/24"), "10.0.0.1@2") << "the best of the wanted";
}

}  // namespace
}  // namespace pktpit::router
