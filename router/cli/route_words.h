// SPDX-License-Identifier: BSD-3-Clause
/// The grammar of `pktpit route add …`, which is iproute2's where both have the thing. Pure; any thread.
///
///     [TYPE] PREFIX [TYPE] [NEXT-HOP | nexthop NEXT-HOP…] [backup NEXT-HOP]… [preference N] [metric N]
///     [mtu N] [counters] [vrf NAME]
///
/// TYPE is unicast, blackhole, unreachable or prohibit; PREFIX 192.0.2.0/24, 192.0.2.1 or default; NEXT-HOP
/// [via [inet|inet6] ADDRESS] [dev INTERFACE] [weight N].
///
/// A second `via` begins a second next hop, with or without `nexthop`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace pktpit::router::cli {

/// The body of POST or PUT /v1/routes. `default_family`: what `default` means where no gateway tells.
/// Errors have `where` empty and name the word.
Result<nlohmann::json> parse_route_words(const std::vector<std::string>& words, Family default_family);

/// The body of DELETE: a prefix and, if anything, its type and VRF.
Result<nlohmann::json> parse_route_to_delete(const std::vector<std::string>& words, Family default_family);

}  // namespace pktpit::router::cli
