// SPDX-License-Identifier: BSD-3-Clause
// Text and JSON lines: what they mean, and what is said where they mean nothing.
#include <gtest/gtest.h>

#include "fib/tables/unix_time.h"
#include "tests/unit/tables/collect.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT
using namespace std::string_view_literals;

TEST(Format, IsToldByContent) {
    EXPECT_EQ(detect_format(""), Format::text);
    EXPECT_EQ(detect_format("10.0.0.0/8 1"), Format::text);
    EXPECT_EQ(detect_format("1470009600 a 10.0.0.0/8 1"), Format::text);
    EXPECT_EQ(detect_format("# {}"), Format::text);
    EXPECT_EQ(detect_format(" \n\t{\"prefix\""), Format::json);
    EXPECT_EQ(detect_format("[{}]"), Format::text);
    EXPECT_EQ(detect_format(mrt(1470009600, 13, 1, "")), Format::mrt);
    EXPECT_EQ(detect_format(mrt(0x31302e30, 17, 4, "")), Format::mrt);  // a time that reads "10.0"
    EXPECT_EQ(detect_format("\x57\x9f\0"sv), Format::mrt);              // cut, but no text either
    EXPECT_EQ(detect_compression("\xfd"
                                 "7zXZ\0 "sv),
              Compression::xz);
    EXPECT_EQ(detect_compression("\x1f\x8b\x08 "), Compression::gzip);
    EXPECT_EQ(detect_compression("BZh91AY&SY"), Compression::bzip2);
    EXPECT_EQ(detect_compression("BZh91AY&S"), Compression::none);
    EXPECT_EQ(detect_compression("BZhello world"), Compression::none);
    EXPECT_EQ(detect_compression("10.0.0.0/8 1"), Compression::none);
}

TEST(UnixTime, SecondsAndTheirFractions) {
    EXPECT_EQ(parse_unix_time("1470009600"), 1470009600000000u);
    EXPECT_EQ(parse_unix_time("0.000001"), 1u);
    EXPECT_EQ(parse_unix_time("7.25"), 7250000u);
    for (const char* text : {"", ".", "1.", ".5", "1.1234567", "-1", "1x", "1.x", "1e9", "+1", "1.-5",
                             "18446744073709551616", "1099511627777"})
        EXPECT_FALSE(parse_unix_time(text)) << text;
    for (const char* text : {"1470009600", "0.000001", "7.25", "1.1"})
        EXPECT_EQ(unix_time_text(*parse_unix_time(text)), text);
}

TEST(TableJson, Routes) {
    const ReadOutcome outcome = table_of(
        "\n"
        R"({"prefix": "10.0.0.0/8", "next_hop": "192.0.2.1"})"
        "\r\n  \n"
        R"(  {"next_hop": 7, "x": [{"prefix": 1}], "prefix": "2001:db8::/32", "y": {"next_hop": null}, "z": -1.5e9})"
        "\n"
        R"({"prefix":"0.0.0.0\/0","next_hop":"\u00e9"})");
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, (Lines{"2 10.0.0.0/8 192.0.2.1", "4 2001:db8::/32 7", "5 0.0.0.0/0 é"}));
    EXPECT_EQ(outcome.summary.format, Format::json);
    EXPECT_EQ(outcome.summary.records, 3u);
}

TEST(UpdateJson, Updates) {
    const ReadOutcome outcome =
        updates_of(R"({"time": 1470009600, "announce": "10.0.0.0/8", "next_hop": "192.0.2.1"})"
                   "\n"
                   R"({"time": 1470009600.25, "withdraw": "2001:db8::/32"})"
                   "\n"
                   R"({"withdraw": "0.0.0.0/0", "next_hop": null, "time": 0})");
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, (Lines{"1 1470009600 a 10.0.0.0/8 192.0.2.1", "2 1470009600.25 w 2001:db8::/32",
                                    "3 0 w 0.0.0.0/0"}));
}

struct Wrong {
    std::string_view line, where, message;
};

/// One line is wrong in what `outcome` came of.
void expect_told(const ReadOutcome& outcome, const Wrong& wrong) {
    SCOPED_TRACE(wrong.line);
    EXPECT_FALSE(outcome.good);
    EXPECT_EQ(outcome.error.where, wrong.where);
    EXPECT_NE(outcome.error.message.find(wrong.message), std::string::npos) << outcome.error.to_string();
    EXPECT_FALSE(outcome.error.expected.empty());
}

TEST(TableJson, SaysWhereAndWhatIsWrong) {
    const Wrong cases[] = {
        {R"({"prefix": "10.0.0.1/8", "next_hop": "1"})", "t:2#/prefix", "bits set behind its prefix length"},
        {R"({"prefix": "10.0.0.0", "next_hop": "1"})", "t:2#/prefix", "\"10.0.0.0\" has no prefix length"},
        {R"({"prefix": 10, "next_hop": "1"})", "t:2#/prefix", "no string"},
        {R"({"prefix": null, "next_hop": "1"})", "t:2#/prefix", "no string"},
        {R"({"prefix": {"prefix": "10.0.0.0/8"}, "next_hop": "1"})", "t:2#/prefix", "no string"},
        {R"({"prefix": "10.0.0.0/8"})", "t:2", "no member \"next_hop\""},
        {R"({"next_hop": "1"})", "t:2", "no member \"prefix\""},
        {R"({})", "t:2", "no member \"prefix\""},
        {R"({"prefix": "10.0.0.0/8", "next_hop": ""})", "t:2#/next_hop", "\"\" is no next-hop id"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": "a b"})", "t:2#/next_hop", "\"a b\""},
        {R"({"prefix": "10.0.0.0/8", "next_hop": "a#"})", "t:2#/next_hop", "\"a#\""},
        {R"({"prefix": "10.0.0.0/8", "next_hop": "\u0000"})", "t:2#/next_hop", "no next-hop id"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": -1})", "t:2#/next_hop", "neither a string nor"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": true})", "t:2#/next_hop", "neither a string nor"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": ["1"]})", "t:2#/next_hop", "neither a string nor"},
        {R"({"prefix": "10.0.0.0/8", "prefix": "11.0.0.0/8", "next_hop": 1})", "t:2#/prefix", "twice"},
        {R"({"time": 1, "announce": "10.0.0.0/8", "next_hop": 1})", "t:2", "an update, not a route"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": 1)", "t:2", "no JSON, at \"column 39"},
        {R"({"prefix": "10.0.0.0/8", "next_hop": 1} x)", "t:2", "no JSON, at \"column 41"},
        {"{\"prefix\": \"\xff\"}", "t:2", "ill-formed UTF-8"},
        {"[]", "t:2", "a JSON array, not JSON lines"},
        {"7", "t:2", "no JSON object"},
        {"\"x\"", "t:2", "no JSON object"},
        {"10.0.0.0/8 1", "t:2", "no JSON"},
    };
    for (const Wrong& wrong : cases) {
        const ReadOutcome outcome = table_of(R"({"prefix": "10.0.0.0/8", "next_hop": 1})"
                                             "\n" +
                                             std::string(wrong.line) + "\n");
        expect_told(outcome, wrong);
        EXPECT_EQ(outcome.lines.size(), 1u);
    }
    EXPECT_NE(table_of("{\"x\": \"" + std::string(70000, 'x') + "\"}").error.message.find("more than 65536"),
              std::string::npos);
    const std::string_view nul("{\"prefix\": \"10.0.0.0/8\", \"next_hop\": 1}\0 x", 40);
    EXPECT_NE(table_of(std::string(nul)).error.message.find("a NUL byte"), std::string::npos);
    EXPECT_FALSE(table_of(std::string(60000, '[')).good);
    EXPECT_NE(table_of("{\"x\": " + std::string(60000, '[')).error.message.find("no JSON"),
              std::string::npos);
}

TEST(UpdateJson, SaysWhereAndWhatIsWrong) {
    const Wrong cases[] = {
        {R"({"announce": "10.0.0.0/8", "next_hop": 1})", "t:1", "no member \"time\""},
        {R"({"time": "now", "withdraw": "10.0.0.0/8"})", "t:1#/time", "\"now\" is no time"},
        {R"({"time": -5, "withdraw": "10.0.0.0/8"})", "t:1#/time", "is no time"},
        {R"({"time": 1e9, "withdraw": "10.0.0.0/8"})", "t:1#/time", "\"1e9\" is no time"},
        {R"({"time": 1})", "t:1", "no member \"announce\""},
        {R"({"time": 1, "prefix": "10.0.0.0/8", "next_hop": 1})", "t:1", "no member \"announce\""},
        {R"({"time": 1, "announce": "10.0.0.0/8"})", "t:1", "no member \"next_hop\""},
        {R"({"time": 1, "announce": "10.0.0.0/8", "withdraw": "10.0.0.0/8"})", "t:1",
         "announce and withdraw"},
        {R"({"time": 1, "withdraw": "10.0.0.0/33"})", "t:1#/withdraw", "\"33\""},
    };
    for (const Wrong& wrong : cases)
        expect_told(updates_of(wrong.line), wrong);
}

TEST(UpdateText, Updates) {
    const ReadOutcome outcome = updates_of(
        "# a trace\n"
        "\n"
        "1470009600 a 10.0.0.0/8 7\n"
        " 1470009600.5\tw 10.0.0.0/8 0 # ids of withdrawals say nothing\r\n"
        "1470009601 w 2001:db8::/32\n"
        "1470009601 a 2001:db8::/32 upstream");
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines,
              (Lines{"3 1470009600 a 10.0.0.0/8 7", "4 1470009600.5 w 10.0.0.0/8",
                     "5 1470009601 w 2001:db8::/32", "6 1470009601 a 2001:db8::/32 upstream"}));
    EXPECT_EQ(outcome.summary.records, 4u);
}

TEST(UpdateText, ATableTakenForUpdatesAndTheOtherWayRound) {
    EXPECT_EQ(updates_of("10.0.0.0/8 7").error.hint, "this is a route: updates begin with their time");
    EXPECT_EQ(updates_of("10.0.0.0 7").error.hint, "");
    EXPECT_NE(table_of("1470009600 a 10.0.0.0/8 7").error.hint.find("this is an update"), std::string::npos);
    EXPECT_NE(table_of("1470009600.5 w 10.0.0.0/8").error.hint.find("this is an update"), std::string::npos);
    EXPECT_EQ(table_of("1470009600 7").error.hint, "");
}

TEST(UpdateText, SaysWhereAndWhatIsWrong) {
    const Wrong cases[] = {
        {"now a 10.0.0.0/8 1", "t:1", "\"now\" is no time"},
        {"1", "t:1", "nothing behind the time"},
        {"1 b 10.0.0.0/8 1", "t:1", "\"b\" behind the time"},
        {"1 a", "t:1", "no prefix in \"1 a\""},
        {"1 a 10.0.0.1/8 1", "t:1", "bits set behind its prefix length"},
        {"1 a 10.0.0.0/8", "t:1", "no next-hop id behind \"10.0.0.0/8\""},
        {"1 w 10.0.0.0/8 0 0", "t:1", "\"0\" behind the next-hop id"},
        {"10.0.0.0/8 7", "t:1", "\"10.0.0.0/8\" is no time"},
    };
    for (const Wrong& wrong : cases)
        expect_told(updates_of(wrong.line), wrong);
    EXPECT_NE(updates_of(std::string(5000, 'x')).error.message.find("more than 4096"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::fib
