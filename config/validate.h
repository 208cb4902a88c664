/// A JSON value against the published schema, with valijson; its findings in the shape of our errors.
/// Internal to config/. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "config/config.h"

namespace pktpit::config {

/// whole: a configuration. fragment: some of its members, for a single route from the API.
enum class Extent { whole, fragment };

/// Every place where `document` breaks the schema, in the order of the document's keys. Empty: none.
Errors validate(const nlohmann::json& document, Extent extent = Extent::whole);

}  // namespace pktpit::config
