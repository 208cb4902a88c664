// SPDX-License-Identifier: BSD-3-Clause
// Routes and nexthop objects; the rest is in parse.cpp.
#include <linux/fib_rules.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "router/kernel/attributes.h"
#include "router/kernel/parse.h"

namespace pktpit::router::netlink {

namespace {

tl::unexpected<Skip> skip(Skip why) {
    return tl::unexpected(why);
}

/// RTA_VIA: a gateway of another family than the route's (RFC 8950: IPv4 over an IPv6 next hop).
bool parse_via(const Attribute& attribute, std::optional<IpAddress>& gateway) {
    uint16_t family = 0;
    if (attribute.payload.size() < sizeof family) return false;
    std::memcpy(&family, attribute.payload.data(), sizeof family);
    const Attribute address{attribute.type, attribute.payload.subspan(sizeof family)};
    if (family == AF_INET6) return store(gateway, address.address(Family::ipv6));
    if (family == AF_INET) return store(gateway, address.address(Family::ipv4));
    return false;
}

/// RTA_MULTIPATH: rtnexthop structures, each with attributes of its own. False if one contradicts its length.
bool parse_multipath(Bytes bytes, Family family, RouteEvent& route) {
    while (!bytes.empty()) {
        rtnexthop header;
        if (bytes.size() < sizeof header) return false;
        std::memcpy(&header, bytes.data(), sizeof header);
        if (header.rtnh_len < sizeof header || header.rtnh_len > bytes.size() || header.rtnh_ifindex < 0)
            return false;
        KernelNextHop hop;
        hop.ifindex = static_cast<uint32_t>(header.rtnh_ifindex);
        hop.weight = static_cast<uint16_t>(header.rtnh_hops + 1);
        hop.dead = header.rtnh_flags & RTNH_F_DEAD;
        const bool whole = for_each_attribute(bytes.subspan(sizeof header, header.rtnh_len - sizeof header),
                                              [&](const Attribute& attribute) {
                                                  if (attribute.type == RTA_GATEWAY)
                                                      return store(hop.gateway, attribute.address(family));
                                                  if (attribute.type == RTA_VIA)
                                                      return parse_via(attribute, hop.gateway);
                                                  if (attribute.type == RTA_ENCAP_TYPE)
                                                      route.unsupported = true;
                                                  return true;
                                              });
        if (!whole) return false;
        route.next_hops.push_back(hop);
        bytes = bytes.subspan(std::min<size_t>(RTNH_ALIGN(header.rtnh_len), bytes.size()));
    }
    return true;
}

/// NHA_GROUP: an array of nexthop_grp. Its second weight byte came with Linux 6.12 and was reserved, and
/// zero, before; older headers do not name it.
bool parse_group(Bytes bytes, NextHopEvent& event) {
    if (bytes.size() % sizeof(nexthop_grp) != 0) return false;
    for (; !bytes.empty(); bytes = bytes.subspan(sizeof(nexthop_grp))) {
        uint32_t id = 0;
        std::memcpy(&id, bytes.data(), sizeof id);
        const auto low = std::to_integer<uint32_t>(bytes[sizeof id]);
        const auto high = std::to_integer<uint32_t>(bytes[sizeof id + 1]);
        event.members.push_back({id, static_cast<uint16_t>(std::min((high << 8 | low) + 1, 0xffffU))});
    }
    return true;
}

/// RTA_METRICS: the MTU, locked or not; 0: none. Never below what every link of its family carries (RFC 791:
/// 68 bytes; RFC 8200: 1280, as ip6_forward() has it).
uint32_t mtu_of(const Attribute& metrics, Family family) {
    uint32_t mtu = 0;
    for_each_attribute(metrics.payload, [&](const Attribute& metric) {
        if (metric.type == RTAX_MTU) mtu = metric.number<uint32_t>().value_or(0);
        return true;
    });
    return mtu == 0 ? 0 : std::max(mtu, family == Family::ipv4 ? 68U : 1280U);
}

/// NHA_RES_GROUP: times in hundredths of a second (USER_HZ).
std::chrono::milliseconds idle_timer_of(const Attribute& group) {
    uint32_t centiseconds = 0;
    for_each_attribute(group.payload, [&](const Attribute& attribute) {
        if (attribute.type == NHA_RES_GROUP_IDLE_TIMER)
            centiseconds = attribute.number<uint32_t>().value_or(0);
        return true;
    });
    return std::chrono::milliseconds(uint64_t{centiseconds} * 10);
}

/// Types whose packets do not leave by a next hop; IPv6 writes the loopback device into them nevertheless.
bool is_terminal(uint8_t type) {
    return type == RTN_BLACKHOLE || type == RTN_UNREACHABLE || type == RTN_PROHIBIT || type == RTN_THROW;
}

}  // namespace

Parsed parse_route(const Message& message) {
    rtmsg header;
    if (message.payload.size() < sizeof header) return skip(Skip::malformed);
    std::memcpy(&header, message.payload.data(), sizeof header);
    if (header.rtm_family != AF_INET && header.rtm_family != AF_INET6) return skip(Skip::not_ours);
    if (header.rtm_flags & RTM_F_CLONED) return skip(Skip::not_ours);
    const Family family = header.rtm_family == AF_INET ? Family::ipv4 : Family::ipv6;
    RouteEvent route;
    route.table = header.rtm_table;
    KernelNextHop single;
    IpAddress destination;
    destination.family = family;
    IpAddress source_net;
    source_net.family = family;
    bool has_destination = false;
    bool has_hop = false;
    const bool whole =
        for_each_attribute(message.payload.subspan(sizeof header), [&](const Attribute& attribute) {
            switch (attribute.type) {
                case RTA_DST:
                    has_destination = true;
                    return store(destination, attribute.address(family));
                case RTA_SRC:
                    return store(source_net, attribute.address(family));
                case RTA_TABLE:
                    return store(route.table, attribute.number<uint32_t>());
                case RTA_PRIORITY:
                    return store(route.metric, attribute.number<uint32_t>());
                case RTA_PREF:
                    return store(route.preference, attribute.number<uint8_t>());
                case RTA_NH_ID:
                    return store(route.nexthop_id, attribute.number<uint32_t>());
                case RTA_PREFSRC:
                    return store(route.source, attribute.address(family));
                case RTA_OIF:
                    has_hop = true;
                    return store(single.ifindex, attribute.number<uint32_t>());
                case RTA_GATEWAY:
                    has_hop = true;
                    return store(single.gateway, attribute.address(family));
                case RTA_VIA:
                    has_hop = true;
                    return parse_via(attribute, single.gateway);
                case RTA_ENCAP_TYPE:
                    route.unsupported = true;
                    return true;
                case RTA_METRICS:
                    route.mtu = mtu_of(attribute, family);
                    return true;
                case RTA_MULTIPATH:
                    return parse_multipath(attribute.payload, family, route);
                default:
                    return true;
            }
        });
    const unsigned bits = family == Family::ipv4 ? 32 : 128;
    if (!whole || header.rtm_dst_len > bits || header.rtm_src_len > bits ||
        (header.rtm_dst_len > 0 && !has_destination)) {
        return skip(Skip::malformed);
    }
    // The FIB knows destinations only: a route that also asks for a TOS or a source must not catch the
    // others.
    if (header.rtm_src_len > 0 || (family == Family::ipv4 && header.rtm_tos != 0))
        return SelectiveRouteEvent{message.type == RTM_DELROUTE,
                                   Prefix::of(destination, header.rtm_dst_len),
                                   route.table,
                                   route.metric,
                                   header.rtm_protocol,
                                   header.rtm_tos,
                                   header.rtm_src_len > 0
                                       ? std::optional(Prefix::of(source_net, header.rtm_src_len))
                                       : std::nullopt};
    single.dead = header.rtm_flags & RTNH_F_DEAD;
    if (has_hop && route.next_hops.empty()) route.next_hops.push_back(single);
    if (is_terminal(header.rtm_type)) route.next_hops.clear();
    route.removed = message.type == RTM_DELROUTE;
    route.prefix = Prefix::of(destination, header.rtm_dst_len);
    route.protocol = header.rtm_protocol;
    route.type = header.rtm_type;
    route.scope = header.rtm_scope;
    route.dumped = message.flags & NLM_F_MULTI;
    if (!route.removed && !route.dumped) {
        route.replaces = message.flags & NLM_F_REPLACE;
        route.appends = message.flags & NLM_F_APPEND;
        route.creates = message.flags & NLM_F_CREATE;
        route.exclusive = message.flags & NLM_F_EXCL;
    }
    return route;
}

// The three that the kernel itself makes are followed as far as the routes of one table go: nothing to tell.
// Nor of that which sends packets of a VRF device to its table (l3mdev): so does Pktpit.
Parsed parse_rule(const Message& message) {
    fib_rule_hdr header;
    if (message.payload.size() < sizeof header) return skip(Skip::malformed);
    std::memcpy(&header, message.payload.data(), sizeof header);
    if (header.family != AF_INET && header.family != AF_INET6) return skip(Skip::not_ours);
    RuleEvent rule;
    rule.removed = message.type == RTM_DELRULE;
    rule.family = header.family == AF_INET ? Family::ipv4 : Family::ipv6;
    rule.table = header.table;
    bool l3mdev = false;
    const bool whole =
        for_each_attribute(message.payload.subspan(sizeof header), [&](const Attribute& attribute) {
            if (attribute.type == FRA_TABLE) return store(rule.table, attribute.number<uint32_t>());
            if (attribute.type == FRA_L3MDEV) l3mdev = true;
            if (attribute.type == FRA_PRIORITY) return store(rule.priority, attribute.number<uint32_t>());
            return true;
        });
    if (!whole) return skip(Skip::malformed);
    constexpr uint32_t priority_main = 0x7ffe;
    constexpr uint32_t priority_default = 0x7fff;
    const bool own = (rule.priority == 0 && rule.table == RT_TABLE_LOCAL) ||
                     (rule.priority == priority_main && rule.table == RT_TABLE_MAIN) ||
                     (rule.priority == priority_default && rule.table == RT_TABLE_DEFAULT);
    if (own || l3mdev) return skip(Skip::not_ours);
    return rule;
}

Parsed parse_nexthop(const Message& message) {
    nhmsg header;
    if (message.payload.size() < sizeof header) return skip(Skip::malformed);
    std::memcpy(&header, message.payload.data(), sizeof header);
    NextHopEvent event;
    event.removed = message.type == RTM_DELNEXTHOP;
    event.dumped = message.flags & NLM_F_MULTI;
    event.next_hop.dead = header.nh_flags & RTNH_F_DEAD;
    const Family family = header.nh_family == AF_INET6 ? Family::ipv6 : Family::ipv4;
    bool bridge = false;
    const bool whole =
        for_each_attribute(message.payload.subspan(sizeof header), [&](const Attribute& attribute) {
            switch (attribute.type) {
                case NHA_ID:
                    return store(event.id, attribute.number<uint32_t>());
                case NHA_OIF:
                    return store(event.next_hop.ifindex, attribute.number<uint32_t>());
                case NHA_GATEWAY:
                    return store(event.next_hop.gateway, attribute.address(family));
                case NHA_BLACKHOLE:
                    event.blackhole = true;
                    return true;
                case NHA_ENCAP_TYPE:
                    event.unsupported = true;
                    return true;
                case NHA_FDB:
                    bridge = true;
                    return true;
                case NHA_GROUP:
                    return parse_group(attribute.payload, event);
                case NHA_GROUP_TYPE:
                    event.resilient = attribute.number<uint16_t>() == uint16_t{NEXTHOP_GRP_TYPE_RES};
                    return true;
                case NHA_RES_GROUP:
                    event.idle_timer = idle_timer_of(attribute);
                    return true;
                default:
                    return true;
            }
        });
    if (!whole || event.id == 0) return skip(Skip::malformed);
    if (bridge) return skip(Skip::not_ours);  // for a VXLAN's forwarding database, never for routes
    return event;
}

}  // namespace pktpit::router::netlink
