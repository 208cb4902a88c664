// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/open.h"

#include "router/dpdk/dataplane.h"

namespace pktpit::router {

Result<std::unique_ptr<Dataplane>> open_dpdk_dataplane(const config::Config& config,
                                                       const fib::Capacity& capacity,
                                                       Dataplane::PuntHandler on_punt) {
    return DpdkDataplane::open(config, capacity, std::move(on_punt));
}

}  // namespace pktpit::router
