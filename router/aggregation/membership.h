// SPDX-License-Identifier: BSD-3-Clause
/// Which workers of a group are there, and the epochs that follow from it (docs/aggregation.md has the
/// states). Knows neither sockets nor maps nor a clock: what workers say is told to it, and what the router
/// is to answer can be asked. Used by the aggregation service; one thread.
#pragma once

#include <array>
#include <bit>
#include <chrono>
#include <cstdint>

#include "allreduce/wire.h"

namespace pktpit::router {

/// CLOCK_MONOTONIC.
using Heard = std::chrono::nanoseconds;

class Membership {
  public:
    /// `epoch`: the last one that there was, or any number.
    Membership(unsigned workers, std::chrono::milliseconds timeout, uint16_t epoch)
        : workers_(workers), timeout_(timeout), epoch_(epoch) {}

    /// A worker has started. Of one that is there already, with the same incarnation, nothing changes.
    void join(unsigned worker, uint64_t incarnation, Heard now);
    void alive(unsigned worker, Heard now);
    /// It needs nothing any more, but others may need what it has sent.
    void leave(unsigned worker);
    /// Who has not been heard of for the timeout is lost, which ends the epoch.
    void look(Heard now);
    /// Goes on with an epoch that an earlier daemon has opened.
    void resume(unsigned worker, uint64_t incarnation, Heard now);

    [[nodiscard]] bool running() const { return running_; }
    [[nodiscard]] uint16_t epoch() const { return epoch_; }
    [[nodiscard]] uint64_t all() const {
        return workers_ == 64 ? ~uint64_t{0} : (uint64_t{1} << workers_) - 1;
    }
    [[nodiscard]] uint64_t joined() const { return joined_; }
    /// Of those whom the last epoch ended with.
    [[nodiscard]] uint64_t lost() const { return lost_; }
    [[nodiscard]] uint64_t incarnation(unsigned worker) const { return of_[worker].incarnation; }
    /// Those who took part in the epoch that has ended, and have not joined again: they may not know it.
    [[nodiscard]] uint64_t to_be_told(Heard now) const;
    [[nodiscard]] Heard heard(unsigned worker) const { return of_[worker].heard; }

  private:
    struct Worker {
        uint64_t incarnation = 0;
        uint64_t before = 0;  ///< the incarnation before: a join of it came late
        Heard heard{};
    };
    void end(uint64_t lost, Heard now);
    static uint64_t bit(unsigned worker) { return uint64_t{1} << worker; }

    unsigned workers_;
    std::chrono::nanoseconds timeout_;
    uint16_t epoch_;
    bool running_ = false;
    uint64_t joined_ = 0;
    uint64_t lost_ = 0;
    uint64_t left_ = 0;
    uint64_t told_ = 0;  ///< took part in the epoch that has ended
    Heard ended_{};
    std::array<Worker, PA_MAX_WORKERS> of_{};
};

}  // namespace pktpit::router
