// SPDX-License-Identifier: BSD-3-Clause
// What a schema's findings are in words. Which places are found: tests/unit/config/schema_test.cpp, for every
// rule of the largest schema.
#include "base/json/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>

namespace pktpit {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const JsonSchema& schema() {
    static const JsonSchema once(R"({
        "type": "object",
        "required": ["name"],
        "additionalProperties": false,
        "properties": {
            "name": {"type": "string", "pattern": "^[a-z]+$", "description": "lower-case letters"},
            "share": {"type": "number", "minimum": 0, "maximum": 1},
            "rate": {"type": "number", "exclusiveMinimum": 0, "maximum": 1600},
            "lanes": {"enum": [1, 2, 4]},
            "below": {"type": "array", "items": {"$ref": "#/definitions/device"}}
        },
        "definitions": {"device": {"type": "object", "required": ["kind"],
                                   "properties": {"kind": {"enum": ["nic", "switch"]}}}}
    })");
    return once;
}

Error only_error(const json& document) {
    const auto errors = schema().validate(document);
    EXPECT_EQ(errors.size(), 1U) << document;
    return errors.empty() ? Error{} : errors[0];
}

TEST(JsonSchema, what_fits_has_no_errors) {
    EXPECT_THAT(
        schema().validate({{"name", "a"}, {"share", 0.5}, {"rate", 1600}, {"below", {{{"kind", "nic"}}}}}),
        IsEmpty());
}

TEST(JsonSchema, an_error_has_its_place_what_was_found_and_what_was_expected) {
    EXPECT_EQ(only_error({{"name", "a"}, {"share", 2}}),
              (Error{"/share", "found 2", "a number from 0 to 1", ""}));
    EXPECT_EQ(only_error({{"name", "a"}, {"rate", 0}}),
              (Error{"/rate", "found 0", "a number above 0 of at most 1600", ""}));
    EXPECT_EQ(only_error({{"name", "a"}, {"lanes", 3}}), (Error{"/lanes", "found 3", "one of 1, 2, 4", ""}));
    EXPECT_EQ(only_error({{"name", "A"}}), (Error{"/name", "found \"A\"", "lower-case letters", ""}));
    EXPECT_EQ(
        only_error({{"name", "a"}, {"below", {{{"kind", "nik"}}}}}),
        (Error{"/below/0/kind", "found \"nik\"", "one of \"nic\", \"switch\"", "did you mean \"nic\"?"}));
}

TEST(JsonSchema, keys_that_are_missing_or_unknown_are_named) {
    EXPECT_EQ(only_error(json::object()),
              (Error{"", "key \"name\" is missing", "\"name\": lower-case letters", ""}));
    const Error unknown = only_error({{"name", "a"}, {"rat", 1}});
    EXPECT_EQ(unknown.where, "/rat");
    EXPECT_EQ(unknown.hint, "did you mean \"rate\"?");
}

// A pattern of std::regex takes stack by the byte: megabytes of a name would end the process.
TEST(JsonSchema, strings_and_keys_without_end_are_refused_before_any_pattern_sees_them) {
    const std::string longest(JsonSchema::longest_string, 'a');
    EXPECT_THAT(schema().validate({{"name", longest}}), IsEmpty());
    const Error value = only_error({{"name", std::string(size_t{4} << 20, 'a')}});
    EXPECT_EQ(value.where, "/name");
    EXPECT_THAT(value.message, HasSubstr("string of 4194304 bytes"));
    const Error key = only_error({{"name", "a"}, {longest + "a", 1}});
    EXPECT_THAT(key.message, HasSubstr("key of 2001 bytes"));
}

}  // namespace
}  // namespace pktpit
