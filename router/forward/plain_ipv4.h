// SPDX-License-Identifier: BSD-3-Clause
/// The same decision for the packet that most are: IPv4 without options, untagged, to the port's own MAC
/// address, with nothing behind it but padding, forwarded by a group of one adjacency without tags. It keeps
/// nothing between the two steps but the destination and writes the header by words. Whatever is different in
/// any respect is "not plain", and the steps of frame.h decide, from the beginning; so only what is forwarded
/// is decided here, and no reason why something is not. Internal to router/forward.
#pragma once

#include "fib/lookup.h"
#include "router/forward/batch.h"
#include "router/forward/frame.h"

namespace pktpit::router::plain {

inline constexpr size_t header = ethernet_header + 20;

template <class Word>
Word load(const void* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
}

inline uint64_t sum_of(const uint8_t* ip) {
    return uint64_t{load<uint32_t>(ip)} + load<uint32_t>(ip + 4) + load<uint32_t>(ip + 8) +
           load<uint32_t>(ip + 12) + load<uint32_t>(ip + 16);
}

/// 0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, from 224.0.0.0 on: something else happens to these.
inline bool is_special(uint32_t address) {
    const uint32_t net = address >> 24;
    return net == 0 || net == 127 || net >= 224 || address >> 16 == 0xa9fe;
}

/// False: not plain. Else `destination` is to be looked up.
inline bool before_lookup(const ImageView& image, const IngressFrame& in, uint32_t& destination) {
    if (in.slice.size() < header || in.frame_length < header) return false;
    const uint8_t* frame = in.slice.data();
    constexpr uint64_t mac = 0xffffffffffff;
    const pp_fib_port* port = pp_fib_port_at(image.base, image.geometry, in.port);
    const uint64_t own = load<uint64_t>(port->mac) & mac;
    if (((load<uint64_t>(frame) ^ own) & mac) != 0 || (frame[0] & 1) != 0) return false;
    // The source is nobody's group, nor the destination; half of it tells the two apart, mostly.
    if ((frame[6] & 1) != 0 || load<uint32_t>(frame + 8) == static_cast<uint32_t>(own >> 16)) return false;
    // EtherType 0x0800, version 4, five words.
    if ((load<uint32_t>(frame + 12) & 0xffffff) != 0x450008 || port->interface == 0) return false;
    const uint32_t total_length = load_be16(frame + 16);
    const uint32_t room = in.frame_length - ethernet_header;
    if (total_length < 20 || total_length > room || (total_length != room && room > least_payload))
        return false;
    if (!in.checksum_good && !checksum_right(sum_of(frame + ethernet_header))) return false;
    destination = load_be32(frame + 30);
    const uint32_t source = load_be32(frame + 26);
    return !is_special(destination) && !is_special(source) && frame[22] > 1 &&
           !pp_fib_is_suspect(image.base, image.geometry, pp_fib_source_bit4(source));
}

/// Of a frame that before_lookup() found plain. False: not plain after all, and `decision` is as it was.
inline bool after_lookup(const ImageView& image, const IngressFrame& in, Decision& decision, uint32_t group) {
    const uint64_t members = pp_fib_group_word(image.base, image.geometry, group);
    if (PP_FIB_GROUP_BITS(members) != 0) return false;
    const uint32_t adjacency = PP_FIB_GROUP_FIRST(members);
    const pp_fib_adjacency* entry = pp_fib_adjacency_at(image.base, image.geometry, adjacency);
    // One load a word, as in read_adjacency().
    const auto word = [entry](size_t index) {
        return reinterpret_cast<const volatile uint64_t*>(entry)[index];
    };
    const uint64_t next = word(0), own = word(1), link = word(3);
    const auto mtu = static_cast<uint32_t>(link);
    const auto egress_port = static_cast<uint16_t>(own >> 48);
    const uint8_t* frame = in.slice.data();
    if (static_cast<uint8_t>(next >> 48) != PP_ADJ_FORWARD || (word(2) & 0xffffffff) != 0) return false;
    if (egress_port == 0 || egress_port >= image.geometry->port_count || load_be16(frame + 16) > mtu)
        return false;
    if ((pp_fib_port_at(image.base, image.geometry, egress_port)->flags & PP_PORT_UP) == 0) return false;

    decision.egress_port = egress_port;
    decision.egress_interface = static_cast<uint16_t>(link >> 32);
    decision.adjacency = adjacency;
    decision.route_counter = static_cast<uint16_t>(PP_FIB_GROUP_COUNTER(members));
    decision.mtu = mtu;
    decision.l3_offset = ethernet_header;
    decision.ingress_interface = pp_fib_port_at(image.base, image.geometry, in.port)->interface;
    decision.consumed = decision.header_length = header;
    uint8_t* out = decision.header.data();
    const uint64_t macs = (next & 0xffffffffffff) | own << 48;
    const auto rest_of_own = static_cast<uint32_t>(own >> 16);
    const uint32_t type = load<uint32_t>(frame + 12);
    // TTL and protocol are one 16-bit word, in either byte order; so the checksum's update can stay in this
    // machine's.
    const uint64_t until_protocol = load<uint64_t>(frame + 16) - (uint64_t{1} << 48);
    const auto before = load<uint16_t>(frame + 22);
    const uint16_t checksum =
        updated_checksum(load<uint16_t>(frame + 24), before, static_cast<uint16_t>(before - 1));
    const uint64_t until_destination = (load<uint64_t>(frame + 24) & ~uint64_t{0xffff}) | checksum;
    const auto last = load<uint16_t>(frame + 32);
    std::memcpy(out, &macs, 8);
    std::memcpy(out + 8, &rest_of_own, 4);
    std::memcpy(out + 12, &type, 4);
    std::memcpy(out + 16, &until_protocol, 8);
    std::memcpy(out + 24, &until_destination, 8);
    std::memcpy(out + 32, &last, 2);
    decision.verdict = PP_FORWARDED;
    return true;
}

}  // namespace pktpit::router::plain
