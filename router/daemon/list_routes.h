// SPDX-License-Identifier: BSD-3-Clause
/// Answers about the whole RIB: listed, counted, by next-hop group. They walk through it in prefix order, a
/// few milliseconds at a time on the daemon's thread, and hold nothing of it in between but where they are: a
/// route that changes meanwhile is seen as it was or as it is, one that is there all the time is seen once.
#pragma once

#include <functional>
#include <memory>

#include "base/turn.h"
#include "router/daemon/show_routes.h"

namespace pktpit::router {

/// How long a piece may take. A function, since each piece begins a new turn.
using PieceTime = std::function<Turn()>;
Turn piece_time();  ///< 3 ms, which leaves a part of the loop's 5 ms to what comes with it

enum class RouteForm {
    page,   ///< {"routes": [...], "next": ..., "total": ...}
    lines,  ///< JSON lines, each a route; the last is {"end": {"next": ..., "total": ...}}
};
/// What they refer to outlives the answers.
std::unique_ptr<LongAnswer> list_routes(const Routing& routing, const RouteQuery& query, RouteForm form,
                                        const RouteCounters* counters = nullptr,
                                        const ProtocolOf& protocol_of = {},
                                        const PieceTime& piece_time = router::piece_time);
std::unique_ptr<LongAnswer> summarise_routes(const Routing& routing, const std::string& vrf = {},
                                             const PieceTime& piece_time = router::piece_time);
std::unique_ptr<LongAnswer> list_next_hop_groups(const Routing& routing,
                                                 const PieceTime& piece_time = router::piece_time);

}  // namespace pktpit::router
