// SPDX-License-Identifier: BSD-3-Clause
/// The simulation's heart: events in the order of their virtual time, and of their making where the times are
/// equal, so that a run is the same each time. A 4-ary heap of plain values: scheduling allocates nothing
/// once the heap has grown to a run's size. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "offload/model/time.h"

namespace pktpit::model {

/// Whatever events happen to. `what` and `argument` are the actor's own business.
class Actor {
  public:
    virtual ~Actor() = default;
    virtual void on_event(uint32_t what, uint64_t argument) = 0;
};

class EventQueue {
  public:
    EventQueue() { heap_.reserve(1 << 14); }

    [[nodiscard]] Time now() const { return now_; }
    [[nodiscard]] uint64_t events_run() const { return run_; }
    [[nodiscard]] size_t pending() const { return heap_.size(); }

    /// `at` in the past counts as now.
    void schedule(Time at, Actor& actor, uint32_t what, uint64_t argument = 0);
    /// Runs the next event. False: there is none.
    bool run_next();
    /// Runs all events up to `end`, that time included; it is `end` afterwards.
    void run_until(Time end);
    /// Runs until nothing is left, or `limit` events. False: the limit came first.
    bool run_all(uint64_t limit);

  private:
    struct Event {
        Time at;
        uint64_t order;
        Actor* actor;
        uint64_t argument;
        uint32_t what;
        bool operator<(const Event& other) const {
            return at != other.at ? at < other.at : order < other.order;
        }
    };
    void run_first();

    Time now_ = 0;
    uint64_t order_ = 0;
    uint64_t run_ = 0;
    std::vector<Event> heap_;
};

}  // namespace pktpit::model
