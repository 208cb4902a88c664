// SPDX-License-Identifier: BSD-3-Clause
#include "base/json/parse.h"

#include <gtest/gtest.h>

namespace pktpit {
namespace {

TEST(ParseJson, ReadsToTheEnd) {
    EXPECT_EQ(parse_json(R"({"a": 1})")["a"], 1);
    EXPECT_EQ(parse_json(R"(["\u0000"])")[0], std::string(1, '\0')) << "escaped, it is a character";
    for (const std::string_view text : {std::string_view("{}\0", 3), std::string_view("{}\0 x", 5),
                                        std::string_view("\0{}", 3), std::string_view("[\"\0\"]", 5)})
        EXPECT_TRUE(parse_json(text).is_discarded());
    EXPECT_TRUE(parse_json("{} {}").is_discarded());
}

}  // namespace
}  // namespace pktpit
