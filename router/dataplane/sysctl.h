// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's per-device switches below /proc/sys/net, of the daemon's network namespace. One thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace pktpit::router {

/// Nothing: there is no such switch, or it cannot be read.
std::optional<std::string> get_sysctl(const std::string& path);
/// Writes `value` and returns what was there before; nothing if there is no such switch or it cannot be
/// written.
std::optional<std::string> set_sysctl(const std::string& path, const std::string& value);

/// Writes `value` unless it is there. A switch that is not there, since its device has gone, needs no
/// setting.
Result<void> put_sysctl(const std::string& path, const std::string& value);

}  // namespace pktpit::router
