// SPDX-License-Identifier: BSD-3-Clause
/// What stands behind the `?` of a request, checked and as plain values. Pure functions, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "router/api/control.h"

namespace pktpit::router {

using QueryParameters = std::multimap<std::string, std::string>;  ///< already percent-decoded

inline constexpr size_t max_routes_a_page = 50'000;
inline constexpr size_t max_routes_in_body = 100'000;
inline constexpr size_t max_addresses_in_query = 1024;
inline constexpr size_t max_addresses_in_body = 65'536;

/// Errors have `where` = "?name".
Result<RouteQuery> parse_route_query(const QueryParameters& parameters);
/// Of everything that there is, without `limit` and `after`.
Result<RouteQuery> parse_all_routes_query(const QueryParameters& parameters);
/// `vrf` alone.
Result<RouteQuery> parse_summary_query(const QueryParameters& parameters);
/// Of one address.
Result<AddressQuery> parse_route_to_query(const QueryParameters& parameters);
Result<AddressQuery> parse_lookup_query(const QueryParameters& parameters);
/// The name of a VRF as a client writes it: "default" is the default one. `where`: of the error.
Result<std::string> vrf_of(const std::string& name, std::string where);
/// `after`, or 0.
Result<uint64_t> parse_events_query(const QueryParameters& parameters);
/// `back`, perhaps: how many configurations ago.
Result<std::optional<size_t>> parse_back_query(const QueryParameters& parameters);
/// For requests that take no parameters.
Result<void> parse_empty_query(const QueryParameters& parameters);

}  // namespace pktpit::router
