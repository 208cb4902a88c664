// SPDX-License-Identifier: BSD-3-Clause
/// What the API's bodies have of routes and errors. Pure functions, any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/route_json.h"

namespace pktpit::router {

using config::parse_route;

nlohmann::json errors_to_json(const config::Errors& errors);

}  // namespace pktpit::router
