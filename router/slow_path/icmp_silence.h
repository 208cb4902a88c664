// SPDX-License-Identifier: BSD-3-Clause
/// When a router must not answer a packet with an ICMP error: RFC 1812 4.3.2.7, RFC 4443 2.4 (e).
#pragma once

#include <functional>
#include <optional>

#include "router/forward/packet.h"
#include "router/slow_path/counters.h"

namespace pktpit::router {

/// What the frame, beside its packet, tells about who may be answered.
struct SilenceContext {
    bool link_multicast = false;  ///< the frame's destination MAC address has the group bit
    /// RFC 4443 2.4 (e.3): Packet Too Big and Parameter Problem code 2 may answer multicast.
    bool multicast_may_be_answered = false;
    std::function<bool(const IpAddress&)> is_broadcast;  ///< a broadcast address of one of the router's nets
};

/// The counter of the rule that forbids an error about this packet, or nullopt: answer it.
std::optional<Counter> icmp_silence(const Packet& packet, const SilenceContext& context);

}  // namespace pktpit::router
