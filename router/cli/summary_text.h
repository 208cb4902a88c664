// SPDX-License-Identifier: BSD-3-Clause
/// What was read of a file, for people and as JSON. Used by the table commands.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

#include "fib/tables/reading.h"
#include "router/cli/commands.h"

namespace pktpit::router::cli {

/// Rows of "name  value", for the top of an answer.
using Facts = std::vector<std::pair<std::string, std::string>>;
void print_facts(const Session& session, const Facts& facts);

/// "text, xz: 1168945 lines", "mrt, gzip: 1023 records".
std::string source_text(const fib::ReadSummary& summary);
/// "BGP4MP STATE_CHANGE 3, End-of-RIB 1"; empty if nothing was passed over.
std::string skipped_text(const fib::ReadSummary& summary);
/// {"file", "format", "compression", "records", "skipped", "peers"}
nlohmann::json source_json(const std::string& path, const fib::ReadSummary& summary);

}  // namespace pktpit::router::cli
