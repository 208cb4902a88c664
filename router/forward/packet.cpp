// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/packet.h"

#include <algorithm>

namespace pktpit::router {

uint32_t checksum_add(Bytes bytes, uint32_t sum) {
    // 64 KiB of 16-bit words sum to below 2^31: one fold per call keeps any chain in range.
    size_t at = 0;
    for (; at + 1 < bytes.size(); at += 2)
        sum += load_be16(bytes.data() + at);
    if (at < bytes.size()) sum += static_cast<uint32_t>(bytes[at]) << 8;
    return (sum & 0xffff) + (sum >> 16);
}

uint16_t checksum_finish(uint32_t sum) {
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return static_cast<uint16_t>(~sum);
}

void checksum_ipv4(std::span<uint8_t> header) {
    store_be16(header.data() + 10, 0);
    store_be16(header.data() + 10, checksum_finish(checksum_add(header)));
}

IpAddress Packet::source() const {
    return family == Family::ipv4 ? IpAddress::v4(bytes.data() + 12) : IpAddress::v6(bytes.data() + 8);
}

IpAddress Packet::destination() const {
    return family == Family::ipv4 ? IpAddress::v4(bytes.data() + 16) : IpAddress::v6(bytes.data() + 24);
}

std::optional<Packet> parse_packet(Bytes bytes) {
    if (bytes.empty()) return std::nullopt;
    switch (bytes[0] >> 4) {
        case 4: {
            if (bytes.size() < ipv4_header_min) return std::nullopt;
            size_t header = (bytes[0] & 0x0fU) * 4U;
            size_t total = load_be16(bytes.data() + 2);
            if (header < ipv4_header_min || total < header || total > bytes.size()) return std::nullopt;
            return Packet{bytes.first(total), Family::ipv4, header};
        }
        case 6: {
            if (bytes.size() < ipv6_header_bytes) return std::nullopt;
            size_t total = ipv6_header_bytes + load_be16(bytes.data() + 4);
            if (total > bytes.size()) return std::nullopt;
            return Packet{bytes.first(total), Family::ipv6, ipv6_header_bytes};
        }
        default:
            return std::nullopt;
    }
}

OwnedHeader decremented(const Packet& packet) {
    OwnedHeader header;
    header.length = packet.header_length;
    std::ranges::copy(packet.header(), header.bytes.begin());
    if (packet.family == Family::ipv4) {
        header.bytes[8]--;
        checksum_ipv4(header.span());
    } else {
        header.bytes[7]--;
    }
    return header;
}

}  // namespace pktpit::router
