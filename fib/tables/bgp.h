// SPDX-License-Identifier: BSD-3-Clause
/// What a table reader and an update reader need of BGP: prefixes, next hops and the path attributes that
/// choose a route (RFC 4271, RFC 4760, RFC 8950). Pure parsing over a ByteCursor: faults go there. Any
/// thread.
#pragma once

#include <optional>

#include "fib/tables/byte_cursor.h"

namespace pktpit::fib {

/// A length and as many bytes as it takes (RFC 4271 section 4.3); bits behind the length do not matter.
Prefix read_prefix(ByteCursor& bytes, Family family);

struct PathAttributes {
    uint32_t local_pref = 100;    ///< where absent, what every implementation takes
    uint32_t med = 0;             ///< where absent: RFC 4271 section 9.1.2.2 (c)
    uint8_t origin = 2;           ///< 0 IGP, 1 EGP, 2 INCOMPLETE
    uint32_t as_path_length = 0;  ///< an AS_SET counts 1, confederation segments 0 (RFC 5065 section 5.3)
    uint32_t neighbour_as = 0;    ///< leftmost AS outside confederations; 0 if there is none
    std::optional<IpAddress> next_hop;
    std::optional<ByteCursor> mp_reach;  ///< the attribute's value
    std::optional<ByteCursor> mp_unreach;
};

/// AS_PATH has 4-byte numbers in TABLE_DUMP_V2 whatever the peer spoke (RFC 6396 section 4.3.4). Updates need
/// no path, so theirs is not looked at.
enum class AsPath : uint8_t { ignore, four_bytes };

/// All of `block`. Of an attribute that occurs twice the first counts (RFC 7606 section 3 g), except that two
/// MP_REACH_NLRI or MP_UNREACH_NLRI are a fault.
PathAttributes read_attributes(ByteCursor block, AsPath as_path);

/// A next hop of `length` bytes: an IPv4 address, an IPv6 one, or a global and a link-local IPv6 address, of
/// which the first is returned.
IpAddress read_next_hop(ByteCursor& bytes, size_t length);

}  // namespace pktpit::fib
