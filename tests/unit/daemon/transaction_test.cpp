#include "router/daemon/transaction.h"

#include <gtest/gtest.h>

#include <string>

namespace pktpit::router {
namespace {

TEST(Transaction, UndoesInReverseUnlessCommitted) {
    std::string order;
    {
        Transaction transaction;
        transaction.on_rollback([&] { order += "1"; });
        transaction.on_rollback([&] { order += "2"; });
        transaction.on_commit([&] { order += "never"; });
    }
    EXPECT_EQ(order, "21");
}

TEST(Transaction, CommitFinishesInOrderAndUndoesNothing) {
    std::string order;
    {
        Transaction transaction;
        transaction.on_rollback([&] { order += "never"; });
        transaction.on_commit([&] { order += "1"; });
        transaction.on_commit([&] { order += "2"; });
        transaction.commit();
    }
    EXPECT_EQ(order, "12");
}

}  // namespace
}  // namespace pktpit::router
