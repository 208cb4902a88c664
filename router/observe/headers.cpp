// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/headers.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>

#include "router/forward/bytes.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

constexpr uint16_t type_ipv4 = 0x0800;
constexpr uint16_t type_arp = 0x0806;
constexpr uint16_t type_vlan = 0x8100;
constexpr uint16_t type_qinq = 0x88a8;
constexpr uint16_t type_ipv6 = 0x86dd;
constexpr size_t ethernet_bytes = 14;
constexpr size_t ipv4_bytes = 20;
constexpr size_t ipv6_bytes = 40;
constexpr size_t arp_bytes = 28;

enum Protocol : uint8_t { icmp = 1, tcp = 6, udp = 17, gre = 47, esp = 50, icmp6 = 58, sctp = 132 };

std::string mac_text(const uint8_t* bytes) {
    MacAddress mac;
    std::copy_n(bytes, mac.bytes.size(), mac.bytes.begin());
    return mac.to_string();
}

std::string type_text(uint16_t type) {
    switch (type) {
        case type_ipv4:
            return "IPv4";
        case type_arp:
            return "ARP";
        case type_ipv6:
            return "IPv6";
        default:
            char text[8];
            std::snprintf(text, sizeof text, "0x%04x", type);
            return text;
    }
}

std::string protocol_text(uint8_t protocol) {
    switch (protocol) {
        case icmp:
            return "ICMP";
        case tcp:
            return "TCP";
        case udp:
            return "UDP";
        case gre:
            return "GRE";
        case esp:
            return "ESP";
        case icmp6:
            return "ICMPv6";
        case sctp:
            return "SCTP";
        default:
            return std::to_string(protocol);
    }
}

/// What is known of the link layer, and what follows it.
struct Link {
    json vlans = json::array();
    uint16_t type = 0;
    Bytes rest;
};

Link link_of(Bytes frame) {
    Link link{json::array(), load_be16(frame.data() + 12), frame.subspan(ethernet_bytes)};
    while ((link.type == type_vlan || link.type == type_qinq) && link.rest.size() >= 4) {
        link.vlans.push_back(load_be16(link.rest.data()) & 0xfff);
        link.type = load_be16(link.rest.data() + 2);
        link.rest = link.rest.subspan(4);
    }
    return link;
}

void add_transport(json& headers, uint8_t protocol, Bytes bytes) {
    const bool ports = protocol == tcp || protocol == udp || protocol == sctp;
    if (ports && bytes.size() >= 4)
        headers["ports"] = {{"src", load_be16(bytes.data())}, {"dst", load_be16(bytes.data() + 2)}};
    if ((protocol == icmp || protocol == icmp6) && bytes.size() >= 2)
        headers["icmp"] = {{"type", bytes[0]}, {"code", bytes[1]}};
}

void add_ipv4(json& headers, Bytes packet) {
    if (packet.size() < ipv4_bytes) return;
    const size_t header = (packet[0] & 15U) * 4U;
    const uint16_t fragment = load_be16(packet.data() + 6);
    const uint32_t offset = (fragment & 0x1fffU) * 8U;
    headers["ipv4"] = {{"src", IpAddress::v4(packet.data() + 12).to_string()},
                       {"dst", IpAddress::v4(packet.data() + 16).to_string()},
                       {"ttl", packet[8]},
                       {"protocol", protocol_text(packet[9])},
                       {"length", load_be16(packet.data() + 2)},
                       {"id", load_be16(packet.data() + 4)},
                       {"dscp", packet[1] >> 2},
                       {"header_length", header},
                       {"dont_fragment", (fragment & 0x4000) != 0},
                       {"more_fragments", (fragment & 0x2000) != 0},
                       {"fragment_offset", offset}};
    if (offset == 0 && header >= ipv4_bytes && header <= packet.size())
        add_transport(headers, packet[9], packet.subspan(header));
}

void add_ipv6(json& headers, Bytes packet) {
    if (packet.size() < ipv6_bytes) return;
    uint8_t next = packet[6];
    Bytes rest = packet.subspan(ipv6_bytes);
    bool later_fragment = false;
    // Hop-by-hop, routing, fragment, destination options (RFC 8200 4).
    while ((next == 0 || next == 43 || next == 44 || next == 60) && rest.size() >= 8) {
        const size_t length = next == 44 ? 8 : (rest[1] + size_t{1}) * 8;
        if (next == 44) later_fragment = (load_be16(rest.data() + 2) & 0xfff8) != 0;
        if (length > rest.size()) break;
        next = rest[0];
        rest = rest.subspan(length);
    }
    headers["ipv6"] = {{"src", IpAddress::v6(packet.data() + 8).to_string()},
                       {"dst", IpAddress::v6(packet.data() + 24).to_string()},
                       {"hop_limit", packet[7]},
                       {"protocol", protocol_text(next)},
                       {"length", ipv6_bytes + load_be16(packet.data() + 4)},
                       {"flow_label", load_be32(packet.data()) & 0xfffff},
                       {"traffic_class", load_be32(packet.data()) >> 20 & 0xff}};
    if (!later_fragment) add_transport(headers, next, rest);
}

void add_arp(json& headers, Bytes packet) {
    if (packet.size() < arp_bytes) return;
    headers["arp"] = {{"operation", load_be16(packet.data() + 6)},
                      {"sender", IpAddress::v4(packet.data() + 14).to_string()},
                      {"sender_mac", mac_text(packet.data() + 8)},
                      {"target", IpAddress::v4(packet.data() + 24).to_string()}};
}

}  // namespace

json headers_of(std::span<const uint8_t> frame) {
    json headers = json::object();
    if (frame.size() < ethernet_bytes) return headers;
    const Link link = link_of(frame);
    headers["ethernet"] = {{"src", mac_text(frame.data() + 6)},
                           {"dst", mac_text(frame.data())},
                           {"type", type_text(link.type)},
                           {"vlan", link.vlans}};
    if (link.type == type_ipv4) add_ipv4(headers, link.rest);
    if (link.type == type_ipv6) add_ipv6(headers, link.rest);
    if (link.type == type_arp) add_arp(headers, link.rest);
    return headers;
}

std::optional<IpAddress> destination_of(std::span<const uint8_t> frame) {
    if (frame.size() < ethernet_bytes) return std::nullopt;
    const Link link = link_of(frame);
    if (link.type == type_ipv4 && link.rest.size() >= ipv4_bytes) return IpAddress::v4(link.rest.data() + 16);
    if (link.type == type_ipv6 && link.rest.size() >= ipv6_bytes) return IpAddress::v6(link.rest.data() + 24);
    return std::nullopt;
}

}  // namespace pktpit::router
