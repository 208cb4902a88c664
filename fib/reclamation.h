// SPDX-License-Identifier: BSD-3-Clause
/// When the writer's allocators may reuse what readers may still hold: by tickets of an Epochs, which never
/// make the writer wait while anything else is free, or by a function that waits out a grace period. Used by
/// IdPool, BucketSpace and the prefix tables. Writer's thread only.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>

#include "fib/epochs.h"

namespace pktpit::fib {

class Reclamation {
  public:
    /// All readers are `epochs`' readers. `epochs` must outlive this and its copies.
    Reclamation(Epochs& epochs) : epochs_(&epochs) {}  // NOLINT(google-explicit-constructor)
    /// `grace_period` returns once no reader holds what it read before the call (fib/image.h).
    template <std::invocable<> Function>
    Reclamation(Function grace_period)  // NOLINT(google-explicit-constructor)
        : grace_period_(std::move(grace_period)) {}

    /// For what was unlinked before this call; never decreases.
    [[nodiscard]] uint64_t ticket() const { return epochs_ ? epochs_->retire_ticket() : waited_ + 1; }
    /// Whether no reader holds it any more; never waits. With a function: whether wait() was called since.
    [[nodiscard]] bool passed(uint64_t ticket) {
        return epochs_ ? epochs_->passed(ticket) : ticket <= waited_;
    }
    /// Returns once every ticket handed out before has passed.
    void wait() {
        if (epochs_) return epochs_->wait();
        grace_period_();
        waited_++;
    }

  private:
    Epochs* epochs_ = nullptr;
    std::function<void()> grace_period_;
    uint64_t waited_ = 0;
};

}  // namespace pktpit::fib
