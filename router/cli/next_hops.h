// SPDX-License-Identifier: BSD-3-Clause
/// How next hops are written for people: as iproute2 writes them. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

#include "router/cli/table.h"

namespace pktpit::router::cli {

/// "via 192.0.2.7 dev eth0 weight 2"; the weight only if `weights`.
std::string next_hop_text(const nlohmann::json& hop, bool weights);

/// One cell a next hop, coloured by its state, and one, indented, for each that a recursive one resolves to;
/// one with the type for a route that has none.
std::vector<Cell> next_hop_cells(const nlohmann::json& route);

}  // namespace pktpit::router::cli
