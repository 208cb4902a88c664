/// Prefixes of one family in as few bytes as they need, as keys of large tables. Any thread; nothing
/// allocates.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "fib/address.h"

namespace pktpit::fib {

/// 8 bytes; ordered as Prefix is.
struct PrefixKey4 {
    static constexpr Family family = Family::ipv4;
    static constexpr unsigned bits = 32;

    uint32_t address = 0;  ///< host byte order, so that keys compare like addresses
    uint32_t length = 0;

    static PrefixKey4 of(const Prefix& prefix) { return {prefix.address.v4_host_order(), prefix.length}; }
    static PrefixKey4 of(const IpAddress& address, unsigned length) {
        return PrefixKey4{address.v4_host_order(), 32}.shortened(length);
    }
    [[nodiscard]] PrefixKey4 shortened(unsigned to) const {
        return {to == 0 ? 0 : address & ~uint32_t{0} << (32 - to), to};
    }
    [[nodiscard]] Prefix prefix() const { return {IpAddress::v4(address), static_cast<uint8_t>(length)}; }
    auto operator<=>(const PrefixKey4&) const = default;
};

/// 20 bytes, aligned to 4: a tenth of a full table's memory less than with 8-byte words.
struct PrefixKey6 {
    static constexpr Family family = Family::ipv6;
    static constexpr unsigned bits = 128;

    uint32_t words[4] = {};  ///< most significant first, host byte order each
    uint32_t length = 0;

    static PrefixKey6 of(const Prefix& prefix) { return of(prefix.address, prefix.length); }
    static PrefixKey6 of(const IpAddress& address, unsigned length) {
        PrefixKey6 key;
        for (size_t i = 0; i < 4; i++)
            key.words[i] = IpAddress::v4(address.bytes.data() + 4 * i).v4_host_order();
        key.length = 128;
        return key.shortened(length);
    }
    [[nodiscard]] PrefixKey6 shortened(unsigned to) const {
        PrefixKey6 key = *this;
        key.length = to;
        for (unsigned i = 0; i < 4; i++) {
            if (to <= 32 * i)
                key.words[i] = 0;
            else if (to < 32 * (i + 1))
                key.words[i] &= ~uint32_t{0} << (32 * (i + 1) - to);
        }
        return key;
    }
    [[nodiscard]] Prefix prefix() const {
        Prefix result;
        result.address.family = Family::ipv6;
        result.length = static_cast<uint8_t>(length);
        for (size_t i = 0; i < 16; i++)
            result.address.bytes[i] = static_cast<uint8_t>(words[i / 4] >> (24 - 8 * (i % 4)));
        return result;
    }
    auto operator<=>(const PrefixKey6&) const = default;
};

struct PrefixKeyHash {
    size_t operator()(const PrefixKey4& key) const {
        return spread(uint64_t{key.address} << 32 | key.length);
    }
    size_t operator()(const PrefixKey6& key) const {
        const uint64_t high = uint64_t{key.words[0]} << 32 | key.words[1];
        const uint64_t low = uint64_t{key.words[2]} << 32 | key.words[3];
        return spread(spread(high + key.length) ^ low);
    }

  private:
    /// Multiply and fold: the tables index by the low bits, prefixes differ in the high ones.
    static size_t spread(uint64_t value) {
        value *= 0x9e3779b97f4a7c15ull;
        value ^= value >> 32;
        value *= 0xd6e8feb86659fd93ull;
        return value ^ value >> 32;
    }
};

}  // namespace pktpit::fib
