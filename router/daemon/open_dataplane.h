// SPDX-License-Identifier: BSD-3-Clause
/// The dataplane that a configuration asks for: one of those that were built in, or a plugin. The main
/// thread, at the start.
#pragma once

#include <memory>
#include <string>

#include "router/dataplane/dataplane.h"
#include "router/dataplane/keeper_link.h"

namespace pktpit::router {

/// Loads what it is in, if that is a plugin: while the daemon has the rights to read it, and before anything
/// is touched. Errors: load_plugin()'s.
Result<void> find_dataplane(const std::string& name);

/// `keeper`: for what is to forward on when the daemon is killed; none where nothing does that needs one.
/// What an earlier daemon's keeper holds is let go. Errors: not built in, not installed, or those of the
/// dataplane.
Result<std::unique_ptr<Dataplane>> open_dataplane(const config::Config& config, const fib::Capacity& capacity,
                                                  Dataplane::PuntHandler on_punt, KeeperLink keeper);

}  // namespace pktpit::router
