/// A route as the API takes it: the same JSON as one element of /routes in a configuration file.
/// Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"

namespace pktpit::router {

/// All problems, each with its JSON pointer into `json`.
tl::expected<config::StaticRoute, config::Errors> parse_route(const nlohmann::json& json);

nlohmann::json errors_to_json(const config::Errors& errors);

}  // namespace pktpit::router
