// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/parse.h"

#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/nexthop.h>

#include "tests/unit/kernel/messages.h"
#include "tests/unit/kernel/recorder.h"

namespace pktpit::router {
namespace {

template <class Event>
Event event_of(MessageBuilder& message) {
    const auto bytes = message.exact();
    const auto parsed = parse(bytes);
    EXPECT_TRUE(parsed) << "skipped: " << (parsed ? 0 : static_cast<int>(parsed.error()));
    if (!parsed || !std::holds_alternative<Event>(*parsed)) {
        ADD_FAILURE() << "another kind of event";
        return {};
    }
    return std::get<Event>(*parsed);
}

Skip skip_of(MessageBuilder& message) {
    const auto bytes = message.exact();
    const auto parsed = parse(bytes);
    EXPECT_FALSE(parsed);
    return parsed ? Skip{} : parsed.error();
}

IpAddress ip(const char* text) {
    return *IpAddress::parse(text);
}

ifinfomsg link_header(unsigned flags = IFF_UP | IFF_RUNNING | IFF_LOWER_UP) {
    ifinfomsg header{};
    header.ifi_index = 7;
    header.ifi_type = ARPHRD_ETHER;
    header.ifi_flags = flags;
    return header;
}

MessageBuilder vlan_link() {
    MessageBuilder message(RTM_NEWLINK, 0, link_header());
    message.text(IFLA_IFNAME, "eth0.100")
        .u32(IFLA_MTU, 1500)
        .u32(IFLA_LINK, 3)
        .mac(IFLA_ADDRESS, "02:00:00:00:00:01")
        .text(IFLA_IFALIAS, "pktpit default");
    message.begin(IFLA_LINKINFO).text(IFLA_INFO_KIND, "vlan").begin(IFLA_INFO_DATA);
    message.u16(IFLA_VLAN_PROTOCOL, htons(ETH_P_8021AD)).u16(IFLA_VLAN_ID, 100).end().end();
    return message;
}

TEST(ParseLink, Vlan) {
    auto message = vlan_link();
    LinkEvent expected{false,
                       7,
                       "eth0.100",
                       true,
                       *MacAddress::parse("02:00:00:00:00:01"),
                       1500,
                       "vlan",
                       3,
                       100,
                       0x88a8,
                       true,
                       true,
                       true,
                       "pktpit default"};
    EXPECT_EQ(event_of<LinkEvent>(message), expected);
    message.message()->nlmsg_type = RTM_DELLINK;
    EXPECT_TRUE(event_of<LinkEvent>(message).removed);
}

TEST(ParseLink, ParentInAnotherNamespaceIsNone) {
    MessageBuilder message(RTM_NEWLINK, 0, link_header());
    message.text(IFLA_IFNAME, "veth0").u32(IFLA_LINK, 3).u32(IFLA_LINK_NETNSID, 0);
    EXPECT_EQ(event_of<LinkEvent>(message).parent, 0U);
}

TEST(ParseLink, StateFromFlags) {
    const auto link = [](unsigned flags) {
        MessageBuilder message(RTM_NEWLINK, 0, link_header(flags));
        message.text(IFLA_IFNAME, "eth0");
        return event_of<LinkEvent>(message);
    };
    EXPECT_FALSE(link(IFF_UP).up);
    EXPECT_TRUE(link(IFF_UP).admin_up);
    EXPECT_FALSE(link(IFF_UP).running);
    EXPECT_TRUE(link(IFF_UP | IFF_LOWER_UP).up);
    EXPECT_TRUE(link(IFF_UP | IFF_LOWER_UP).running);
    EXPECT_FALSE(link(IFF_LOWER_UP).up);
}

TEST(ParseLink, OtherHardwareHasNoMac) {
    ifinfomsg header = link_header();
    header.ifi_type = ARPHRD_TUNNEL;
    MessageBuilder message(RTM_NEWLINK, 0, header);
    message.text(IFLA_IFNAME, "tunl0").address(IFLA_ADDRESS, "192.0.2.1");
    EXPECT_FALSE(event_of<LinkEvent>(message).ethernet);
    EXPECT_TRUE(event_of<LinkEvent>(message).mac.is_zero());
}

TEST(ParseLink, Skips) {
    ifinfomsg bridge = link_header();
    bridge.ifi_family = AF_BRIDGE;
    MessageBuilder port(RTM_DELLINK, 0, bridge);
    port.text(IFLA_IFNAME, "eth0");
    EXPECT_EQ(skip_of(port), Skip::not_ours);
    MessageBuilder wireless(RTM_NEWLINK, 0, link_header());
    wireless.text(IFLA_IFNAME, "wlan0").u32(IFLA_WIRELESS, 1);
    EXPECT_EQ(skip_of(wireless), Skip::not_ours);
    MessageBuilder nameless(RTM_NEWLINK, 0, link_header());
    EXPECT_EQ(skip_of(nameless), Skip::malformed);
    MessageBuilder long_name(RTM_NEWLINK, 0, link_header());
    long_name.text(IFLA_IFNAME, "sixteen-letters-");
    EXPECT_EQ(skip_of(long_name), Skip::malformed);
    MessageBuilder unterminated(RTM_NEWLINK, 0, link_header());
    const uint8_t name[] = {'e', 't', 'h', '0'};
    unterminated.bytes(IFLA_IFNAME, name);
    EXPECT_EQ(skip_of(unterminated), Skip::malformed);
    MessageBuilder short_mac(RTM_NEWLINK, 0, link_header());
    short_mac.text(IFLA_IFNAME, "eth0").u32(IFLA_ADDRESS, 1);
    EXPECT_EQ(skip_of(short_mac), Skip::malformed);
    MessageBuilder wide_mtu(RTM_NEWLINK, 0, link_header());
    wide_mtu.text(IFLA_IFNAME, "eth0").u16(IFLA_MTU, 1500);
    EXPECT_EQ(skip_of(wide_mtu), Skip::malformed);
}

ifaddrmsg address_header(uint8_t family, uint8_t length, uint8_t flags = 0) {
    ifaddrmsg header{};
    header.ifa_family = family;
    header.ifa_prefixlen = length;
    header.ifa_flags = flags;
    header.ifa_index = 7;
    return header;
}

TEST(ParseAddress, Ipv4WithBroadcast) {
    MessageBuilder message(RTM_NEWADDR, 0, address_header(AF_INET, 24));
    message.address(IFA_ADDRESS, "192.0.2.1")
        .address(IFA_LOCAL, "192.0.2.1")
        .address(IFA_BROADCAST, "192.0.2.255");
    const auto event = event_of<AddressEvent>(message);
    EXPECT_EQ(event.address.to_string(), "192.0.2.1/24");
    EXPECT_EQ(event.broadcast, ip("192.0.2.255"));
    EXPECT_FALSE(event.peer);
    EXPECT_FALSE(event.ours);
    EXPECT_EQ(event.net().to_string(), "192.0.2.0/24");
}

TEST(ParseAddress, PointToPoint) {
    MessageBuilder message(RTM_DELADDR, 0, address_header(AF_INET, 32));
    message.address(IFA_ADDRESS, "192.0.2.9").address(IFA_LOCAL, "192.0.2.1").u8(IFA_PROTO, address_protocol);
    const auto event = event_of<AddressEvent>(message);
    EXPECT_TRUE(event.removed);
    EXPECT_TRUE(event.ours);
    EXPECT_EQ(event.address.address, ip("192.0.2.1")) << "IFA_LOCAL is ours, IFA_ADDRESS the peer's";
    EXPECT_EQ(event.peer, ip("192.0.2.9"));
    EXPECT_EQ(event.net().to_string(), "192.0.2.9/32");
}

TEST(ParseAddress, metric_and_prefix_route) {
    MessageBuilder message(RTM_NEWADDR, 0, address_header(AF_INET, 24));
    message.address(IFA_LOCAL, "192.0.2.1").u32(IFA_RT_PRIORITY, 200).u32(IFA_FLAGS, IFA_F_NOPREFIXROUTE);
    const auto event = event_of<AddressEvent>(message);
    EXPECT_EQ(event.metric, 200U);
    EXPECT_FALSE(event.prefix_route);
    MessageBuilder plain(RTM_NEWADDR, 0, address_header(AF_INET, 24));
    EXPECT_TRUE(event_of<AddressEvent>(plain.address(IFA_LOCAL, "192.0.2.1")).prefix_route);
}

TEST(ParseAddress, TentativeByEitherField) {
    for (const uint8_t flag : {uint8_t{IFA_F_TENTATIVE}, uint8_t{IFA_F_DADFAILED}}) {
        MessageBuilder old_field(RTM_NEWADDR, 0, address_header(AF_INET6, 64, flag));
        EXPECT_TRUE(event_of<AddressEvent>(old_field.address(IFA_ADDRESS, "2001:db8::1")).tentative);
        MessageBuilder attribute(RTM_NEWADDR, 0, address_header(AF_INET6, 64, 0));
        attribute.address(IFA_ADDRESS, "2001:db8::1").u32(IFA_FLAGS, flag | IFA_F_NOPREFIXROUTE);
        EXPECT_TRUE(event_of<AddressEvent>(attribute).tentative);
    }
    // 32 bits of flags replace the header's eight.
    MessageBuilder settled(RTM_NEWADDR, 0, address_header(AF_INET6, 64, IFA_F_TENTATIVE));
    settled.address(IFA_ADDRESS, "2001:db8::1").u32(IFA_FLAGS, IFA_F_PERMANENT);
    EXPECT_FALSE(event_of<AddressEvent>(settled).tentative);
}

TEST(ParseAddress, Skips) {
    MessageBuilder other_family(RTM_NEWADDR, 0, address_header(AF_MPLS, 20));
    EXPECT_EQ(skip_of(other_family), Skip::not_ours);
    MessageBuilder none(RTM_NEWADDR, 0, address_header(AF_INET, 24));
    EXPECT_EQ(skip_of(none), Skip::malformed);
    MessageBuilder long_prefix(RTM_NEWADDR, 0, address_header(AF_INET, 33));
    EXPECT_EQ(skip_of(long_prefix.address(IFA_LOCAL, "192.0.2.1")), Skip::malformed);
    MessageBuilder wrong_size(RTM_NEWADDR, 0, address_header(AF_INET, 24));
    EXPECT_EQ(skip_of(wrong_size.address(IFA_LOCAL, "2001:db8::1")), Skip::malformed);
}

ndmsg neighbour_header(uint8_t family, uint16_t state, uint8_t flags = 0) {
    ndmsg header{};
    header.ndm_family = family;
    header.ndm_ifindex = 7;
    header.ndm_state = state;
    header.ndm_flags = flags;
    header.ndm_type = RTN_UNICAST;
    return header;
}

TEST(ParseNeighbour, States) {
    const std::pair<uint16_t, NeighbourState> cases[] = {{NUD_REACHABLE, NeighbourState::reachable},
                                                         {NUD_STALE, NeighbourState::stale},
                                                         {NUD_DELAY, NeighbourState::stale},
                                                         {NUD_PROBE, NeighbourState::stale},
                                                         {NUD_PERMANENT, NeighbourState::permanent},
                                                         {NUD_NOARP, NeighbourState::permanent},
                                                         {NUD_FAILED, NeighbourState::failed},
                                                         {NUD_INCOMPLETE, NeighbourState::incomplete},
                                                         {NUD_NONE, NeighbourState::none}};
    for (const auto& [nud, state] : cases) {
        MessageBuilder message(RTM_NEWNEIGH, 0, neighbour_header(AF_INET, nud));
        message.address(NDA_DST, "192.0.2.9").mac(NDA_LLADDR, "02:00:00:00:00:09");
        const NeighbourEvent expected{false, 7, ip("192.0.2.9"), *MacAddress::parse("02:00:00:00:00:09"),
                                      state};
        EXPECT_EQ(event_of<NeighbourEvent>(message), expected) << nud;
    }
}

TEST(ParseNeighbour, Skips) {
    MessageBuilder bridge(RTM_NEWNEIGH, 0, neighbour_header(AF_BRIDGE, NUD_PERMANENT));
    EXPECT_EQ(skip_of(bridge.mac(NDA_LLADDR, "02:00:00:00:00:09")), Skip::not_ours);
    MessageBuilder proxy(RTM_NEWNEIGH, 0, neighbour_header(AF_INET, NUD_NONE, NTF_PROXY));
    EXPECT_EQ(skip_of(proxy.address(NDA_DST, "192.0.2.9")), Skip::not_ours);
    MessageBuilder multicast(RTM_NEWNEIGH, 0, neighbour_header(AF_INET6, NUD_NOARP));
    EXPECT_EQ(skip_of(multicast.address(NDA_DST, "ff02::16").mac(NDA_LLADDR, "33:33:00:00:00:16")),
              Skip::not_ours);
    MessageBuilder infiniband(RTM_NEWNEIGH, 0, neighbour_header(AF_INET, NUD_REACHABLE));
    const uint8_t twenty[20] = {};
    EXPECT_EQ(skip_of(infiniband.address(NDA_DST, "192.0.2.9").bytes(NDA_LLADDR, twenty)), Skip::unsupported);
    MessageBuilder without(RTM_NEWNEIGH, 0, neighbour_header(AF_INET, NUD_REACHABLE));
    EXPECT_EQ(skip_of(without.address(NDA_DST, "192.0.2.9")), Skip::unsupported);
    MessageBuilder nobody(RTM_NEWNEIGH, 0, neighbour_header(AF_INET, NUD_FAILED));
    EXPECT_EQ(skip_of(nobody), Skip::malformed);
}

rtmsg route_header(uint8_t family, uint8_t length) {
    rtmsg header{};
    header.rtm_family = family;
    header.rtm_dst_len = length;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_protocol = RTPROT_BIRD;
    header.rtm_type = RTN_UNICAST;
    return header;
}

TEST(ParseRoute, SingleNextHop) {
    MessageBuilder message(RTM_NEWROUTE, NLM_F_REPLACE, route_header(AF_INET, 24));
    message.address(RTA_DST, "198.51.100.0").address(RTA_GATEWAY, "192.0.2.9").u32(RTA_OIF, 7);
    message.u32(RTA_PRIORITY, 32).address(RTA_PREFSRC, "192.0.2.1").u32(RTA_TABLE, 1000);
    const auto event = event_of<RouteEvent>(message);
    EXPECT_EQ(event.prefix.to_string(), "198.51.100.0/24");
    EXPECT_EQ(event.table, 1000U) << "RTA_TABLE holds what the header's eight bits cannot";
    EXPECT_EQ(event.protocol, RTPROT_BIRD);
    EXPECT_EQ(event.metric, 32U);
    EXPECT_EQ(event.source, ip("192.0.2.1"));
    EXPECT_TRUE(event.replaces);
    EXPECT_FALSE(event.appends || event.creates || event.exclusive || event.dumped || event.removed);
    EXPECT_EQ(event.next_hops, (std::vector<KernelNextHop>{{7, ip("192.0.2.9"), 1, false}}));
}

TEST(ParseRoute, DefaultRouteHasNoDestination) {
    MessageBuilder message(RTM_NEWROUTE, NLM_F_MULTI, route_header(AF_INET6, 0));
    const auto event = event_of<RouteEvent>(message.u32(RTA_OIF, 7));
    EXPECT_EQ(event.prefix.to_string(), "::/0");
    EXPECT_TRUE(event.dumped);
    EXPECT_FALSE(event.next_hops.at(0).gateway);
}

TEST(ParseRoute, MultipathWithGatewaysOfBothFamilies) {
    MessageBuilder message(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_APPEND, route_header(AF_INET, 24));
    message.address(RTA_DST, "198.51.100.0").begin(RTA_MULTIPATH);
    message.begin_hop(7, 3).address(RTA_GATEWAY, "192.0.2.9").end_hop();
    std::vector<uint8_t> via(sizeof(uint16_t));
    const uint16_t family = AF_INET6;
    std::memcpy(via.data(), &family, sizeof family);
    const IpAddress gateway = ip("2001:db8::9");
    via.insert(via.end(), gateway.bytes.begin(), gateway.bytes.end());
    message.begin_hop(8, 255, RTNH_F_DEAD | RTNH_F_LINKDOWN).bytes(RTA_VIA, via).end_hop();
    message.begin_hop(9, 1).end_hop().end();
    const auto event = event_of<RouteEvent>(message);
    const std::vector<KernelNextHop> expected = {
        {7, ip("192.0.2.9"), 3, false}, {8, gateway, 255, true}, {9, std::nullopt, 1, false}};
    EXPECT_EQ(event.next_hops, expected);
    EXPECT_TRUE(event.appends && event.creates);
}

TEST(ParseRoute, TerminalTypesHaveNoNextHops) {
    rtmsg header = route_header(AF_INET6, 32);
    header.rtm_type = RTN_UNREACHABLE;
    MessageBuilder message(RTM_NEWROUTE, 0, header);
    message.address(RTA_DST, "2001:db8::").u32(RTA_OIF, 1);  // the kernel says lo
    EXPECT_TRUE(event_of<RouteEvent>(message).next_hops.empty());
}

TEST(ParseRoute, EncapsulationIsSaid) {
    MessageBuilder message(RTM_NEWROUTE, 0, route_header(AF_INET, 24));
    message.address(RTA_DST, "198.51.100.0").u32(RTA_OIF, 7).u16(RTA_ENCAP_TYPE, 1);
    EXPECT_TRUE(event_of<RouteEvent>(message).unsupported);
}

TEST(ParseRoute, MtuIsSaidLockedOrNot) {
    const auto mtu_of = [](uint8_t family, const char* net, uint32_t locks, std::optional<uint32_t> mtu) {
        MessageBuilder message(RTM_NEWROUTE, 0, route_header(family, 24));
        message.address(RTA_DST, net).u32(RTA_OIF, 7);
        message.begin(RTA_METRICS).u32(RTAX_LOCK, locks);
        if (mtu) message.u32(RTAX_MTU, *mtu);
        message.end();
        return event_of<RouteEvent>(message).mtu;
    };
    for (const uint32_t locks : {0U, 1U << RTAX_MTU, 1U << RTAX_WINDOW}) {
        EXPECT_EQ(mtu_of(AF_INET, "198.51.100.0", locks, 1300), 1300U);
        EXPECT_EQ(mtu_of(AF_INET6, "2001:d00::", locks, 1300), 1300U);
        EXPECT_EQ(mtu_of(AF_INET, "198.51.100.0", locks, std::nullopt), 0U);
        EXPECT_EQ(mtu_of(AF_INET, "198.51.100.0", locks, 0), 0U);
    }
    EXPECT_EQ(mtu_of(AF_INET, "198.51.100.0", 0, 20), 68U) << "RFC 791";
    EXPECT_EQ(mtu_of(AF_INET6, "2001:d00::", 0, 600), 1280U) << "RFC 8200";
    EXPECT_EQ(mtu_of(AF_INET, "198.51.100.0", 0, 600), 600U);
}

TEST(ParseRule, OnlyThoseThatNoKernelBeginsWith) {
    fib_rule_hdr header{};
    header.family = AF_INET;
    header.table = RT_TABLE_MAIN;
    MessageBuilder main(RTM_NEWRULE, 0, header);
    EXPECT_EQ(skip_of(main.u32(FRA_TABLE, RT_TABLE_MAIN).u32(FRA_PRIORITY, 32766)), Skip::not_ours);
    MessageBuilder other(RTM_NEWRULE, 0, header);
    EXPECT_EQ(event_of<RuleEvent>(other.u32(FRA_TABLE, 1000).u32(FRA_PRIORITY, 5)),
              (RuleEvent{false, Family::ipv4, 5, 1000}));
    MessageBuilder gone(RTM_DELRULE, 0, header);
    EXPECT_TRUE(event_of<RuleEvent>(gone.u32(FRA_TABLE, 1000).u32(FRA_PRIORITY, 5)).removed);
    MessageBuilder torn(RTM_NEWRULE, 0, header);
    EXPECT_EQ(skip_of(torn.u16(FRA_TABLE, 5)), Skip::malformed);
    // Which sends packets of VRF devices to the tables of these.
    header.table = RT_TABLE_UNSPEC;
    MessageBuilder l3mdev(RTM_NEWRULE, 0, header);
    EXPECT_EQ(skip_of(l3mdev.u32(FRA_PRIORITY, 1000).u8(FRA_L3MDEV, 1)), Skip::not_ours);
}

TEST(ParseRoute, Skips) {
    rtmsg cached = route_header(AF_INET6, 128);
    cached.rtm_flags = RTM_F_CLONED;
    MessageBuilder clone(RTM_NEWROUTE, 0, cached);
    EXPECT_EQ(skip_of(clone.address(RTA_DST, "2001:db8::1").u32(RTA_OIF, 7)), Skip::not_ours);
    rtmsg tos = route_header(AF_INET, 24);
    tos.rtm_tos = 0x10;
    MessageBuilder with_tos(RTM_NEWROUTE, 0, tos);
    const auto of_tos = parse(with_tos.address(RTA_DST, "198.51.100.0").u32(RTA_OIF, 7).exact());
    ASSERT_TRUE(of_tos && std::holds_alternative<SelectiveRouteEvent>(*of_tos)) << "must not catch others";
    EXPECT_EQ(std::get<SelectiveRouteEvent>(*of_tos).tos, 0x10);
    EXPECT_EQ(std::get<SelectiveRouteEvent>(*of_tos).prefix.to_string(), "198.51.100.0/24");
    rtmsg from = route_header(AF_INET6, 32);
    from.rtm_src_len = 64;
    MessageBuilder source(RTM_NEWROUTE, 0, from);
    const auto of_source =
        parse(source.address(RTA_DST, "2001:db8::").address(RTA_SRC, "2001:db8:7::").u32(RTA_OIF, 7).exact());
    ASSERT_TRUE(of_source && std::holds_alternative<SelectiveRouteEvent>(*of_source));
    EXPECT_EQ(std::get<SelectiveRouteEvent>(*of_source).from, Prefix::parse("2001:db8:7::/64").value());
    MessageBuilder multicast(RTM_NEWROUTE, 0, route_header(RTNL_FAMILY_IPMR, 32));
    EXPECT_EQ(skip_of(multicast.address(RTA_DST, "224.1.1.1")), Skip::not_ours);
    MessageBuilder too_long(RTM_NEWROUTE, 0, route_header(AF_INET, 33));
    EXPECT_EQ(skip_of(too_long.address(RTA_DST, "198.51.100.0")), Skip::malformed);
    MessageBuilder no_destination(RTM_NEWROUTE, 0, route_header(AF_INET, 24));
    EXPECT_EQ(skip_of(no_destination.u32(RTA_OIF, 7)), Skip::malformed);
    MessageBuilder odd_via(RTM_NEWROUTE, 0, route_header(AF_INET, 0));
    EXPECT_EQ(skip_of(odd_via.u16(RTA_VIA, AF_INET6)), Skip::malformed);
}

TEST(ParseRoute, MultipathLengthsAreChecked) {
    for (const unsigned wrong : {0U, 4U, 7U, 17U, 60000U}) {
        const auto length = static_cast<uint16_t>(wrong);
        MessageBuilder message(RTM_NEWROUTE, 0, route_header(AF_INET, 0));
        message.begin(RTA_MULTIPATH).begin_hop(7, 1).address(RTA_GATEWAY, "192.0.2.9").end_hop().end();
        auto bytes = message.exact();
        std::memcpy(bytes.data() + sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(nlattr), &length, sizeof length);
        const auto parsed = parse(bytes);
        ASSERT_FALSE(parsed) << length;
        EXPECT_EQ(parsed.error(), Skip::malformed) << length;
    }
}

TEST(ParseNexthop, ObjectsAndGroups) {
    nhmsg header{};
    header.nh_family = AF_INET6;
    MessageBuilder one(RTM_NEWNEXTHOP, 0, header);
    one.u32(NHA_ID, 42).u32(NHA_OIF, 7).address(NHA_GATEWAY, "2001:db8::9");
    EXPECT_EQ(event_of<NextHopEvent>(one).next_hop, (KernelNextHop{7, ip("2001:db8::9"), 1, false}));
    header.nh_family = AF_UNSPEC;
    MessageBuilder group(RTM_NEWNEXTHOP, 0, header);
    const uint8_t members[] = {1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0xff, 1, 0, 0};
    group.u32(NHA_ID, 43).bytes(NHA_GROUP, members);
    const std::vector<NextHopEvent::Member> expected = {{1, 5}, {2, 512}};
    EXPECT_EQ(event_of<NextHopEvent>(group).members, expected);
    EXPECT_FALSE(event_of<NextHopEvent>(group).resilient);
    group.u16(NHA_GROUP_TYPE, NEXTHOP_GRP_TYPE_RES);
    EXPECT_TRUE(event_of<NextHopEvent>(group).resilient);
    MessageBuilder torn(RTM_NEWNEXTHOP, 0, header);
    EXPECT_EQ(skip_of(torn.u32(NHA_ID, 43).u32(NHA_GROUP, 1)), Skip::malformed);
    MessageBuilder unnumbered(RTM_NEWNEXTHOP, 0, header);
    EXPECT_EQ(skip_of(unnumbered.u32(NHA_OIF, 7)), Skip::malformed);
    MessageBuilder bridge(RTM_NEWNEXTHOP, 0, header);
    EXPECT_EQ(skip_of(bridge.u32(NHA_ID, 44).bytes(NHA_FDB, {})), Skip::not_ours);
}

TEST(Parse, EveryTruncationIsSafe) {
    std::vector<std::vector<std::byte>> whole = {vlan_link().exact()};
    MessageBuilder route(RTM_NEWROUTE, 0, route_header(AF_INET, 24));
    route.address(RTA_DST, "198.51.100.0").begin(RTA_MULTIPATH);
    route.begin_hop(7, 3).address(RTA_GATEWAY, "192.0.2.9").end_hop().begin_hop(8, 1).end_hop().end();
    whole.push_back(route.exact());
    for (const auto& message : whole) {
        ASSERT_TRUE(parse(message));
        for (size_t length = 0; length < message.size(); ++length) {
            std::vector<std::byte> cut(message.begin(), message.begin() + static_cast<ptrdiff_t>(length));
            const auto untold = parse(cut);  // nlmsg_len says more than there is
            ASSERT_FALSE(untold);
            EXPECT_EQ(untold.error(), Skip::malformed);
            if (length < sizeof(nlmsghdr)) continue;
            const auto told = static_cast<uint32_t>(length);
            std::memcpy(cut.data(), &told, sizeof told);
            (void)parse(cut);  // may be whole up to here; AddressSanitizer watches
        }
    }
}

TEST(Parse, UnknownTypesAreNotOurs) {
    MessageBuilder message(RTM_NEWQDISC, 0, link_header());
    EXPECT_EQ(skip_of(message), Skip::not_ours);
}

}  // namespace
}  // namespace pktpit::router
