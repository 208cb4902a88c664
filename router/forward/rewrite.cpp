// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

/// MAC addresses and the tags of the adjacency, then the ingress frame's EtherType; its length.
uint32_t write_link_layer(const Frame& frame, Decision& decision, const Egress& egress) {
    uint8_t* out = decision.header.data();
    std::memcpy(out, &egress.next, 6);
    std::memcpy(out + 6, &egress.own, 6);
    uint32_t at = 12;
    // Bytes of the tags word: TPIDs in 0..3, TCIs in 4..7, outermost first, as on the wire.
    for (uint32_t tag = 0; tag < 2; tag++) {
        const auto tpid = static_cast<uint16_t>(egress.tags >> (16 * tag));
        if (tpid == 0) break;
        const auto tci = static_cast<uint16_t>(egress.tags >> (32 + 16 * tag));
        std::memcpy(out + at, &tpid, 2);
        std::memcpy(out + at + 2, &tci, 2);
        at += vlan_tag;
    }
    store_be16(out + at, frame.ethertype);
    return at + 2;
}

/// Copies the IP header behind the link layer's; where it lies now.
uint8_t* write_header(const Frame& frame, Decision& decision, const Egress& egress, uint32_t ip_header) {
    const uint32_t link_layer = write_link_layer(frame, decision, egress);
    uint8_t* ip = decision.header.data() + link_layer;
    std::memcpy(ip, &frame.slice[decision.l3_offset], ip_header);
    decision.header_length = static_cast<uint16_t>(link_layer + ip_header);
    decision.consumed = static_cast<uint16_t>(decision.l3_offset + ip_header);
    return ip;
}

}  // namespace

uint32_t trailer_of(const Frame& frame, const Decision& decision, uint32_t packet) {
    const uint32_t room = frame.length - decision.l3_offset;
    return room > least_payload ? room - packet : 0;
}

uint16_t updated_checksum(uint16_t checksum, uint16_t old_word, uint16_t new_word) {
    uint32_t sum = static_cast<uint16_t>(~checksum);
    sum += static_cast<uint16_t>(~old_word);
    sum += new_word;
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return static_cast<uint16_t>(~sum);
}

void rewrite_ipv4(const Frame& frame, Decision& decision, const Egress& egress) {
    uint8_t* ip = write_header(frame, decision, egress, 20);
    const uint16_t before = load_be16(ip + 8);
    ip[8]--;
    store_be16(ip + 10, updated_checksum(load_be16(ip + 10), before, load_be16(ip + 8)));
}

void rewrite_ipv6(const Frame& frame, Decision& decision, const Egress& egress) {
    uint8_t* ip = write_header(frame, decision, egress, 40);
    ip[7]--;
}

}  // namespace pktpit::router
