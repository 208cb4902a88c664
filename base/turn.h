// SPDX-License-Identifier: BSD-3-Clause
/// How long one turn of a long piece of work may last, so that whoever shares its thread has turns, too.
/// Handed to what works, which asks over() after each small step, and goes on at the next turn where it has
/// stopped. Any thread, one at a time; never waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace pktpit {

class Turn {
  public:
    using Clock = std::chrono::steady_clock;

    /// Over when so much time has passed. The clock is asked at every 64th over().
    static Turn lasting(Clock::duration time) { return Turn(Clock::now() + time, endless); }
    /// Over after so many steps, however long they take.
    static Turn of_steps(uint64_t steps) { return Turn(Clock::time_point::max(), steps); }
    /// Over when the work is.
    static Turn whole() { return Turn(Clock::time_point::max(), endless); }

    /// Over when half of what is left of this one has passed.
    [[nodiscard]] Turn half() const {
        if (!timed()) return Turn(end_, most_ == endless ? endless : most_ - (most_ - steps_) / 2 - steps_);
        const auto now = Clock::now();
        return Turn(now + (end_ - now) / 2, endless);
    }

    /// Asked after each step: is there no time for another one?
    [[nodiscard]] bool over() {
        ++steps_;
        if (steps_ >= most_ || (timed() && steps_ % steps_per_look == 0 && Clock::now() >= end_))
            over_ = true;
        return over_;
    }
    /// The same after a step that takes as long as many: the clock is asked each time.
    [[nodiscard]] bool over_after_much() {
        if (timed()) steps_ |= steps_per_look - 1;
        return over();
    }

  private:
    static constexpr uint64_t endless = std::numeric_limits<uint64_t>::max();
    static constexpr uint64_t steps_per_look = 64;

    Turn(Clock::time_point end, uint64_t most) : end_(end), most_(most) {}

    [[nodiscard]] bool timed() const { return end_ != Clock::time_point::max(); }

    Clock::time_point end_;
    uint64_t most_;
    uint64_t steps_ = 0;
    bool over_ = false;
};

}  // namespace pktpit
