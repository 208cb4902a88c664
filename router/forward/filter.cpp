// SPDX-License-Identifier: BSD-3-Clause
#include "bpf/filter_lookup.h"
#include "router/forward/frame.h"
#include "router/forward/steps.h"

namespace pktpit::router {
namespace {

constexpr uint8_t protocol_icmp = 1, protocol_tcp = 6, protocol_icmpv6 = 58;
constexpr uint8_t fragment_header = 44, authentication_header = 51;
constexpr size_t most_extensions = 8;

/// Protocols whose first four bytes are the ports.
bool shows_ports(uint8_t protocol) {
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

/// `header`: as much of the transport header as the packet has and the slice shows.
pp_filter_key key_of(uint8_t protocol, uint8_t icmp, Bytes header) {
    constexpr size_t ports = 4, tcp_up_to_flags = 14;
    pp_filter_key key{};
    key.transport = PP_FILTER_OTHER * 256U + protocol;
    if (shows_ports(protocol) && header.size() >= ports) {
        key.has_ports = 1;
        key.source_port = load_be16(&header[0]);
        key.destination_port = load_be16(&header[2]);
    }
    if (protocol == protocol_tcp && header.size() >= tcp_up_to_flags)
        key.transport = PP_FILTER_TCP * 256U + header[tcp_up_to_flags - 1];
    if (protocol == icmp && !header.empty()) key.transport = PP_FILTER_ICMP * 256U + header[0];
    return key;
}

pp_filter_key fragment_key(uint8_t protocol) {
    return {PP_FILTER_FRAGMENT * 256U + protocol, 0, 0, 0};
}

pp_filter_key key_of_ipv4(Bytes packet) {
    const uint8_t protocol = packet[9];
    if ((load_be16(&packet[6]) & 0x1fff) != 0) return fragment_key(protocol);
    const Bytes whole = packet.first(std::min<size_t>(packet.size(), load_be16(&packet[2])));
    return key_of(protocol, protocol_icmp,
                  whole.subspan(std::min(whole.size(), (packet[0] & 15U) * size_t{4})));
}

pp_filter_key key_of_ipv6(Bytes packet) {
    const Bytes whole = packet.first(std::min<size_t>(packet.size(), 40U + load_be16(&packet[4])));
    uint8_t protocol = packet[6];
    size_t at = 40;
    for (size_t walked = 0; walked <= most_extensions; walked++) {
        const bool options = protocol == 0 || protocol == 43 || protocol == 60;
        const bool fragment = protocol == fragment_header;
        if (!options && !fragment && protocol != authentication_header)
            return key_of(protocol, protocol_icmpv6, whole.subspan(std::min(at, whole.size())));
        if (walked == most_extensions || at + 4 > whole.size()) break;
        if (fragment && (load_be16(&whole[at + 2]) & 0xfff8) != 0) return fragment_key(whole[at]);
        const uint8_t length = whole[at + 1];
        protocol = whole[at];
        at += fragment ? 8U : options ? (length + 1U) * 8 : (length + 2U) * 4;
    }
    // The end of the headers is not seen: it is of the last one's number.
    return {PP_FILTER_OTHER * 256U + protocol, 0, 0, 0};
}

/// What is for other stations is the host's whatever is in it, and may end within the IP header.
bool has_header(Bytes packet, bool ipv6) {
    return packet.size() >= (ipv6 ? 40U : 20U);
}

/// Neighbour discovery passes, as ARP does: without it there is no IPv6. A hop limit of 255 has met no
/// router.
bool is_neighbour_discovery(Bytes packet, const pp_filter_key& key) {
    constexpr uint32_t icmp = PP_FILTER_ICMP * 256U;
    return key.transport >= icmp + 133 && key.transport <= icmp + 137 && packet[7] == 255;
}

/// What the interface's filter says of the packet; 0: it has none.
uint32_t rule_of(const FilterView& view, const void* half, uint16_t interface, bool out, bool ipv6,
                 Bytes packet, const pp_filter_key& key) {
    const pp_filter_shape* shape = view.shape;
    const uint32_t rules = pp_filter_of(half, shape, interface, out ? 1 : 0, ipv6 ? 1 : 0);
    if (rules == 0) return 0;
    if (PP_FILTER_RULES_FIELD(half, shape, rules, words) == 0)
        return PP_FILTER_RULES_FIELD(half, shape, rules, unmatched);
    if (!has_header(packet, ipv6)) return PP_FILTER_ACCEPT;
    const uint32_t sources = PP_FILTER_RULES_FIELD(half, shape, rules, source);
    const uint32_t destinations = PP_FILTER_RULES_FIELD(half, shape, rules, destination);
    if (!ipv6)
        return pp_filter_match(half, shape, rules,
                               pp_filter_class4(half, shape, sources, load_be32(&packet[12])),
                               pp_filter_class4(half, shape, destinations, load_be32(&packet[16])), &key);
    return pp_filter_match(half, shape, rules, pp_filter_class6(half, shape, sources, &packet[8]),
                           pp_filter_class6(half, shape, destinations, &packet[24]), &key);
}

/// Has the packet an interface to leave by? Either it does, or the daemon will see to it that it does.
bool is_leaving(pp_verdict verdict) {
    return verdict == PP_FORWARDED || verdict == PP_PUNT_NO_NEIGHBOUR || verdict == PP_PUNT_TOO_BIG ||
           verdict == PP_PUNT_IPV4_OPTIONS;
}

}  // namespace

void pass_filters(const Frame& frame, Decision& decision) {
    if (!frame.image.filters) return;
    const FilterView* view = frame.image.filters->load(std::memory_order_acquire);
    const bool ipv6 = frame.ethertype == ethertype_ipv6;
    if (!view || (!ipv6 && frame.ethertype != ethertype_ipv4)) return;
    const pp_action action = action_of(decision.verdict);
    if (action != PP_ACTION_FORWARD && action != PP_ACTION_HOST && action != PP_ACTION_PUNT) return;

    const Bytes packet = frame.slice.subspan(std::min<size_t>(decision.l3_offset, frame.slice.size()));
    const void* half = pp_filter_half(view->block, view->shape, pp_filter_current(view->block));
    pp_filter_key key{};
    if (has_header(packet, ipv6)) key = ipv6 ? key_of_ipv6(packet) : key_of_ipv4(packet);
    const auto passes = [&](uint16_t interface, bool out, uint32_t& counter) {
        const uint32_t rule = rule_of(*view, half, interface, out, ipv6, packet, key);
        counter = PP_FILTER_COUNTER(rule);
        const uint32_t said = PP_FILTER_ACTION(rule);
        if (said == PP_FILTER_ACCEPT || (ipv6 && is_neighbour_discovery(packet, key))) return true;
        if (said == PP_FILTER_DROP)
            decision.verdict = PP_DROP_FILTER;
        else if (action != PP_ACTION_HOST)
            decision.verdict = PP_HOST_FILTER;
        return false;
    };
    const bool leaving = is_leaving(decision.verdict);
    if (passes(decision.ingress_interface, false, decision.filter_in) && leaving)
        passes(decision.egress_interface, true, decision.filter_out);
}

}  // namespace pktpit::router
