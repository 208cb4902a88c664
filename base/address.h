// SPDX-License-Identifier: BSD-3-Clause
/// IPv4, IPv6 and MAC addresses and prefixes as plain values. Any thread; nothing here allocates but
/// to_string().
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit {

enum class Family : uint8_t { ipv4 = 4, ipv6 = 6 };

/// An IPv4 or IPv6 address. IPv4 lies in the first 4 bytes, the rest is zero. Network byte order.
struct IpAddress {
    std::array<uint8_t, 16> bytes{};
    Family family = Family::ipv4;

    static IpAddress v4(uint32_t host_order);
    static IpAddress v4(const uint8_t* network_order);
    static IpAddress v6(const uint8_t* network_order);
    /// Dotted quad, or RFC 4291 text. No zone, no surrounding space, no leading zeros.
    static Result<IpAddress> parse(std::string_view text);

    [[nodiscard]] bool is_v4() const { return family == Family::ipv4; }
    [[nodiscard]] bool is_v6() const { return family == Family::ipv6; }
    [[nodiscard]] unsigned bits() const { return is_v4() ? 32 : 128; }
    [[nodiscard]] unsigned size() const { return bits() / 8; }
    [[nodiscard]] uint32_t v4_host_order() const;
    [[nodiscard]] bool is_unspecified() const;
    [[nodiscard]] bool is_loopback() const;
    [[nodiscard]] bool is_multicast() const;
    [[nodiscard]] bool is_link_local() const;     ///< 169.254/16, fe80::/10
    [[nodiscard]] std::string to_string() const;  ///< IPv6 after RFC 5952

    auto operator<=>(const IpAddress&) const = default;
};

struct MacAddress {
    std::array<uint8_t, 6> bytes{};
    static Result<MacAddress> parse(std::string_view text);  ///< "02:00:00:00:00:01"
    [[nodiscard]] bool is_zero() const { return *this == MacAddress{}; }
    [[nodiscard]] bool is_multicast() const { return bytes[0] & 1; }
    [[nodiscard]] std::string to_string() const;
    auto operator<=>(const MacAddress&) const = default;
};

/// A network prefix; bits behind `length` are zero.
struct Prefix {
    IpAddress address;
    uint8_t length = 0;

    /// Clears the bits behind `length`, which must be at most address.bits().
    static Prefix of(IpAddress address, unsigned length);
    /// "192.0.2.0/24", "2001:db8::/32". Host bits must be zero; a missing length is an error.
    static Result<Prefix> parse(std::string_view text);

    [[nodiscard]] bool contains(const IpAddress& address) const;
    [[nodiscard]] bool contains(const Prefix& other) const;
    [[nodiscard]] bool overlaps(const Prefix& other) const;
    [[nodiscard]] IpAddress last() const;  ///< highest address inside: the broadcast address for IPv4
    [[nodiscard]] std::string to_string() const;
    auto operator<=>(const Prefix&) const = default;
};

/// An address of an interface together with its net: "192.0.2.1/24". Host bits are kept.
struct InterfaceAddress {
    IpAddress address;
    uint8_t length = 0;

    static Result<InterfaceAddress> parse(std::string_view text);
    [[nodiscard]] Prefix net() const { return Prefix::of(address, length); }
    [[nodiscard]] std::string to_string() const;
    auto operator<=>(const InterfaceAddress&) const = default;
};

}  // namespace pktpit

template <>
struct std::hash<pktpit::IpAddress> {
    size_t operator()(const pktpit::IpAddress& address) const noexcept;
};
template <>
struct std::hash<pktpit::Prefix> {
    size_t operator()(const pktpit::Prefix& prefix) const noexcept;
};
