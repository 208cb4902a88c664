// SPDX-License-Identifier: BSD-3-Clause
/// A JSON value against the published schema. Internal to config/. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"

namespace pktpit::config {

/// Every place where `document` breaks the schema, in the order of the document's keys. Empty: none.
Errors validate(const nlohmann::json& document);

}  // namespace pktpit::config
