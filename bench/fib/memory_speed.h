// SPDX-License-Identifier: BSD-3-Clause
/// How fast this machine loads from memory at random right now: what it has of a shared last-level cache
/// changes from minute to minute, and lookup rates with it. Main thread, pinned.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pktpit::bench::fib {

struct LoadRate {
    size_t bytes = 0;             ///< of memory that the loads are spread over
    double million_a_second = 0;  ///< independent 4-byte loads
};

/// Some tens of milliseconds.
std::vector<LoadRate> measure_random_loads();

/// "256 KiB 2345, 2 MiB 1200, ..."
std::string to_string(const std::vector<LoadRate>& rates);

}  // namespace pktpit::bench::fib
