// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/parse.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "router/kernel/attributes.h"

namespace pktpit::router {

namespace netlink {

namespace {

tl::unexpected<Skip> skip(Skip why) {
    return tl::unexpected(why);
}

/// The fixed header of a message and the attributes behind it.
template <class Header>
std::optional<std::pair<Header, Bytes>> split(Bytes payload) {
    if (payload.size() < sizeof(Header)) return std::nullopt;
    Header header;
    std::memcpy(&header, payload.data(), sizeof header);
    return std::pair{header, payload.subspan(std::min<size_t>(MNL_ALIGN(sizeof(Header)), payload.size()))};
}

std::optional<Family> family_of(uint8_t family) {
    if (family == AF_INET) return Family::ipv4;
    if (family == AF_INET6) return Family::ipv6;
    return std::nullopt;
}

bool parse_vlan(Bytes data, LinkEvent& link) {
    return for_each_attribute(data, [&](const Attribute& attribute) {
        if (attribute.type == IFLA_VLAN_ID) return store(link.vlan_id, attribute.number<uint16_t>());
        if (attribute.type == IFLA_VLAN_PROTOCOL) {
            const auto protocol = attribute.number<uint16_t>();
            if (protocol) link.vlan_protocol = ntohs(*protocol);
            return protocol.has_value();
        }
        return true;
    });
}

bool parse_link_info(Bytes info, LinkEvent& link) {
    Bytes data;
    const bool whole = for_each_attribute(info, [&](const Attribute& attribute) {
        if (attribute.type == IFLA_INFO_KIND) return store(link.kind, attribute.text());
        if (attribute.type == IFLA_INFO_DATA) data = attribute.payload;
        return true;
    });
    // The data's attribute numbers mean something else for every kind.
    return whole && (link.kind != "vlan" || parse_vlan(data, link));
}

NeighbourState state_of(uint16_t nud) {
    if (nud & (NUD_PERMANENT | NUD_NOARP)) return NeighbourState::permanent;
    if (nud & NUD_REACHABLE) return NeighbourState::reachable;
    if (nud & (NUD_STALE | NUD_DELAY | NUD_PROBE)) return NeighbourState::stale;
    if (nud & NUD_INCOMPLETE) return NeighbourState::incomplete;
    if (nud & NUD_FAILED) return NeighbourState::failed;
    return NeighbourState::none;
}

}  // namespace

Parsed parse_link(const Message& message) {
    const auto parts = split<ifinfomsg>(message.payload);
    if (!parts) return skip(Skip::malformed);
    const auto& [header, attributes] = *parts;
    // Bridges announce their ports as links of family AF_BRIDGE, and a port that leaves as a removed one.
    if (header.ifi_family != AF_UNSPEC) return skip(Skip::not_ours);
    if (header.ifi_index <= 0) return skip(Skip::malformed);
    LinkEvent link;
    link.removed = message.type == RTM_DELLINK;
    link.ifindex = static_cast<uint32_t>(header.ifi_index);
    link.admin_up = header.ifi_flags & IFF_UP;
    link.running = header.ifi_flags & (IFF_RUNNING | IFF_LOWER_UP);
    link.up = link.admin_up && (header.ifi_flags & IFF_LOWER_UP);
    link.ethernet = header.ifi_type == ARPHRD_ETHER;
    bool elsewhere = false;
    bool partial = false;
    const bool whole = for_each_attribute(attributes, [&](const Attribute& attribute) {
        switch (attribute.type) {
            case IFLA_IFNAME: {
                const auto name = attribute.text();
                return name && name->size() < IFNAMSIZ && store(link.name, name);
            }
            case IFLA_MTU:
                return store(link.mtu, attribute.number<uint32_t>());
            case IFLA_LINK:
                return store(link.parent, attribute.number<uint32_t>());
            case IFLA_LINK_NETNSID:
                elsewhere = true;
                return true;
            case IFLA_WIRELESS:
                partial = true;
                return true;
            // Other kinds of links have addresses of other lengths; only Ethernet's is of use.
            case IFLA_ADDRESS:
                return !link.ethernet || store(link.mac, attribute.mac());
            case IFLA_IFALIAS:
                link.alias = attribute.text().value_or("");
                return true;
            case IFLA_LINKINFO:
                return parse_link_info(attribute.payload, link);
            default:
                return true;
        }
    });
    if (!whole) return skip(Skip::malformed);
    if (partial) return skip(Skip::not_ours);  // wireless extensions: the name and an event, no state
    if (link.name.empty()) return skip(Skip::malformed);
    if (elsewhere) link.parent = 0;
    return link;
}

Parsed parse_address(const Message& message) {
    const auto parts = split<ifaddrmsg>(message.payload);
    if (!parts) return skip(Skip::malformed);
    const auto& [header, attributes] = *parts;
    const auto family = family_of(header.ifa_family);
    if (!family) return skip(Skip::not_ours);
    std::optional<IpAddress> local;
    std::optional<IpAddress> address;
    uint32_t flags = header.ifa_flags;
    AddressEvent event;
    const bool whole = for_each_attribute(attributes, [&](const Attribute& attribute) {
        switch (attribute.type) {
            case IFA_LOCAL:
                return store(local, attribute.address(*family));
            case IFA_ADDRESS:
                return store(address, attribute.address(*family));
            case IFA_BROADCAST:
                return store(event.broadcast, attribute.address(*family));
            case IFA_FLAGS:
                return store(flags, attribute.number<uint32_t>());
            case IFA_RT_PRIORITY:
                return store(event.metric, attribute.number<uint32_t>());
            case IFA_PROTO: {
                const auto protocol = attribute.number<uint8_t>();
                event.ours = protocol == address_protocol;
                return protocol.has_value();
            }
            default:
                return true;
        }
    });
    if (!whole || header.ifa_index == 0 || !(local || address)) return skip(Skip::malformed);
    // IFA_ADDRESS is the peer where there is one, and repeats IFA_LOCAL otherwise (linux/if_addr.h).
    const IpAddress& own = local ? *local : *address;
    if (header.ifa_prefixlen > own.bits()) return skip(Skip::malformed);
    if (local && address && *local != *address) event.peer = address;
    event.removed = message.type == RTM_DELADDR;
    event.ifindex = header.ifa_index;
    event.address = {own, header.ifa_prefixlen};
    event.prefix_route = !(flags & IFA_F_NOPREFIXROUTE);
    event.tentative = flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) && !(flags & IFA_F_OPTIMISTIC);
    return event;
}

Parsed parse_neighbour(const Message& message) {
    const auto parts = split<ndmsg>(message.payload);
    if (!parts) return skip(Skip::malformed);
    const auto& [header, attributes] = *parts;
    const auto family = family_of(header.ndm_family);
    if (!family || (header.ndm_flags & NTF_PROXY)) return skip(Skip::not_ours);
    if (header.ndm_ifindex <= 0) return skip(Skip::malformed);
    std::optional<IpAddress> destination;
    std::optional<Attribute> link_address;
    const bool whole = for_each_attribute(attributes, [&](const Attribute& attribute) {
        if (attribute.type == NDA_DST) return store(destination, attribute.address(*family));
        if (attribute.type == NDA_LLADDR) link_address = attribute;
        return true;
    });
    if (!whole || !destination) return skip(Skip::malformed);
    if (destination->is_multicast()) return skip(Skip::not_ours);
    // A device without ARP "resolves" whatever is sent through it; broadcast on lo and Ethernet looks the
    // same.
    if ((header.ndm_state & NUD_NOARP) &&
        (header.ndm_type == RTN_BROADCAST || header.ndm_type == RTN_MULTICAST)) {
        return skip(Skip::not_ours);
    }
    NeighbourEvent event;
    event.removed = message.type == RTM_DELNEIGH;
    event.ifindex = static_cast<uint32_t>(header.ndm_ifindex);
    event.address = *destination;
    event.state = state_of(header.ndm_state);
    const bool resolved = event.state == NeighbourState::reachable || event.state == NeighbourState::stale ||
                          event.state == NeighbourState::permanent;
    if (link_address && !store(event.mac, link_address->mac()) && !event.removed)
        return skip(Skip::unsupported);
    if (resolved && !link_address && !event.removed) return skip(Skip::unsupported);
    return event;
}

}  // namespace netlink

tl::expected<KernelEvent, Skip> parse(std::span<const std::byte> message) {
    nlmsghdr header;
    if (message.size() < sizeof header) return tl::unexpected(Skip::malformed);
    std::memcpy(&header, message.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > message.size())
        return tl::unexpected(Skip::malformed);
    const netlink::Message parts{header.nlmsg_type, header.nlmsg_flags,
                                 message.subspan(sizeof header, header.nlmsg_len - sizeof header)};
    switch (header.nlmsg_type) {
        case RTM_NEWLINK:
        case RTM_DELLINK:
            return netlink::parse_link(parts);
        case RTM_NEWADDR:
        case RTM_DELADDR:
            return netlink::parse_address(parts);
        case RTM_NEWNEIGH:
        case RTM_DELNEIGH:
            return netlink::parse_neighbour(parts);
        case RTM_NEWROUTE:
        case RTM_DELROUTE:
            return netlink::parse_route(parts);
        case RTM_NEWNEXTHOP:
        case RTM_DELNEXTHOP:
            return netlink::parse_nexthop(parts);
        case RTM_NEWRULE:
        case RTM_DELRULE:
            return netlink::parse_rule(parts);
        default:
            return tl::unexpected(Skip::not_ours);
    }
}

}  // namespace pktpit::router
