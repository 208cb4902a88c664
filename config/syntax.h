// SPDX-License-Identifier: BSD-3-Clause
/// JSON text → a JSON value, strictly: RFC 8259, no comments, no key twice in an object. Internal to config/.
/// Any thread; knows nothing of what the values mean.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <unordered_map>

#include "config/config.h"

namespace pktpit::config {

/// Objects and arrays inside each other. The schema needs six.
inline constexpr size_t max_depth = 32;
/// Bytes of one key or string. Bounds the recursion of std::regex, which takes stack by the byte.
inline constexpr size_t max_string = 1000;

/// `value` is worth looking at only where `readable`. Errors beside a readable value (a key that is there
/// twice) concern a part of it; the first of the two values is kept.
struct Document {  // NOLINT(bugprone-exception-escape): moving a json does not throw
    nlohmann::json value;
    Errors errors;
    bool readable = false;
};

/// Broken JSON: one Error at "line L, column C", not readable.
Document read_json(std::string_view text);

/// Where each value of a text stands, for messages to people. Takes one pass over the text, not one a
/// question.
class LineIndex {
  public:
    explicit LineIndex(std::string_view text);
    /// Line (from 1) of the value at `pointer`, or of the innermost value around it that there is; 0 if the
    /// text is broken before.
    [[nodiscard]] size_t line_of(std::string pointer) const;

  private:
    std::unordered_map<std::string, size_t> lines_;
};

}  // namespace pktpit::config
