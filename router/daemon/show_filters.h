// SPDX-License-Identifier: BSD-3-Clause
/// The filters in force, their rules and what these have counted, as the API tells it (docs/api.md). The
/// daemon's thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "router/control/control_plane.h"

namespace pktpit::router {

nlohmann::json show_filters(const ControlPlane& control);

}  // namespace pktpit::router
