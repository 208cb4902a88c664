// SPDX-License-Identifier: BSD-3-Clause
/// One packet of a trace (docs/api.md) as lines for people. Pure.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "router/cli/terminal.h"

namespace pktpit::router::cli {

std::string trace_text(const nlohmann::json& packet, const Terminal& terminal);

}  // namespace pktpit::router::cli
