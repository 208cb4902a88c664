// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

constexpr size_t ipv6_fixed_header = 40;
constexpr uint8_t next_header_hop_by_hop = 0;
constexpr uint8_t option_pad1 = 0;
constexpr uint8_t option_padn = 1;
/// Options other than padding that are walked; RFC 8504 5.3.
constexpr unsigned max_options = 8;

struct Address {
    uint64_t high;
    uint64_t low;
    explicit Address(const uint8_t* bytes) : high(load_be64(bytes)), low(load_be64(bytes + 8)) {}

    [[nodiscard]] bool is_multicast() const { return high >> 56 == 0xff; }
    [[nodiscard]] bool is_link_local() const { return high >> 54 == 0xfe80 >> 6; }
    /// Unspecified, loopback, IPv4-mapped: on no wire (RFC 4291 2.5.2, 2.5.3; RFC 6890).
    [[nodiscard]] bool is_martian() const { return high == 0 && (low <= 1 || low >> 32 == 0xffff); }
};

/// The hop-by-hop header behind the fixed one (RFC 8200 4.3). `payload` is the payload length; `pointer`
/// becomes the byte of the packet that a PP_PUNT_IPV6_OPTION is about.
pp_verdict walk_hop_by_hop(Bytes packet, uint32_t payload, uint16_t& pointer) {
    if (packet.size() < ipv6_fixed_header + 8) return PP_DROP_IPV6_EXTENSION;
    const size_t length = (packet[ipv6_fixed_header + 1] + size_t{1}) * 8;
    if (length > payload || ipv6_fixed_header + length > packet.size()) return PP_DROP_IPV6_EXTENSION;
    const size_t end = ipv6_fixed_header + length;

    unsigned options = 0;
    for (size_t at = ipv6_fixed_header + 2; at < end;) {
        const uint8_t type = packet[at];
        if (type == option_pad1) {
            at++;
            continue;
        }
        if (at + 2 > end || at + 2 + packet[at + 1] > end) return PP_DROP_IPV6_EXTENSION;
        if (type != option_padn) {
            switch (type >> 6) {  // RFC 8200 4.2: what to do if it is not known
                case 0:
                    if (++options > max_options) return PP_DROP_IPV6_EXTENSION;
                    break;
                case 1:
                    return PP_DROP_IPV6_OPTION;
                default:
                    pointer = static_cast<uint16_t>(at);
                    return PP_PUNT_IPV6_OPTION;
            }
        }
        at += 2u + packet[at + 1];
    }
    return PP_NONE;
}

}  // namespace

// The order of reasons, and why it is that one, stands in bpf/route.h.
pp_verdict check_ipv6(const Frame& frame, const Decision& decision, fib::Ip6Bytes& destination) {
    const Bytes packet = frame.slice.subspan(decision.l3_offset);
    const uint32_t room = frame.length - decision.l3_offset;
    if (packet.size() < ipv6_fixed_header) return PP_DROP_TRUNCATED;
    if (packet[0] >> 4 != 6) return PP_DROP_IPV6_VERSION;
    const uint32_t payload = load_be16(&packet[4]);
    if (ipv6_fixed_header + payload > room) return PP_DROP_IPV6_LENGTH;
    if (packet[6] == next_header_hop_by_hop && payload == 0)
        return PP_DROP_IPV6_LENGTH;  // RFC 2675: jumbogram
    std::memcpy(destination.data(), &packet[24], destination.size());
    const Address address(&packet[24]);
    if (address.is_multicast()) return PP_HOST_MULTICAST;
    return address.is_link_local() ? PP_HOST_LINK_LOCAL : PP_NONE;
}

pp_verdict decide_ipv6(const Frame& frame, Decision& decision, Egress& egress, uint32_t group) {
    const Bytes packet = frame.slice.subspan(decision.l3_offset);
    const uint32_t payload = load_be16(&packet[4]);
    const Address source(&packet[8]);
    const Address destination(&packet[24]);
    choose_adjacency(frame, decision, egress, group,
                     [packet, &frame] { return flow_hash_ipv6(packet, hash_seed(frame)); });
    if (const auto verdict = host_verdict(decision, egress.kind))
        return verdict == PP_HOST_LOCAL && fails_rpf_ipv6(frame, decision, &packet[8], true) ? PP_DROP_RPF
                                                                                             : verdict;

    if (frame.link_layer_group) return PP_DROP_L2_BROADCAST;
    if (destination.is_martian()) return PP_DROP_MARTIAN_DESTINATION;
    if (source.is_multicast() || source.is_martian()) return PP_DROP_MARTIAN_SOURCE;
    if (source.is_link_local()) return PP_PUNT_BEYOND_SCOPE;  // RFC 4291 2.5.6
    if (const auto verdict = source_verdict_ipv6(frame, &packet[8])) return verdict;
    if (fails_rpf_ipv6(frame, decision, &packet[8], false)) return PP_DROP_RPF;

    if (packet[6] == next_header_hop_by_hop) {
        if (const auto verdict = walk_hop_by_hop(packet, payload, decision.parameter_pointer)) return verdict;
    }
    if (const auto verdict = route_verdict(egress)) return verdict;
    if (packet[7] <= 1) return PP_PUNT_TTL_EXPIRED;
    if (const auto verdict = egress_verdict(frame, decision, egress)) return verdict;
    const uint32_t total_length = ipv6_fixed_header + payload;
    if (total_length > decision.mtu) return PP_PUNT_TOO_BIG;
    decision.trailer = trailer_of(frame, decision, total_length);
    return PP_FORWARDED;
}

}  // namespace pktpit::router
