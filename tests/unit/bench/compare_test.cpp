// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bench/harness/failure.h"

namespace pktpit::bench::report {
namespace {

std::string wire_report(double rate, double ratio, double spread, const std::string& kernel = "Linux 6") {
    return fmt::format(
        R"({{"benchmark":"wire","format":2,"machine":{{"kernel":"{}","date":"{}"}},"panels":[{{"family":"ipv4",
        "frame_bytes":64,"cores":"two-core","workload":"16 routes","subject":"pktpit","series":[{{"forwarder":"kernel",
        "mpps":{{"median":{},"spread":{}}},"subject_ratio":{{"median":{},"spread":{}}}}}]}}]}})",
        kernel, rate, rate, spread, ratio, spread);
}

TEST(Compare, TellsRatesFromRatiosAndWhatIsBeyondTheSpread) {
    const Comparison found = compare_reports(wire_report(1, 4, 0.1), wire_report(1.05, 5, 0.02));
    ASSERT_EQ(found.changes.size(), 2u);
    for (const Change& change : found.changes) {
        EXPECT_EQ(change.significant(), change.ratio);  // 5 % is within the spread of 10 %, 25 % is not
        EXPECT_DOUBLE_EQ(change.spread, 0.1);
        EXPECT_NEAR(change.factor(), change.ratio ? 1.25 : 1.05, 1e-9);
    }
}

TEST(Compare, SaysThatTheMachineIsAnotherButNotThatTheDateIs) {
    const Comparison found = compare_reports(wire_report(1, 4, 0.1), wire_report(2, 4, 0.1, "Linux 7"));
    ASSERT_EQ(found.differences.size(), 1u);
    EXPECT_NE(found.differences[0].find("Linux 7"), std::string::npos);
}

TEST(Compare, NamesWhatOnlyOneHas) {
    const Comparison found = compare_reports(wire_report(1, 4, 0.1),
                                             R"({"benchmark":"wire","format":2,"machine":{},"panels":[]})");
    EXPECT_EQ(found.only_before.size(), 2u);
    EXPECT_TRUE(found.only_after.empty());
}

TEST(Compare, RefusesWhatIsNoReportOrAnother) {
    EXPECT_THROW(compare_reports("{", wire_report(1, 1, 1)), harness::Failure);
    EXPECT_THROW(compare_reports(R"({"benchmark":"cpu","machine":{}})", wire_report(1, 1, 1)),
                 harness::Failure);
    EXPECT_THROW(compare_reports(R"({"benchmark":"wire","machine":{},"panels":[{}]})", wire_report(1, 1, 1)),
                 harness::Failure);
    EXPECT_THROW(compare_reports("[]", "[]"), harness::Failure);
}

}  // namespace
}  // namespace pktpit::bench::report
