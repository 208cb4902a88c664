// SPDX-License-Identifier: BSD-3-Clause
/// Would Linux forward if it were left to? For configurations that want it to while the daemon stands still
/// (/heartbeat/on_daemon_loss). Reads sysctls of this thread's network namespace.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace pktpit::router {

/// The switches that are off though the configuration needs them; none if it does not.
std::vector<Error> kernel_forwarding_warnings(const config::Heartbeat& heartbeat);

}  // namespace pktpit::router
