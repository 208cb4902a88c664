// SPDX-License-Identifier: BSD-3-Clause
/// Reloads, one at a time: the file is read and checked on a thread of their own, since that takes as long as
/// the file is large or its disk slow, and applied on the daemon's loop. Who comes while another is under way
/// waits for a while, and is told then.
///
/// reload() on any thread but the loop's; the rest on the loop's.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "router/daemon/prepared.h"

namespace pktpit::router {

class Reloads {
  public:
    using Answer = tl::expected<nlohmann::json, ReloadRefusal>;
    struct Steps {
        /// On the thread of the reloads. May last for ever: it outlives stop() then, so that what it uses has
        /// to be its own.
        std::function<tl::expected<Prepared, ReloadRefusal>(const ReloadOrder&)> prepare;
        std::function<Answer(const Prepared&, bool dry_run)> apply;  ///< on the loop's thread
        std::function<void(std::function<void()>)> post;             ///< to the loop
        std::chrono::milliseconds patience{10'000};                  ///< until it is an order's turn
        /// Empty, or what is to be done on the thread of the reloads about what has been applied, before it
        /// is answered; what it hands back, if anything, is run on the loop's. As prepare() it has all that
        /// it uses.
        std::function<std::function<void()>(const Prepared&)> keep{};
    };
    explicit Reloads(Steps steps);
    ~Reloads();
    Reloads(const Reloads&) = delete;
    Reloads& operator=(const Reloads&) = delete;

    /// Waits until the reload has been made or refused.
    Answer reload(const ReloadOrder& order);
    /// Does not wait; `done` is run on the loop's thread. Where such a reload waits already, that is the one.
    void reload_soon(std::function<void()> done, const ReloadOrder& order = {});

    /// Nothing is applied from now on, and who waits is told so. False: a file is still being read or checked
    /// after half a second; its thread is left alone, and the process must end without waiting for it.
    bool stop();

  private:
    struct Shared;
    struct Job;
    static void run(const std::shared_ptr<Shared>& shared);

    std::shared_ptr<Shared> shared_;
    std::thread thread_;
};

}  // namespace pktpit::router
