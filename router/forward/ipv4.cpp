// SPDX-License-Identifier: BSD-3-Clause
#include "bpf/dhcp_layout.h"
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

constexpr size_t ipv4_fixed_header = 20;

enum Option : uint8_t {
    option_end = 0,
    option_nop = 1,
    option_record_route = 7,
    option_timestamp = 68,
    option_loose_source_route = 131,
    option_strict_source_route = 137,
};

bool header_right(Bytes header) {
    uint64_t sum = 0;
    for (size_t at = 0; at < header.size(); at += 4) {
        uint32_t word;
        std::memcpy(&word, &header[at], sizeof word);
        sum += word;
    }
    return checksum_right(sum);
}

bool is_link_local(uint32_t address) {
    return address >> 16 == 0xa9fe;
}
bool is_martian_destination(uint32_t address) {
    const uint32_t net = address >> 24;
    return net == 0 || net == 127 || net >= 240;
}
/// RFC 1812 5.3.7, RFC 6890.
bool is_martian_source(uint32_t address) {
    return is_martian_destination(address) || address >> 28 == 14;
}

/// PP_NONE: every option stays as it is. Else `pointer` is the byte of the header that it is about. A source
/// route is looked for behind options to process too, but nothing behind a malformed option means anything.
pp_verdict scan_options(Bytes header, uint16_t& pointer) {
    pp_verdict verdict = PP_NONE;
    for (size_t at = ipv4_fixed_header; at < header.size();) {
        const uint8_t type = header[at];
        if (type == option_end) break;
        if (type == option_nop) {
            at++;
            continue;
        }
        const auto here = static_cast<uint16_t>(at);
        if (type == option_loose_source_route || type == option_strict_source_route) {
            pointer = here;
            return PP_DROP_IPV4_SOURCE_ROUTE;
        }
        const size_t length = at + 1 < header.size() ? header[at + 1] : 0;
        if (length < 2 || at + length > header.size()) {
            pointer = here;
            return PP_PUNT_IPV4_OPTIONS;
        }
        if (verdict == PP_NONE && (type == option_record_route || type == option_timestamp)) {
            verdict = PP_PUNT_IPV4_OPTIONS;
            pointer = here;
        }
        at += length;
    }
    return verdict;
}

/// As bpf/dhcp.h has it. Where a NIC has split the frame before the client's address, the host gets it: what
/// is for others comes by ports that have addresses, but for unnumbered ones.
bool is_dhcp_answer(const Frame& frame, Bytes packet, size_t header_length) {
    const uint64_t own = image_word(pp_fib_port_at(frame.image.base, frame.image.geometry, frame.port), 0);
    if ((own >> 48 & PP_PORT_AWAITS_DHCP) == 0) return false;
    if (packet[9] != PP_IPPROTO_UDP || (load_be16(&packet[6]) & PP_IPV4_FRAGMENT) != 0) return false;
    const Bytes udp = packet.subspan(header_length);
    if (udp.size() < 4 || load_be16(&udp[2]) != PP_DHCP_CLIENT_PORT) return false;
    if (udp.size() < PP_DHCP_BYTES) return frame.length > frame.slice.size();
    return udp[PP_DHCP_OP] == PP_DHCP_REPLY && udp[PP_DHCP_HTYPE] == PP_DHCP_ETHERNET &&
           udp[PP_DHCP_HLEN] == 6 && std::memcmp(&udp[PP_DHCP_CHADDR], &own, 6) == 0;
}

}  // namespace

// The order of reasons, and why it is that one, stands in bpf/route.h.
pp_verdict check_ipv4(const Frame& frame, const Decision& decision, uint32_t& destination) {
    const Bytes packet = frame.slice.subspan(decision.l3_offset);
    const uint32_t room = frame.length - decision.l3_offset;
    if (packet.size() < ipv4_fixed_header) return PP_DROP_TRUNCATED;
    if (packet[0] >> 4 != 4) return PP_DROP_IPV4_VERSION;
    const size_t header_length = (packet[0] & 15u) * 4;
    if (header_length < ipv4_fixed_header || header_length > packet.size()) return PP_DROP_IPV4_HEADER_LENGTH;
    const Bytes header = packet.first(header_length);
    const uint32_t total_length = load_be16(&header[2]);
    if (total_length < header_length || total_length > room) return PP_DROP_IPV4_LENGTH;
    if (!frame.checksum_good && !header_right(header)) return PP_DROP_IPV4_CHECKSUM;

    destination = load_be32(&header[16]);
    if (destination >> 28 == 14) return PP_HOST_MULTICAST;
    if (destination == 0xffffffff) return PP_HOST_BROADCAST;
    return is_dhcp_answer(frame, packet, header_length) ? PP_HOST_DHCP : PP_NONE;
}

pp_verdict decide_ipv4(const Frame& frame, Decision& decision, Egress& egress, uint32_t group) {
    const Bytes packet = frame.slice.subspan(decision.l3_offset);
    const Bytes header = packet.first((packet[0] & 15u) * 4);
    const size_t header_length = header.size();
    const uint32_t total_length = load_be16(&header[2]);
    const uint32_t source = load_be32(&header[12]);
    const uint32_t destination = load_be32(&header[16]);
    choose_adjacency(frame, decision, egress, group,
                     [packet, &frame] { return flow_hash_ipv4(packet, hash_seed(frame)); });
    if (const auto verdict = host_verdict(decision, egress.kind))
        return verdict == PP_HOST_LOCAL && fails_rpf_ipv4(frame, decision, source, true) ? PP_DROP_RPF
                                                                                         : verdict;

    if (frame.link_layer_group) return PP_DROP_L2_BROADCAST;
    if (is_link_local(destination)) return PP_DROP_LINK_LOCAL;  // RFC 3927 7
    if (is_martian_destination(destination)) return PP_DROP_MARTIAN_DESTINATION;
    if (is_link_local(source)) return PP_DROP_LINK_LOCAL;
    if (is_martian_source(source)) return PP_DROP_MARTIAN_SOURCE;
    if (const auto verdict = source_verdict_ipv4(frame, source)) return verdict;
    if (fails_rpf_ipv4(frame, decision, source, false)) return PP_DROP_RPF;

    uint16_t pointer = 0;
    const pp_verdict options = header_length > ipv4_fixed_header ? scan_options(header, pointer) : PP_NONE;
    if (options == PP_DROP_IPV4_SOURCE_ROUTE) return options;
    if (const auto verdict = route_verdict(egress)) return verdict;
    if (header[8] <= 1) return PP_PUNT_TTL_EXPIRED;
    if (const auto verdict = egress_verdict(frame, decision, egress)) return verdict;
    if (options != PP_NONE) {
        decision.parameter_pointer = pointer;
        return options;
    }
    if (total_length > decision.mtu) return PP_PUNT_TOO_BIG;
    decision.trailer = trailer_of(frame, decision, total_length);
    return PP_FORWARDED;
}

}  // namespace pktpit::router
