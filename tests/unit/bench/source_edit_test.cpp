// SPDX-License-Identifier: BSD-3-Clause
#include "bench/dpdk/source_edit.h"

#include <gtest/gtest.h>

#include "bench/harness/failure.h"

namespace pktpit::bench::dpdk {
namespace {

TEST(SourceEdit, ReplacesTheOnePlaceAndLeavesTheRest) {
    EXPECT_EQ(apply_edits("a.c", "int x = 1;\nint y = 2;\n", {{"a.c", "x = 1", "x = 10", ""}}),
              "int x = 10;\nint y = 2;\n");
}

TEST(SourceEdit, AppliesOneAfterTheOther) {
    EXPECT_EQ(apply_edits("a.c", "abc", {{"a.c", "a", "x", ""}, {"a.c", "xb", "y", ""}}), "yc");
}

TEST(SourceEdit, LeavesOtherFilesAlone) {
    EXPECT_EQ(apply_edits("b.c", "abc", {{"a.c", "not here", "x", ""}}), "abc");
}

TEST(SourceEdit, FailsWhereTheTextIsMissing) {
    EXPECT_THROW(apply_edits("a.c", "abc", {{"a.c", "abd", "x", ""}}), harness::Failure);
}

TEST(SourceEdit, FailsWhereItCannotKnowWhichIsMeant) {
    EXPECT_THROW(apply_edits("a.c", "aXbX", {{"a.c", "X", "y", ""}}), harness::Failure);
    EXPECT_THROW(apply_edits("a.c", "aaa", {{"a.c", "aa", "y", ""}}), harness::Failure);  // overlapping
}

}  // namespace
}  // namespace pktpit::bench::dpdk
