// SPDX-License-Identifier: BSD-3-Clause
#include "router/hot/destination.h"

#include <bit>
#include <cstring>

namespace pktpit::router {
namespace {

bool is_v4(const pp_destination& destination) {
    return destination.high == 0 && destination.low >> 32 == PP_DESTINATION_IPV4 >> 32;
}

uint64_t big_endian(uint64_t value) {
    if constexpr (std::endian::native == std::endian::little) return __builtin_bswap64(value);
    return value;
}

}  // namespace

IpAddress address_of(const pp_destination& destination) {
    if (is_v4(destination)) return IpAddress::v4(static_cast<uint32_t>(destination.low));
    const uint64_t words[2] = {big_endian(destination.high), big_endian(destination.low)};
    return IpAddress::v6(reinterpret_cast<const uint8_t*>(words));
}

pp_destination destination_of(const IpAddress& address) {
    if (address.is_v4()) return {0, PP_DESTINATION_IPV4 | address.v4_host_order()};
    uint64_t words[2];
    std::memcpy(words, address.bytes.data(), sizeof words);
    return {big_endian(words[0]), big_endian(words[1])};
}

// The families cannot meet: 2^48 and above is IPv4.
uint64_t neighbourhood_of(const pp_destination& destination) {
    if (is_v4(destination)) return uint64_t{1} << 48 | (destination.low & 0xffffffff) >> 8;
    return destination.high >> 16;
}

}  // namespace pktpit::router
