// SPDX-License-Identifier: BSD-3-Clause
/// A change that is made step by step and kept whole or not at all: each step leaves behind how to undo it,
/// and unless commit() is called all is undone, last step first. A step that cannot be undone does not keep
/// the others from it, and is named. One thread.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

using Errors = std::vector<Error>;

/// Work whose parts do not depend on each other's success, such as a way back: every part is tried, also
/// after one that failed or threw; the first Error is kept, and names the others.
class BestEffort {
  public:
    /// `part` returns nothing or a Result<void>.
    template <class Part>
    void attempt(const std::string& what, const Part& part) {
        try {
            if constexpr (std::is_void_v<decltype(part())>) {
                part();
            } else if (const Result<void> done = part(); !done) {
                failed(done.error());
            }
        } catch (const std::exception& error) {
            failed({what, std::string("unexpected failure: ") + error.what(), {}, {}});
        }
    }
    [[nodiscard]] Result<void> result() const {
        return failure_ ? Result<void>(tl::unexpected(*failure_)) : Result<void>();
    }

  private:
    void failed(const Error& error) {
        if (failure_)
            failure_->message += "; " + error.to_string();
        else
            failure_ = error;
    }
    std::optional<Error> failure_;
};

class Transaction {
  public:
    Transaction() = default;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    ~Transaction() { (void)roll_back(); }

    /// Notes how to undo what comes next: first the note, then the deed, so that an exception from the deed
    /// leaves nothing behind. `undo` returns nothing or a Result<void>, and does no harm where the deed was
    /// not done.
    template <class Undo>
    void on_rollback(std::string what, Undo undo) {
        undo_.push_back(step(std::move(what), std::move(undo)));
    }
    /// The same for one step that either succeeds or, with an Error, has done nothing.
    template <class Deed, class Undo>
    Result<void> make(std::string what, const Deed& deed, Undo undo) {
        on_rollback(std::move(what), std::move(undo));
        Result<void> done = deed();
        if (!done) undo_.pop_back();
        return done;
    }
    /// For what must not happen before all else has succeeded, and cannot be refused any more.
    template <class Finish>
    void on_commit(std::string what, Finish finish) {
        finish_.push_back(step(std::move(what), std::move(finish)));
    }
    /// Something that could not be done, and without which the change is kept nevertheless.
    void warn(Error warning) { warnings_.push_back(std::move(warning)); }

    /// Finishes. What could not be: warnings, and the finishing steps that failed.
    [[nodiscard]] Errors commit() {
        undo_.clear();
        Errors left = std::exchange(warnings_, {});
        run(std::exchange(finish_, {}), left);
        return left;
    }
    /// Undoes everything. What could not be undone: empty if all is as it was.
    [[nodiscard]] Errors roll_back() {
        finish_.clear();
        warnings_.clear();
        Errors left;
        Steps back = std::exchange(undo_, {});
        run({std::make_move_iterator(back.rbegin()), std::make_move_iterator(back.rend())}, left);
        return left;
    }

  private:
    struct Step {
        std::string what;
        std::function<Result<void>()> run;
    };
    using Steps = std::vector<Step>;

    template <class Work>
    static Step step(std::string what, Work work) {
        if constexpr (std::is_void_v<decltype(work())>)
            return {std::move(what), [work = std::move(work)]() mutable -> Result<void> {
                        work();
                        return {};
                    }};
        else
            return {std::move(what), std::move(work)};
    }
    static void run(const Steps& steps, Errors& left) {
        for (const auto& [what, work] : steps) {
            BestEffort effort;
            effort.attempt(what, work);
            if (const auto done = effort.result(); !done) left.push_back(done.error());
        }
    }

    Steps undo_;
    Steps finish_;
    Errors warnings_;
};

}  // namespace pktpit::router
