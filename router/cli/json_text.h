// SPDX-License-Identifier: BSD-3-Clause
/// Reading the daemon's answers without trusting them: a member that is absent or of another type is its
/// default.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>

namespace pktpit::router::cli {

/// A string member; "-" for null, absent or another type.
inline std::string text_of(const nlohmann::json& object, const char* name, const char* otherwise = "-") {
    const auto member = object.is_object() ? object.find(name) : object.end();
    if (!object.is_object() || member == object.end() || !member->is_string()) return otherwise;
    return member->get<std::string>();
}

inline uint64_t number_of(const nlohmann::json& object, const char* name) {
    if (!object.is_object()) return 0;
    const auto member = object.find(name);
    return member != object.end() && member->is_number_unsigned() ? member->get<uint64_t>() : 0;
}

inline double real_of(const nlohmann::json& object, const char* name) {
    if (!object.is_object()) return 0;
    const auto member = object.find(name);
    return member != object.end() && member->is_number() ? member->get<double>() : 0;
}

inline bool flag_of(const nlohmann::json& object, const char* name) {
    if (!object.is_object()) return false;
    const auto member = object.find(name);
    return member != object.end() && member->is_boolean() && member->get<bool>();
}

/// An array or object member; an empty array otherwise.
inline const nlohmann::json& part_of(const nlohmann::json& object, const char* name) {
    static const nlohmann::json nothing = nlohmann::json::array();
    if (!object.is_object()) return nothing;
    const auto member = object.find(name);
    return member != object.end() && member->is_structured() ? *member : nothing;
}

inline std::string joined(const nlohmann::json& strings, const char* separator) {
    std::string text;
    for (const auto& item : strings) {
        if (item.is_string()) text.append(text.empty() ? "" : separator).append(item.get<std::string>());
        if (item.is_number()) text.append(text.empty() ? "" : separator).append(item.dump());
    }
    return text;
}

}  // namespace pktpit::router::cli
