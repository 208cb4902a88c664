// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/plot.h"

#include <gtest/gtest.h>

namespace pktpit::bench::report {
namespace {

size_t count(const std::string& text, const std::string& part) {
    size_t found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}

TEST(Plot, ABarForEachRowAndAChartForEachPanel) {
    const std::string script =
        bars_script({{"a", "Mpps", {{"x", 1, 0.5, 2, true}, {"y", 2, 2, 2, false}}}, {"b", "ns", {}}});
    EXPECT_EQ(count(script, "\nplot "), 2u);
    EXPECT_NE(script.find("0 1 0.5 2 0x2060a0"), std::string::npos);
    EXPECT_NE(script.find("-1 2 2 2 0xb0b0b0"), std::string::npos);
}

// Names come from files and command lines: they must not end the string they stand in.
TEST(Plot, QuotesNames) {
    const std::string script = bars_script({{"say \"no\"\\", "u", {{"\"; system \"x", 1, 1, 1, false}}}});
    EXPECT_NE(script.find(R"("say \"no\"\\")"), std::string::npos);
    EXPECT_NE(script.find(R"("\"; system \"x")"), std::string::npos);
}

TEST(Plot, CurvesShareTheirChart) {
    const std::string script = curves_script({{"t", "x", "y", true, {{"one", {{1, 2}}}, {"two", {{3, 4}}}}}});
    EXPECT_EQ(count(script, "\nplot "), 1u);
    EXPECT_EQ(count(script, "with linespoints"), 2u);
    EXPECT_NE(script.find("set logscale y"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::bench::report
