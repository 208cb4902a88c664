// SPDX-License-Identifier: BSD-3-Clause
/// What a trace says of one packet, in the shape of docs/api.md. Reads the routing core; the daemon's thread.
#pragma once

#include <nlohmann/json.hpp>

#include <span>

#include "router/daemon/observer.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// `frame`: its first bytes, as they came in. The lookup is made again with the tables as they are now; where
/// that does not lead to what the packet met, it says so.
nlohmann::json trace_packet(const Observation& seen, std::span<const uint8_t> frame, const Routing& routing,
                            const ObserverEnvironment& environment);
nlohmann::json trace_slow_path(const SlowPathWork& work, const ObserverEnvironment& environment);

}  // namespace pktpit::router
