// SPDX-License-Identifier: BSD-3-Clause
/// The keeper's process (router/vfio/keeper_process.h): this program once more, under another name. Started
/// by main while the daemon may still start programs, before it gives up what it does not need.
#pragma once

#include "config/config.h"
#include "router/dataplane/keeper_link.h"

namespace pktpit::router {

/// A keeper for a daemon of this configuration; without a socket where it needs none, or where none can be
/// started, which is told on standard error.
KeeperLink start_keeper(const config::Config& config);

/// Was this process started by start_keeper()?
bool is_keeper(const char* called);
/// What it then does: gives up all capabilities and all but some thirty system calls (none of which opens a
/// file, makes a socket or starts a process), and keeps. Its exit status.
int be_keeper();

}  // namespace pktpit::router
