// SPDX-License-Identifier: BSD-3-Clause
/// Bytes of a packet: the Internet checksum, and an IP packet found in a frame.
/// Nothing here reads beyond the span that it is given.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/address.h"
#include "router/forward/bytes.h"

namespace pktpit::router {

inline constexpr size_t ipv4_header_min = 20;
inline constexpr size_t ipv4_header_max = 60;
inline constexpr size_t ipv6_header_bytes = 40;

inline void store_be32(uint8_t* at, uint32_t value) {
    store_be16(at, static_cast<uint16_t>(value >> 16));
    store_be16(at + 2, static_cast<uint16_t>(value));
}

/// RFC 1071 sum over the bytes, not folded; chain it through `sum`. Only the last part may be of odd length.
uint32_t checksum_add(Bytes bytes, uint32_t sum = 0);
/// The field's value for a sum.
uint16_t checksum_finish(uint32_t sum);
/// Fills in an IPv4 header's checksum.
void checksum_ipv4(std::span<uint8_t> header);

/// An IP packet that lies whole in a frame: `bytes` ends where its length field says, without link padding.
struct Packet {
    Bytes bytes;
    Family family = Family::ipv4;
    size_t header_length = 0;  ///< with IPv4 options; 40 for IPv6

    [[nodiscard]] Bytes header() const { return bytes.first(header_length); }
    [[nodiscard]] Bytes payload() const { return bytes.subspan(header_length); }
    [[nodiscard]] IpAddress source() const;
    [[nodiscard]] IpAddress destination() const;
    [[nodiscard]] uint8_t ttl() const { return bytes[family == Family::ipv4 ? 8 : 7]; }
};

/// nullopt: not IPv4 or IPv6, or longer than what is there.
std::optional<Packet> parse_packet(Bytes bytes);

/// The header, copied, as it leaves a router: TTL one less, IPv4 checksum to match.
struct OwnedHeader {
    std::array<uint8_t, ipv4_header_max> bytes{};
    size_t length = 0;
    [[nodiscard]] std::span<uint8_t> span() { return std::span(bytes).first(length); }
    [[nodiscard]] Bytes view() const { return Bytes(bytes).first(length); }
};
OwnedHeader decremented(const Packet& packet);

}  // namespace pktpit::router
