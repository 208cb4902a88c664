// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace pktpit::router::cli {
namespace {

class TableTest : public ::testing::Test {
  protected:
    std::ostringstream out, err;
    Terminal terminal{.out = out, .err = err};
};

TEST_F(TableTest, AlignsAndLeavesNoBlanksAtTheEnd) {
    Table table({{"NAME"}, {"COUNT", Align::right}, {"NOTE"}});
    table.add_row({"eth0", "7", ""});
    table.add_row({"a", "12345", "x"});
    EXPECT_EQ(table.render(terminal),
              "NAME  COUNT  NOTE\n"
              "eth0      7\n"
              "a     12345  x\n");
}

TEST_F(TableTest, MissingCellsAreEmpty) {
    Table table({{"A"}, {"B"}});
    table.add_row({"x"});
    EXPECT_EQ(table.render(terminal), "A  B\nx\n");
}

TEST_F(TableTest, WidthCountsCharactersNotBytes) {
    Table table({{"N"}, {"V"}});
    table.add_row({"größe", "1"});
    table.add_row({"abcde", "2"});
    EXPECT_EQ(table.render(terminal), "N      V\ngröße  1\nabcde  2\n");
}

TEST_F(TableTest, FlexibleColumnGivesWay) {
    Table table({{"A"}, {"LONG", Align::left, true}, {"Z"}});
    table.add_row({"a", "0123456789abcdefghij", "z"});
    terminal.columns = 17;
    EXPECT_EQ(table.render(terminal), "A  LONG         Z\na  0123456789…  z\n");
    terminal.columns = 0;
    EXPECT_EQ(table.render(terminal), "A  LONG                  Z\na  0123456789abcdefghij  z\n");
}

TEST_F(TableTest, NothingIsCutWhereNothingIsFlexibleOrTooNarrow) {
    Table table({{"A"}, {"B", Align::left, true}});
    table.add_row({"0123456789", "0123456789"});
    terminal.columns = 5;
    EXPECT_EQ(table.render(terminal), "A           B\n0123456789  0123456…\n");
}

TEST_F(TableTest, CutsBetweenCharacters) {
    Table table({{"A", Align::left, true}});
    table.add_row({"ääääääääääää"});
    terminal.columns = 8;
    EXPECT_EQ(table.render(terminal), "A\näääääää…\n");
}

TEST_F(TableTest, ColoursDoNotCountAsWidth) {
    terminal.colour_out = true;
    Table table({{"A"}, {"B"}});
    table.add_row({Cell("up", Colour::green), "x"});
    EXPECT_EQ(table.render(terminal), "\x1b[1mA\x1b[0m   \x1b[1mB\x1b[0m\n\x1b[32mup\x1b[0m  x\n");
}

TEST_F(TableTest, ControlCharactersCannotSteerTheTerminal) {
    Table table({{"A"}});
    table.add_row({"eth\x1b[2J\n\x7f"});
    EXPECT_EQ(table.render(terminal), "A\neth?[2J??\n");
}

TEST_F(TableTest, PagesLineUp) {
    Table table({{"A"}, {"B"}});
    table.add_row({"long-name", "1"});
    EXPECT_EQ(table.render(terminal), "A          B\nlong-name  1\n");
    table.clear();
    table.add_row({"x", "2"});
    EXPECT_EQ(table.render(terminal, false), "x          2\n");
}

TEST_F(TableTest, ErrorsTellAllThatIsKnown) {
    terminal.print_error({"/routes/3", "odd", "even", "halve it"});
    terminal.print_error({"", "odd", "", ""});
    EXPECT_EQ(err.str(), "error: /routes/3: odd\n  expected: even\n  hint: halve it\nerror: odd\n");
}

}  // namespace
}  // namespace pktpit::router::cli
