// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/partial_checksum.h"

#include <netinet/in.h>

#include "router/forward/frame.h"
#include "router/forward/packet.h"

namespace pktpit::router {
namespace {

constexpr uint16_t fragment_bits = 0x3fff;  // more fragments, offset

/// Of the IP packet; 0: none, or not read that far.
size_t packet_at(Bytes frame) {
    size_t at = ethernet_header;
    for (int tags = 0; at <= frame.size(); tags++, at += vlan_tag) {
        const uint16_t type = load_be16(frame.data() + at - 2);
        if (type == ethertype_ipv4 || type == ethertype_ipv6) return at;
        if (tags == 2 || (type != ethertype_vlan && type != ethertype_qinq)) return 0;
    }
    return 0;
}

}  // namespace

bool complete_checksum(std::span<uint8_t> frame) {
    const size_t at = packet_at(frame);
    const auto packet = at != 0 ? parse_packet(frame.subspan(at)) : std::nullopt;
    if (!packet) return false;
    const bool v4 = packet->family == Family::ipv4;
    if (v4 && (load_be16(packet->bytes.data() + 6) & fragment_bits) != 0) return false;
    const uint8_t protocol = packet->bytes[v4 ? 9 : 6];
    if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) return false;
    const std::span<uint8_t> segment = frame.subspan(at + packet->header_length, packet->payload().size());
    const size_t place = protocol == IPPROTO_TCP ? 16 : 6;
    if (segment.size() < place + 2) return false;

    const Bytes addresses = v4 ? packet->bytes.subspan(12, 8) : packet->bytes.subspan(8, 32);
    const auto length = static_cast<uint32_t>(segment.size());
    const auto pseudo = static_cast<uint16_t>(~checksum_finish(checksum_add(addresses, protocol + length)));
    if (load_be16(segment.data() + place) != pseudo) return false;
    // With the pseudo header's sum in its field the segment alone has the sum of both.
    const uint16_t checksum = checksum_finish(checksum_add(segment));
    const bool none = protocol == IPPROTO_UDP && checksum == 0;  // RFC 768: 0 would say that there is none
    store_be16(segment.data() + place, none ? 0xffff : checksum);
    return true;
}

}  // namespace pktpit::router
