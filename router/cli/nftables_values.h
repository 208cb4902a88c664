// SPDX-License-Identifier: BSD-3-Clause
/// The right side of one match of an nftables rule as values of a filter's rule. Internal to nftables_import.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router::cli::nft {

using nlohmann::json;

/// Values of one key: a rule for each is made.
using Values = std::vector<json>;

/// Error::message says why it cannot be said.
Result<Values> addresses(const Values& elements);
Result<Values> ports(const Values& elements);
Result<Values> protocols(const Values& elements);
/// `v6`: of ICMPv6.
Result<Values> icmp_types(const Values& elements, bool v6);
/// Of `tcp flags & mask == set`: {"syn,!ack"}.
Result<Values> tcp_flags(const json& mask, const json& set);
/// Of `tcp flags syn`: it is set.
Result<Values> tcp_flag(const json& right);

}  // namespace pktpit::router::cli::nft
