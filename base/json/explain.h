// SPDX-License-Identifier: BSD-3-Clause
/// What a JSON Schema demands at a place, in words: for errors. Reads the schema as JSON. Called by schema.h.
/// Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pktpit {

/// The schema's rules for the value at `pointer` of `document`, $ref and allOf merged into one object; empty
/// where the schema says nothing.
nlohmann::json rule_for(const nlohmann::json& schema, const nlohmann::json& document,
                        std::string_view pointer);

/// "an integer from 1 to 65535", "IPv4 or IPv6 prefix, such as \"192.0.2.0/24\"", …
std::string expected_by(const nlohmann::json& rule);

/// The value as JSON, cut where it gets long, and its type where that is not plain to see.
std::string shown(const nlohmann::json& value);

Error explain_value(const nlohmann::json& rule, const nlohmann::json& value, const std::string& where);
Error explain_missing(const nlohmann::json& schema, const nlohmann::json& rule, const std::string& where,
                      std::string_view key);
/// One error for each key of the object that the rule does not know, at the key.
std::vector<Error> explain_unknown_keys(const nlohmann::json& rule, const nlohmann::json& object,
                                        const std::string& where);
/// One error for each key that breaks a propertyNames rule, anywhere in the document.
std::vector<Error> explain_names(const nlohmann::json& schema, const nlohmann::json& document);

}  // namespace pktpit
