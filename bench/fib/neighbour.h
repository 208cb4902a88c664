// SPDX-License-Identifier: BSD-3-Clause
/// A thread on another core that keeps writing to its own memory, line by line at random, as the other cores
/// of a router do with packets: what a lookup structure has of the shared cache is then what is left to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "bench/fib/measured_memory.h"

namespace pktpit::bench::fib {

class Neighbour {
  public:
    Neighbour(unsigned cpu, size_t bytes);
    ~Neighbour();
    Neighbour(const Neighbour&) = delete;
    Neighbour& operator=(const Neighbour&) = delete;

  private:
    void run();

    MeasuredMemory memory_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace pktpit::bench::fib
