// SPDX-License-Identifier: BSD-3-Clause
/// Documents with one thing wrong each, and what is said of it. For the tests of what the schema cannot say.
#pragma once

#include <functional>

#include "support.h"

namespace pktpit::config::test {

struct Case {
    std::string text;        ///< put into the document
    std::string where = {};  ///< empty: valid
    std::string message = {};
    std::string expected = {}, hint = {};  ///< parts of; empty: not looked at
};

inline void expect_cases(const std::function<std::string(const std::string&)>& document,
                         const std::vector<Case>& cases) {
    for (const Case& one : cases) {
        SCOPED_TRACE(one.text);
        Errors errors = errors_of(document(one.text));
        if (one.where.empty()) {
            EXPECT_THAT(errors, testing::IsEmpty()) << all_text(errors);
            continue;
        }
        expect_one(errors, one.where, one.message);
        if (errors.empty()) continue;
        EXPECT_THAT(errors[0].expected, testing::HasSubstr(one.expected));
        EXPECT_THAT(errors[0].hint, testing::HasSubstr(one.hint));
        EXPECT_FALSE(errors[0].expected.empty());
    }
}

inline std::string with_interfaces(const std::string& interfaces) {
    return R"({"interfaces": {)" + interfaces + "}}";
}

}  // namespace pktpit::config::test
