// SPDX-License-Identifier: BSD-3-Clause
/// A dataplane in a shared object of its own, so that the daemon does not need the libraries of one that it
/// does not run. The object has one C function, `pktpit_dataplane`, and finds everything else that it shares
/// with the daemon in the daemon: the two are built together (router/daemon/load_plugin.h checks that).
#pragma once

#include <memory>

#include "router/dataplane/dataplane.h"
#include "router/dataplane/stageless.h"

namespace pktpit::router {

struct DataplanePlugin {
    const char* version = PKTPIT_VERSION;
    // Another build of the same version may lay these out in another way.
    size_t config_bytes = sizeof(config::Config);
    size_t dataplane_bytes = sizeof(StagelessDataplane);
    /// As open_dataplane() (router/daemon/open_dataplane.h).
    Result<std::unique_ptr<Dataplane>> (*open)(const config::Config&, const fib::Capacity&,
                                               Dataplane::PuntHandler) = nullptr;
};

/// The type of `pktpit_dataplane`. What it returns stays valid.
using DataplaneEntry = const DataplanePlugin*();

}  // namespace pktpit::router
