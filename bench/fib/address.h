// SPDX-License-Identifier: BSD-3-Clause
/// Addresses as lookups take them: IPv4 as host-order numbers, IPv6 as 16 bytes in network order. What is
/// written once for both families takes the address type as its template parameter. Any thread.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "base/address.h"

namespace pktpit::bench::fib {

using Address4 = uint32_t;
using Address6 = std::array<uint8_t, 16>;

template <class T>
concept LookupAddress = std::same_as<T, Address4> || std::same_as<T, Address6>;

template <LookupAddress Address>
inline constexpr Family family_of = std::same_as<Address, Address4> ? Family::ipv4 : Family::ipv6;

/// Addresses a lookup call, as routers take packets from a NIC.
inline constexpr size_t batch_size = 64;

template <LookupAddress Address>
Address to_lookup_address(const IpAddress& address) {
    if constexpr (std::same_as<Address, Address4>)
        return address.v4_host_order();
    else
        return address.bytes;
}

inline IpAddress to_ip_address(Address4 address) {
    return IpAddress::v4(address);
}
inline IpAddress to_ip_address(const Address6& address) {
    return IpAddress::v6(address.data());
}

inline const char* name_of(Family family) {
    return family == Family::ipv4 ? "IPv4" : "IPv6";
}

}  // namespace pktpit::bench::fib
