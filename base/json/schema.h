// SPDX-License-Identifier: BSD-3-Clause
/// A JSON Schema (draft 7) that comes with the program, and values held against it with valijson; findings in
/// the shape of our errors. Called by config/ and by the fabric model, whose documents come from outside. Any
/// thread. Never reads a file, and never parses the document.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pktpit {

class JsonSchema {
  public:
    /// Throws where the text is no schema: that is a bug.
    explicit JsonSchema(std::string_view text);
    ~JsonSchema();
    JsonSchema(const JsonSchema&) = delete;
    JsonSchema& operator=(const JsonSchema&) = delete;

    /// Every place where `document` breaks the schema, in the order of the document's keys, at its JSON
    /// pointer; the first thousand say what is expected. Empty: none. Strings of more than longest_string
    /// bytes break any schema.
    [[nodiscard]] std::vector<Error> validate(const nlohmann::json& document) const;

    /// Patterns are std::regex, whose recursion takes stack by the byte.
    static constexpr size_t longest_string = 2000;

  private:
    struct Compiled;
    std::unique_ptr<const Compiled> compiled_;
};

}  // namespace pktpit
