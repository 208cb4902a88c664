// SPDX-License-Identifier: BSD-3-Clause
/// Hands work from an API thread to the daemon's loop thread and waits for it.
///
/// run() is called on the API's worker threads, stop() on any thread. Work that was given up on never starts,
/// so that "it did not happen" is true; work that has started is waited for. Never call run() on the loop
/// thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace pktpit::router {

class LoopCall {
  public:
    /// Runs a closure on the loop thread, later or at once. May drop it when the loop ends.
    using Executor = std::function<void(std::function<void()>)>;

    /// `patience`: how long work may wait to be started.
    LoopCall(Executor executor, std::chrono::milliseconds patience);

    enum class Outcome { done, busy, stopping };
    /// Returns once `work` has run (done), or will never run (busy: out of patience; stopping).
    /// An exception out of `work` is thrown here.
    [[nodiscard]] Outcome run(const std::function<void()>& work);

    /// Gives up all work that has not started; from now on run() returns `stopping` at once.
    void stop();

  private:
    struct Shared;
    Executor executor_;
    std::chrono::milliseconds patience_;
    std::shared_ptr<Shared> shared_;  // outlives this object in closures that the loop still holds
};

}  // namespace pktpit::router
