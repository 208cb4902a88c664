// SPDX-License-Identifier: BSD-3-Clause
/// JSON from outside for the model: parsed, held against a schema, every finding told with its JSON
/// pointer. Internal to offload/model. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <vector>

#include "base/result.h"

namespace pktpit::model {

using Errors = std::vector<Error>;

/// `schema`: of texts.h, "schemas/topology.json". Errors: no JSON (with line and column), nested more than 40
/// deep, larger than 16 MiB, or not as the schema says.
tl::expected<nlohmann::json, Errors> read_document(std::string_view text, const std::string& schema);

}  // namespace pktpit::model
