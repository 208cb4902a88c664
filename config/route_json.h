// SPDX-License-Identifier: BSD-3-Clause
/// A route as the API takes it and the daemon keeps it: the same JSON as one element of /routes in a
/// configuration file, on its own. Pure function, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "config/config.h"

namespace pktpit::config {

/// All problems, each with its JSON pointer into `json`.
tl::expected<StaticRoute, Errors> parse_route(const nlohmann::json& json);
/// The same, of what says nothing but the route: without a document around it, which costs more than all of
/// a large table's routes need to.
std::string route_text(const StaticRoute& route);

}  // namespace pktpit::config
