// SPDX-License-Identifier: BSD-3-Clause
/// Will anybody reach what listens? The daemon's TCP ports open at addresses that are not there yet, as at a
/// boot, and answer when they are. Asks the kernel of this thread's network namespace.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace pktpit::router {

/// Addresses of /web, /metrics and /fpm that neither this machine has nor the configuration gives to it.
std::vector<Error> listening_warnings(const config::Config& config);

}  // namespace pktpit::router
