// SPDX-License-Identifier: BSD-3-Clause
/// Numbers in network byte order at any alignment. The caller has checked that they lie inside its span.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace pktpit::router {

using Bytes = std::span<const uint8_t>;

inline uint16_t load_be16(const uint8_t* bytes) {
    return static_cast<uint16_t>(bytes[0] << 8 | bytes[1]);
}

inline uint32_t load_be32(const uint8_t* bytes) {
    uint32_t value;
    std::memcpy(&value, bytes, sizeof(value));
    return __builtin_bswap32(value);
}

inline uint64_t load_be64(const uint8_t* bytes) {
    uint64_t value;
    std::memcpy(&value, bytes, sizeof(value));
    return __builtin_bswap64(value);
}

inline void store_be16(uint8_t* bytes, uint16_t value) {
    bytes[0] = static_cast<uint8_t>(value >> 8);
    bytes[1] = static_cast<uint8_t>(value);
}

/// Whether 16-bit words that add up to `sum`, in 32-bit words as they lie, have the one's complement sum
/// 0xffff: the same in any byte order (RFC 1071 2B).
inline bool checksum_right(uint64_t sum) {
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (sum >> 16) + (sum & 0xffff) == 0xffff;
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the FIB image's words are read as little-endian");

}  // namespace pktpit::router
