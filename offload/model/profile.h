// SPDX-License-Identifier: BSD-3-Clause
/// A hardware profile: the constants of one machine, each with its source and whether it was calibrated. Read
/// from JSON, whose bytes are not trusted; immutable afterwards; any thread.
#pragma once

#include <map>
#include <span>
#include <string>

#include "offload/model/json_document.h"
#include "offload/model/time.h"

namespace pktpit::model {

/// A constant that profiles have.
struct ConstantRule {
    std::string_view name;
    double least;
    double most;
    bool whole;  ///< a whole number
    std::string_view meaning;
};
std::span<const ConstantRule> constant_rules();

struct Constant {
    double value = 0;
    std::string source;
    bool calibrated = false;
};

class Profile {
  public:
    /// Errors: read_document()'s; a constant that is unknown, missing, out of range; an unknown base.
    static tl::expected<Profile, Errors> parse(std::string_view json_text);
    /// One that comes with the program ("generic"), or a file's path.
    static tl::expected<Profile, Errors> open(const std::string& name_or_path);

    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] const std::string& about() const { return about_; }
    [[nodiscard]] const std::map<std::string, Constant, std::less<>>& constants() const { return constants_; }
    /// A name that is not among the rules is a bug.
    [[nodiscard]] double value(std::string_view name) const;
    [[nodiscard]] unsigned count(std::string_view name) const { return static_cast<unsigned>(value(name)); }
    [[nodiscard]] Time ns(std::string_view name) const { return from_ns(value(name)); }
    /// For sweeps. Errors: unknown, out of range.
    Result<void> set(const std::string& name, double value, const std::string& source);

  private:
    static tl::expected<Profile, Errors> parse(std::string_view json_text, unsigned depth);

    std::string name_;
    std::string about_;
    std::map<std::string, Constant, std::less<>> constants_;
};

/// The names of what comes with the program in a folder of texts.h: "profiles", "topologies".
std::vector<std::string> embedded_names(const std::string& folder);
/// A text that comes with the program, or a file's. Errors: neither, or it cannot be read.
Result<std::string> embedded_or_file(const std::string& folder, const std::string& name_or_path);

}  // namespace pktpit::model
