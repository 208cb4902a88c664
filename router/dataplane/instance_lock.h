// SPDX-License-Identifier: BSD-3-Clause
/// One daemon an instance: whoever holds its lock file. Used by the dataplanes at their start.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

/// Held until the descriptor is closed. Errors: another daemon runs the instance, no permission.
Result<Fd> lock_instance(const std::string& instance);

}  // namespace pktpit::router
