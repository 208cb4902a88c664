// SPDX-License-Identifier: BSD-3-Clause
/// JSON from outside, to its end: nlohmann/json takes a NUL byte for the end of the text and does not look
/// behind it. JSON has none, since control characters are escaped in strings (RFC 8259 section 7). Any
/// thread.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

namespace pktpit {

inline bool has_nul(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

/// Discarded: it is no JSON.
inline nlohmann::json parse_json(std::string_view text) {
    return has_nul(text) ? nlohmann::json(nlohmann::json::value_t::discarded)
                         : nlohmann::json::parse(text, nullptr, false);
}

}  // namespace pktpit
