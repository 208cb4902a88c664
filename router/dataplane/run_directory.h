// SPDX-License-Identifier: BSD-3-Clause
/// Files of an instance: lock, API socket, routes given by the CLI, what its devices were before
/// (run_state.h). All below /run/pktpit, which has mode 0750.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::router {

/// /run/pktpit/<instance><suffix>
std::string run_path(const std::string& instance, std::string_view suffix);
/// Error: it cannot be made, or belongs to somebody else.
Result<void> make_run_directory();

}  // namespace pktpit::router
