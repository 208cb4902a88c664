// SPDX-License-Identifier: BSD-3-Clause
/// What the tests of config/ share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "config/config.h"

namespace pktpit::config::test {

/// All errors of the text; none if it is valid.
inline Errors errors_of(std::string_view text, const InterfaceExists& exists = {}) {
    auto parsed = parse(text, "/nowhere", exists);
    return parsed ? Errors{} : parsed.error();
}

inline std::vector<std::string> places(const Errors& errors) {
    std::vector<std::string> out;
    for (const Error& error : errors)
        out.push_back(error.where);
    return out;
}

inline std::string all_text(const Errors& errors) {
    std::string out;
    for (const Error& error : errors)
        out += error.to_string() + "\n";
    return out;
}

/// Exactly one error, at this place, with these words in its message.
inline void expect_one(const Errors& errors, const std::string& where, const std::string& words) {
    ASSERT_EQ(errors.size(), 1U) << all_text(errors);
    EXPECT_EQ(errors[0].where, where) << all_text(errors);
    EXPECT_THAT(errors[0].message, testing::HasSubstr(words));
}

/// A directory of its own, gone at the end.
class TemporaryDirectory {
  public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "pktpit-config-XXXXXX").string();
        path_ = ::mkdtemp(name.data());
    }
    ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] std::string path() const { return path_; }
    std::string write(const std::string& name, std::string_view text) const {
        std::string file = path_ + "/" + name;
        std::ofstream(file, std::ios::binary) << text;
        return file;
    }

  private:
    std::string path_;
};

inline std::string text_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace pktpit::config::test
