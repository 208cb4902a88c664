// SPDX-License-Identifier: BSD-3-Clause
/// A slow path that does nothing.
#pragma once

#include "router/control/slow_path_control.h"

namespace pktpit::router::fake {

class SlowPathNothing : public SlowPathControl {
  public:
    void set_limits(const config::Icmp&, uint32_t, uint32_t) override {}
    void interface_gone(InterfaceId) override {}
    void neighbour_resolved(const L3Interface&, const IpAddress&) override {}
    void neighbour_failed(const L3Interface&, const IpAddress&) override {}
};

}  // namespace pktpit::router::fake
