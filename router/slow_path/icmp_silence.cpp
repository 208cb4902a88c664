// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/icmp_silence.h"

namespace pktpit::router {

namespace {

constexpr uint8_t protocol_icmp4 = 1;
constexpr uint8_t protocol_icmp6 = 58;
constexpr uint8_t header_hop_by_hop = 0;
constexpr uint8_t header_routing = 43;
constexpr uint8_t header_fragment = 44;
constexpr uint8_t header_authentication = 51;
constexpr uint8_t header_destination_options = 60;
constexpr uint8_t redirect6 = 137;

/// A query may be answered with an error; a type that nobody has defined may be an error of tomorrow.
bool is_icmp4_query(uint8_t type) {
    switch (type) {
        case 0:
        case 8:
        case 9:
        case 10:
        case 13:
        case 14:
        case 15:
        case 16:
        case 17:
        case 18:
        case 42:
        case 43:
            return true;
        default:
            return false;
    }
}

/// RFC 1812 4.3.2.7: "a source address that does not define a single host".
bool is_single_host4(uint32_t address) {
    const uint32_t first = address >> 24;
    return first != 0 && first != 127 && first < 224;
}

std::optional<Counter> silence4(const Packet& packet, const SilenceContext& context) {
    const uint8_t* header = packet.bytes.data();
    const IpAddress source = packet.source();
    const IpAddress destination = packet.destination();
    if (load_be16(header + 6) & 0x1fff) return Counter::icmp_silent_fragment;
    if (header[9] == protocol_icmp4) {
        const Bytes payload = packet.payload();
        // Cut off before its type: nobody can tell that it is no error.
        if (payload.empty() || !is_icmp4_query(payload[0])) return Counter::icmp_silent_icmp_error;
    }
    if (destination.is_multicast()) return Counter::icmp_silent_multicast;
    if (destination.v4_host_order() == 0xffffffff || context.is_broadcast(destination))
        return Counter::icmp_silent_broadcast;
    if (context.link_multicast) return Counter::icmp_silent_link_broadcast;
    if (!is_single_host4(source.v4_host_order()) || context.is_broadcast(source))
        return Counter::icmp_silent_source;
    return std::nullopt;
}

/// Is this an ICMPv6 error or redirect, or can it not be told from what is there?
bool is_icmp6_error(const Packet& packet) {
    uint8_t next = packet.bytes[6];
    Bytes rest = packet.payload();
    for (;;) {
        size_t length = 0;
        switch (next) {
            case protocol_icmp6:
                return rest.empty() || rest[0] < 128 || rest[0] == redirect6;
            case header_fragment:
                // The type lies in the first fragment: a later one of ICMPv6 may belong to an error.
                if (rest.size() < 8) return false;
                if (load_be16(rest.data() + 2) & 0xfff8) return rest[0] == protocol_icmp6;
                length = 8;
                break;
            case header_hop_by_hop:
            case header_routing:
            case header_destination_options:
                if (rest.size() < 8) return false;
                length = (rest[1] + 1U) * 8U;
                break;
            case header_authentication:
                if (rest.size() < 8) return false;
                length = (rest[1] + 2U) * 4U;
                break;
            default:
                return false;
        }
        if (length > rest.size()) return false;
        next = rest[0];
        rest = rest.subspan(length);
    }
}

std::optional<Counter> silence6(const Packet& packet, const SilenceContext& context) {
    if (is_icmp6_error(packet)) return Counter::icmp_silent_icmp_error;
    if (!context.multicast_may_be_answered) {
        if (packet.destination().is_multicast()) return Counter::icmp_silent_multicast;
        if (context.link_multicast) return Counter::icmp_silent_link_broadcast;
    }
    const IpAddress source = packet.source();
    if (source.is_unspecified() || source.is_multicast() || source.is_loopback())
        return Counter::icmp_silent_source;
    return std::nullopt;
}

}  // namespace

std::optional<Counter> icmp_silence(const Packet& packet, const SilenceContext& context) {
    return packet.family == Family::ipv4 ? silence4(packet, context) : silence6(packet, context);
}

}  // namespace pktpit::router
