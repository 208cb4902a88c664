// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/slow_path/icmp.h"

namespace pktpit::router::icmp6 {

namespace {

constexpr uint8_t next_header_icmp6 = 58;
constexpr uint8_t redirect = 137;
constexpr uint8_t neighbour_discovery_hop_limit = 255;  // RFC 4861 4.5: none that comes from elsewhere has it
constexpr uint8_t target_link_layer_address = 2;
constexpr uint8_t redirected_header = 4;
constexpr size_t option_unit = 8;  // bytes
constexpr size_t fixed = 40;       // ICMPv6 header, target and destination

}  // namespace

std::vector<uint8_t> build_redirect(const Packet& original, const IpAddress& source, const IpAddress& target,
                                    const MacAddress& mac) {
    constexpr size_t room = size_max - ipv6_header_bytes - fixed - option_unit - option_unit;
    const size_t quoted = std::min(original.bytes.size(), room) / option_unit * option_unit;
    const size_t payload = fixed + option_unit + option_unit + quoted;
    std::vector<uint8_t> packet(ipv6_header_bytes + payload);
    uint8_t* ip = packet.data();
    ip[0] = 0x60;
    store_be16(ip + 4, static_cast<uint16_t>(payload));
    ip[6] = next_header_icmp6;
    ip[7] = neighbour_discovery_hop_limit;
    std::copy_n(source.bytes.begin(), 16, ip + 8);
    std::copy_n(original.bytes.begin() + 8, 16, ip + 24);

    uint8_t* icmp = ip + ipv6_header_bytes;
    icmp[0] = redirect;
    std::copy_n(target.bytes.begin(), 16, icmp + 8);
    std::copy_n(original.bytes.begin() + 24, 16, icmp + 24);
    uint8_t* option = icmp + fixed;
    option[0] = target_link_layer_address;
    option[1] = 1;
    std::copy_n(mac.bytes.begin(), mac.bytes.size(), option + 2);
    option += option_unit;
    option[0] = redirected_header;
    option[1] = static_cast<uint8_t>(1 + quoted / option_unit);
    std::copy_n(original.bytes.begin(), quoted, option + option_unit);
    // RFC 8200 8.1: over both addresses, the length and the next header too.
    uint32_t sum = checksum_add(Bytes(packet).subspan(8, 32));
    sum += static_cast<uint32_t>(payload) + next_header_icmp6;
    store_be16(icmp + 2, checksum_finish(checksum_add(Bytes(packet).subspan(ipv6_header_bytes), sum)));
    return packet;
}

}  // namespace pktpit::router::icmp6
