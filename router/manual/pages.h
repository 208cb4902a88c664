// SPDX-License-Identifier: BSD-3-Clause
/// Man pages as troff's man macros: of a program, from what it understands, and of the configuration, from
/// its schema. Build time only.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "router/manual/command.h"

namespace pktpit::router::manual {

/// Text as troff prints it, whatever characters are in it.
std::string escaped(const std::string& text);

/// `section`: 1 or 8. `more`: further sections, in troff.
std::string program_page(const Command& program, int section, const std::string& version,
                         const std::string& more);

/// pktpit.json(5).
std::string schema_page(const nlohmann::json& schema, const std::string& version);

}  // namespace pktpit::router::manual
