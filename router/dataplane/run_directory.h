// SPDX-License-Identifier: BSD-3-Clause
/// Files of a running instance: lock, API socket, routes given by the CLI. All below /run/pktpit.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::router {

/// /run/pktpit/<instance><suffix>
std::string run_path(const std::string& instance, std::string_view suffix);
Result<void> make_run_directory();

}  // namespace pktpit::router
