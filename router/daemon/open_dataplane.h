// SPDX-License-Identifier: BSD-3-Clause
/// The dataplane that a configuration asks for, of those that were built in.
#pragma once

#include <memory>

#include "router/dataplane/dataplane.h"

namespace pktpit::router {

/// Errors: not built in, or those of the dataplane.
Result<std::unique_ptr<Dataplane>> open_dataplane(const config::Config& config, const fib::Capacity& capacity,
                                                  Dataplane::PuntHandler on_punt);

}  // namespace pktpit::router
