// SPDX-License-Identifier: BSD-3-Clause
/// The slow path as the control plane sees it: limits, and what becomes of packets that wait for a neighbour.
/// Implemented by the daemon, which tells traces of it, too. One thread.
#pragma once

#include "base/address.h"
#include "config/config.h"
#include "router/routing/interfaces.h"

namespace pktpit::router {

class SlowPathControl {
  public:
    virtual ~SlowPathControl() = default;
    virtual void set_limits(const config::Icmp& icmp, uint32_t neighbour_queue,
                            uint32_t neighbours_unresolved) = 0;
    virtual void interface_gone(InterfaceId interface) = 0;
    virtual void neighbour_resolved(const L3Interface& interface, const IpAddress& address) = 0;
    virtual void neighbour_failed(const L3Interface& interface, const IpAddress& address) = 0;
};

}  // namespace pktpit::router
