// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/plugin.h"

#include "router/dpdk/dataplane.h"

namespace {

using namespace pktpit;

Result<std::unique_ptr<router::Dataplane>> open(const config::Config& config, const fib::Capacity& capacity,
                                                router::Dataplane::PuntHandler on_punt) {
    return router::DpdkDataplane::open(config, capacity, std::move(on_punt));
}

}  // namespace

extern "C" const router::DataplanePlugin* pktpit_dataplane() {
    static const router::DataplanePlugin plugin{.open = &open};
    return &plugin;
}
