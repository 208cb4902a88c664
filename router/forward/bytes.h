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

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the FIB image's words are read as little-endian");

}  // namespace pktpit::router
