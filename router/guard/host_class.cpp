// SPDX-License-Identifier: BSD-3-Clause
#include "router/guard/host_class.h"

namespace pktpit::router {
namespace {

constexpr size_t ethernet_header = 14;
constexpr size_t vlan_tag = 4;
constexpr uint8_t protocol_icmp = 1;
constexpr uint8_t protocol_tcp = 6;
constexpr uint8_t protocol_icmpv6 = 58;
constexpr uint16_t bgp_port = 179;

uint16_t word_at(std::span<const uint8_t> bytes, size_t at) {
    return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

/// Of the TCP header there, if it is seen.
pp_host_class class_of_tcp(std::span<const uint8_t> slice, size_t header) {
    if (header + 4 > slice.size()) return PP_HOST_CLASS_OTHER;
    const bool bgp = word_at(slice, header) == bgp_port || word_at(slice, header + 2) == bgp_port;
    return bgp ? PP_HOST_CLASS_BGP : PP_HOST_CLASS_OTHER;
}

pp_host_class class_of_ipv4(std::span<const uint8_t> slice, size_t ip) {
    if (ip + 20 > slice.size() || (word_at(slice, ip + 6) & 0x1fff) != 0) return PP_HOST_CLASS_OTHER;
    const uint8_t protocol = slice[ip + 9];
    if (protocol == protocol_icmp) return PP_HOST_CLASS_ICMP;
    if (protocol != protocol_tcp) return PP_HOST_CLASS_OTHER;
    return class_of_tcp(slice, ip + (slice[ip] & 15U) * size_t{4});
}

pp_host_class class_of_ipv6(std::span<const uint8_t> slice, size_t ip) {
    if (ip + 40 > slice.size()) return PP_HOST_CLASS_OTHER;
    const uint8_t protocol = slice[ip + 6];
    if (protocol == protocol_icmpv6)
        return shows_discovery(slice, ip) ? PP_HOST_CLASS_ARP : PP_HOST_CLASS_ICMP;
    return protocol == protocol_tcp ? class_of_tcp(slice, ip + 40) : PP_HOST_CLASS_OTHER;
}

}  // namespace

bool shows_discovery(std::span<const uint8_t> slice, size_t l3_offset) {
    if (l3_offset + 41 > slice.size()) return false;
    const auto ip = slice.subspan(l3_offset);
    return ip[6] == protocol_icmpv6 && ip[7] == 255 && ip[40] >= 133 && ip[40] <= 137;
}

pp_host_class host_class_of(std::span<const uint8_t> slice) {
    if (slice.size() < ethernet_header) return PP_HOST_CLASS_OTHER;
    size_t offset = ethernet_header;
    uint16_t ethertype = word_at(slice, offset - 2);
    for (int tag = 0; tag < 2 && (ethertype == 0x8100 || ethertype == 0x88a8); tag++) {
        offset += vlan_tag;
        if (slice.size() < offset) return PP_HOST_CLASS_OTHER;
        ethertype = word_at(slice, offset - 2);
    }
    switch (ethertype) {
        case 0x0806:
            return PP_HOST_CLASS_ARP;
        case 0x0800:
            return class_of_ipv4(slice, offset);
        case 0x86dd:
            return class_of_ipv6(slice, offset);
        default:
            return PP_HOST_CLASS_OTHER;
    }
}

}  // namespace pktpit::router
