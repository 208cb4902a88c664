// SPDX-License-Identifier: BSD-3-Clause
/// The way into the `dpdk` dataplane for those who are not compiled with DPDK's flags and headers: the
/// daemon.
#pragma once

#include <memory>

#include "router/dataplane/dataplane.h"

namespace pktpit::router {

/// DpdkDataplane::open().
Result<std::unique_ptr<Dataplane>> open_dpdk_dataplane(const config::Config& config,
                                                       const fib::Capacity& capacity,
                                                       Dataplane::PuntHandler on_punt);

}  // namespace pktpit::router
