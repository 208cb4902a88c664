// The rows of `pktpit model check` that the model meets stay met.
#include "offload/model/check.h"

#include <gtest/gtest.h>

namespace pktpit::model {
namespace {

void expect_met(std::initializer_list<unsigned> rows) {
    const std::vector<unsigned> wanted(rows);
    const CheckReport report = *run_check(wanted, {}, {});
    EXPECT_FALSE(report.lines.empty());
    for (const CheckLine& line : report.lines)
        EXPECT_NE(line.verdict, Verdict::unmet) << line.what << ": " << line.expected << ", not " << line.got;
}

TEST(Check, EveryByteOnEveryLinkIsTheClosedForms) {
    expect_met({1, 3});
}

TEST(Check, MainMemoryUnderLoad) {
    expect_met({4});
}

TEST(Check, ChipLatenciesAndRedirection) {
    expect_met({7});
}

TEST(Check, P2pNicAgainstTheCpuDrivenRouter) {
    const std::vector<unsigned> rows{5};
    const CheckReport report = *run_check(rows, {}, {});
    size_t held = 0;
    for (const CheckLine& line : report.lines)
        if (line.what.find("1 → 1") != std::string::npos || line.origin == Origin::calibrated) {
            EXPECT_EQ(line.verdict, Verdict::holds) << line.what << ": " << line.got;
            held++;
        }
    EXPECT_EQ(held, 8U);
}

TEST(Check, PeerOperations) {
    expect_met({8});
}

}  // namespace
}  // namespace pktpit::model
