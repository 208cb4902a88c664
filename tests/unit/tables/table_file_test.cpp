// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_file.h"

#include <gtest/gtest.h>

#include "tests/unit/tables/collect.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT

Error error_of(std::string_view text) {
    Lines lines;
    const auto result = read_table_text(text, "t", collector(lines));
    EXPECT_FALSE(result) << text;
    return result ? Error{} : result.error();
}

TEST(TableText, ReadsRoutesAndSkipsTheRest) {
    Lines lines;
    const auto count = read_table_text(
        "# a table\n"
        "\n"
        "10.0.0.0/8 1\n"
        "  2001:db8::/32\t upstream-a  # to the left\r\n"
        "   # nothing\n"
        "0.0.0.0/0 *#x\n"
        "10.0.0.0/8 1",
        "t", collector(lines));
    EXPECT_EQ(count, 4u);
    EXPECT_EQ(lines,
              (Lines{"3 10.0.0.0/8 1", "4 2001:db8::/32 upstream-a", "6 0.0.0.0/0 *", "7 10.0.0.0/8 1"}));
}

TEST(TableText, NothingIsNoError) {
    Lines lines;
    for (const char* text : {"", "\n", "#", "# x\n\n\n", " \t\r\n"})
        EXPECT_EQ(read_table_text(text, "t", collector(lines)), 0u);
    EXPECT_TRUE(lines.empty());
}

TEST(TableText, SaysWhereAndWhatIsWrong) {
    EXPECT_EQ(error_of("10.0.0.0/8 1\n10.0.0.0 1\n").where, "t:2");
    EXPECT_NE(error_of("10.0.0.0 1").message.find("\"10.0.0.0\" has no prefix length"), std::string::npos);
    EXPECT_NE(error_of("10.0.0.1/8 1").expected.find("10.0.0.0/8"), std::string::npos);
    EXPECT_NE(error_of("\n\n10.0.0.0/8\n").message.find("no next-hop id behind \"10.0.0.0/8\""),
              std::string::npos);
    EXPECT_EQ(error_of("\n\n10.0.0.0/8\n").where, "t:3");
    EXPECT_EQ(error_of("10.0.0.0/8 # 1").expected, "`prefix next-hop-id`");
    EXPECT_NE(error_of("10.0.0.0/8 1 2").message.find("\"2\" behind the next-hop id"), std::string::npos);
    EXPECT_NE(error_of(std::string(4097, 'x')).message.find("more than 4096"), std::string::npos);
    EXPECT_EQ(error_of("10.0.0.0/8 1\n" + std::string(5000, ' ') + "\n").where, "t:2");
    EXPECT_FALSE(error_of(std::string_view("10.0.0.0/8\0 1", 13)).message.empty());
}

TEST(TableText, TheVisitorCanRefuse) {
    int visits = 0;
    const auto result = read_table_text("10.0.0.0/8 1\n11.0.0.0/8 2\n12.0.0.0/8 3\n", "t",
                                        [&](const Prefix&, std::string_view id, size_t) -> Result<void> {
                                            visits++;
                                            if (id == "2") return fail({}, "unknown next hop");
                                            return {};
                                        });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().to_string(), "t:2: unknown next hop");
    EXPECT_EQ(visits, 2);
    const auto own = read_table_text(
        "10.0.0.0/8 1", "t",
        [](const Prefix&, std::string_view, size_t) -> Result<void> { return fail("elsewhere", "full"); });
    EXPECT_EQ(own.error().where, "elsewhere");
}

}  // namespace
}  // namespace pktpit::fib
