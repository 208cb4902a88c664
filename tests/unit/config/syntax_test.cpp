// SPDX-License-Identifier: BSD-3-Clause
// JSON as such: what is broken, where, and what is stricter here than elsewhere.
#include "config/syntax.h"

#include "support.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::expect_one;
using testing::ElementsAre;

struct Broken {
    std::string text, where, message, expected, hint;
};

TEST(Syntax, BrokenTextIsOneErrorWithLineAndColumn) {
    const Broken cases[] = {
        {"", "line 1, column 1", "not JSON: unexpected end of input", "a value",
         "is a bracket or a quote left open?"},
        {"{\n  \"a\": 1,\n}", "line 3, column 1", "not JSON: unexpected '}' while reading an object key",
         "a key in double quotes", "remove the comma before it"},
        {"[1, 2,]", "line 1, column 7", "not JSON: unexpected ']'", "a value", "remove the comma before it"},
        {"[1\n 22]", "line 2, column 2", "not JSON: unexpected number literal while reading an array", "']'",
         ""},
        {"{\"a\": 1\n \"bcd\": 2}", "line 2, column 2",
         "not JSON: unexpected string literal while reading an object", "'}'",
         "is a comma missing before it?"},
        {"{\"a\" 1}", "line 1, column 6",
         "not JSON: unexpected number literal while reading an object separator", "':'", ""},
        {"{\n // no\n}", "line 2, column 2",
         "not JSON: invalid literal at '// no' while reading an object key", "a key in double quotes",
         "JSON has no comments"},
        {"{\n /* no */ \"a\": 1}", "line 2, column 2",
         "not JSON: invalid literal at '/* no */ \"a\": 1}' while", "", "JSON has no comments"},
        {"[NaN]", "line 1, column 2", "not JSON: invalid literal at 'NaN]'", "a value",
         "JSON has no such number"},
        {"[Infinity]", "line 1, column 2", "not JSON: invalid literal at 'Infinity]'", "a value",
         "JSON has no such number"},
        {"{'a': 1}", "line 1, column 2", "not JSON: invalid literal at ''a': 1}'", "",
         "strings stand in double quotes"},
        {"[1e999]", "line 1, column 2", "not JSON: number overflow parsing '1e999'", "", ""},
        {"[\"\xff\"]", "line 1, column 3", "not JSON: invalid string: ill-formed UTF-8 byte", "",
         "save the file as UTF-8"},
        {"[\xff\xfe]", "line 1, column 2", "not JSON: invalid literal at '??]'", "", ""},
        {"{} {}", "line 1, column 4", "not JSON: unexpected '{'", "the end of the text", ""},
        {"{\"a\": [1, 2}", "line 1, column 12", "not JSON: unexpected '}' while reading an array", "']'", ""},
        {"\"abc", "line 1, column 5", "not JSON: invalid string: missing closing quote", "", ""},
        {"[01]", "line 1, column 3", "not JSON: unexpected number literal while reading an array", "']'",
         "is a comma missing before it?"},
        {"[\"; expected x; last read: 'y'\x86\"]", "line 1, column 31",
         "not JSON: invalid string: ill-formed UTF-8 byte", "", "save the file as UTF-8"},
        {{"{}\n\0, [1", 8},
         "line 2, column 1",
         "not JSON: a NUL byte",
         "",
         "a crash may have filled the file's end with zeros, or two files were joined"},
        {{"[\"a\0b\"]", 7}, "line 1, column 4", "not JSON: a NUL byte", "", ""},
        {"[\"\x01\"]", "line 1, column 3", "not JSON: invalid string: control character U+0001 (SOH)", "",
         ""},
    };
    for (const Broken& one : cases) {
        SCOPED_TRACE(one.text);
        Errors errors = errors_of(one.text);
        expect_one(errors, one.where, one.message);
        EXPECT_TRUE(one.expected.empty() || errors[0].expected == one.expected) << errors[0].expected;
        EXPECT_TRUE(one.hint.empty() || errors[0].hint == one.hint) << errors[0].hint;
        for (char c : errors[0].to_string())
            EXPECT_GE(c, ' ');  // printable ASCII, whatever the text was
    }
}

TEST(Syntax, KeysThatAreThereTwiceAreAllReportedAndDoNotHideTheSchema) {
    Errors errors = errors_of(R"({
        "interfaces": {"eth0": {"mtu": 1500}, "eth1": {"mtu": 1, "mtu": 2}, "eth0": {"x": {"y": 1, "y": 2}}},
        "icmp": {}, "icmp": {"rate": 5}, "log_level": 3})");
    EXPECT_THAT(test::places(errors), testing::UnorderedElementsAre(
                                          "/interfaces/eth1/mtu", "/interfaces/eth0", "/interfaces/eth0/x/y",
                                          "/icmp", "/interfaces/eth1/mtu", "/log_level"));
    EXPECT_EQ(errors[0].message, "key \"mtu\" is there twice in one object, again on line 2");
    EXPECT_EQ(errors[0].hint, "remove one of the two, or merge them");
}

TEST(Syntax, TwiceInAnArrayElementNamesItsIndex) {
    Document document = read_json(R"({"routes": [{"a": 1}, {"b": 1}, {"c": [0, {"d": 1, "d": 2}]}, 5]})");
    EXPECT_TRUE(document.readable);
    EXPECT_THAT(test::places(document.errors), ElementsAre("/routes/2/c/1/d"));
    EXPECT_EQ(document.value.dump(), R"({"routes":[{"a":1},{"b":1},{"c":[0,{"d":1}]},5]})");
}

TEST(Syntax, ReadsWhatNlohmannReads) {
    const std::string text =
        R"({"a": [1, -2, 3.5, true, false, null, "x\u00e9\n"], "b/~": {"c": {}, "d": []}})";
    Document document = read_json(text);
    ASSERT_TRUE(document.readable);
    EXPECT_EQ(document.value, nlohmann::json::parse(text));
}

TEST(Syntax, NestingHasAnEnd) {
    Errors errors = errors_of(std::string(100000, '['));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].message, "objects and arrays are nested too deep");
    EXPECT_EQ(errors[0].where.substr(0, 8), "/0/0/0/0");
}

TEST(Syntax, LongStringsAndKeysAreErrorsInTheirPlaces) {
    const std::string longest(max_string, 'a'), longer(max_string + 1, 'a');
    Errors errors =
        errors_of(R"({"interfaces": {"eth0": {}}, "instance": ")" + longer + R"(", ")" + longer + R"(": 1})");
    ASSERT_GE(errors.size(), 2U);
    EXPECT_EQ(errors[0].where, "/instance");
    EXPECT_EQ(errors[0].message, "string of 1001 bytes");
    EXPECT_EQ(errors[1].message, "key of 1001 bytes");
    for (const Error& error : errors_of(R"({"interfaces": {"eth0": {}}, "instance": ")" + longest + R"("})"))
        EXPECT_EQ(error.message.find("bytes"), error.message.npos);
}

TEST(Syntax, ControlCharactersInKeysDoNotReachTheTerminal) {
    Errors errors = errors_of(R"({"interfaces": {"eth0": {}}, "\u001b[31mred\n": 1})");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].where, "/?[31mred?");
    EXPECT_EQ(errors[0].message, "unknown key \"?[31mred?\"");
}

TEST(Syntax, LineOfFindsTheValueOrWhatIsAroundIt) {
    const std::string_view text =
        "{\n  \"a\": {\n    \"b\": [10,\n      11,\n      {\"c/d\": 1\n}]},\n  \"e\":\n 5\n}\n";
    const LineIndex lines(text);
    EXPECT_EQ(lines.line_of(""), 1U);
    EXPECT_EQ(lines.line_of("/a"), 2U);
    EXPECT_EQ(lines.line_of("/a/b"), 3U);
    EXPECT_EQ(lines.line_of("/a/b/0"), 3U);
    EXPECT_EQ(lines.line_of("/a/b/1"), 4U);
    EXPECT_EQ(lines.line_of("/a/b/2"), 5U);
    EXPECT_EQ(lines.line_of("/a/b/2/c~1d"), 5U);
    EXPECT_EQ(lines.line_of("/a/b/2/missing"), 5U);
    EXPECT_EQ(lines.line_of("/e"), 7U);
    EXPECT_EQ(lines.line_of("/ab"), 1U);
    EXPECT_EQ(LineIndex("").line_of("/a"), 0U);
    EXPECT_EQ(LineIndex("{\n\"a\": [1,\n }").line_of("/a/7"), 2U) << "as far as the text is whole";
}

}  // namespace
}  // namespace pktpit::config
