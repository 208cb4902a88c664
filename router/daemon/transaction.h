/// A change that is made step by step and kept whole or not at all: each step leaves behind how to undo it,
/// and unless commit() is called the destructor undoes all, last step first.
#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace pktpit::router {

class Transaction {
  public:
    Transaction() = default;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() {
        for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo)
            (*undo)();
    }

    void on_rollback(std::function<void()> undo) { undo_.push_back(std::move(undo)); }
    /// For what cannot fail and must not happen before all else has succeeded.
    void on_commit(std::function<void()> finish) { finish_.push_back(std::move(finish)); }

    void commit() {
        undo_.clear();
        for (auto& finish : finish_)
            finish();
        finish_.clear();
    }

  private:
    std::vector<std::function<void()>> undo_;
    std::vector<std::function<void()>> finish_;
};

}  // namespace pktpit::router
