// SPDX-License-Identifier: BSD-3-Clause
/// Clocks of the measurements. Any thread.
#pragma once

#include <time.h>

#include <chrono>

namespace pktpit::bench::fib {

/// Seconds that the calling thread has run: what others take of its core is not in it.
inline double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

inline double wall_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace pktpit::bench::fib
