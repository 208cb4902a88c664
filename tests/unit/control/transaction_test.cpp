// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/transaction.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace pktpit::router {
namespace {

TEST(Transaction, undoes_in_reverse_unless_committed) {
    std::string order;
    {
        Transaction transaction;
        transaction.on_rollback("one", [&] { order += "1"; });
        transaction.on_rollback("two", [&] { order += "2"; });
        transaction.on_commit("finish", [&] { order += "never"; });
    }
    EXPECT_EQ(order, "21");
}

TEST(Transaction, commit_finishes_in_order_and_undoes_nothing) {
    std::string order;
    {
        Transaction transaction;
        transaction.on_rollback("undo", [&] { order += "never"; });
        transaction.on_commit("one", [&] { order += "1"; });
        transaction.on_commit("two", [&] { order += "2"; });
        EXPECT_TRUE(transaction.commit().empty());
    }
    EXPECT_EQ(order, "12");
}

TEST(Transaction, what_cannot_be_undone_is_named_and_keeps_nothing_else_from_it) {
    std::string order;
    Transaction transaction;
    transaction.on_rollback("one", [&] { order += "1"; });
    transaction.on_rollback("two", [&]() -> Result<void> { return fail("eth0", "gone"); });
    transaction.on_rollback("three", [&] { throw std::bad_alloc(); });
    const Errors left = transaction.roll_back();
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(left[0].where, "three");
    EXPECT_EQ(left[1].where, "eth0");
    EXPECT_EQ(order, "1");
    EXPECT_TRUE(transaction.roll_back().empty()) << "once";
}

TEST(Transaction, a_refused_step_has_nothing_to_undo_and_one_that_throws_may_have) {
    std::string order;
    Transaction transaction;
    const auto undo = [&] { order += "undone "; };
    EXPECT_FALSE(transaction.make(
        "one", []() -> Result<void> { return fail("", "refused"); }, undo));
    EXPECT_TRUE(transaction.roll_back().empty());
    EXPECT_EQ(order, "");
    EXPECT_THROW((void)transaction.make(
                     "two", []() -> Result<void> { throw std::bad_alloc(); }, undo),
                 std::bad_alloc);
    EXPECT_TRUE(transaction.roll_back().empty());
    EXPECT_EQ(order, "undone ");
}

TEST(Transaction, warnings_and_failed_finishes_come_with_the_commit) {
    Transaction transaction;
    transaction.warn({"eth0", "slower", {}, {}});
    transaction.on_commit("one", []() -> Result<void> { return fail("eth1", "still there"); });
    const Errors left = transaction.commit();
    ASSERT_EQ(left.size(), 2U);
    EXPECT_EQ(left[0].where, "eth0");
    EXPECT_EQ(left[1].where, "eth1");
}

}  // namespace
}  // namespace pktpit::router
