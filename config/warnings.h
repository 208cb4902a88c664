// SPDX-License-Identifier: BSD-3-Clause
/// What a configuration is allowed to say and most likely does not mean. Internal to config/. Any thread.
#pragma once

#include "config/config.h"

namespace pktpit::config {

/// Gateways on no connected net that no route of the file leads to: they stay unresolved until a route of
/// another source does. A heartbeat of ports that have none.
Errors warnings_of(const Config& config);

}  // namespace pktpit::config
