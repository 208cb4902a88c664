// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/priority.h"

#include <sched.h>

#include "bench/harness/failure.h"

namespace pktpit::bench::fib {

void pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        harness::fail_errno("pin a thread to CPU " + std::to_string(cpu));
}

std::unique_ptr<harness::RealTime> real_time(const Options& options) {
    // On one core, real-time threads that spin would keep each other from ever running.
    if (options.smoke || options.cpu == options.reader_cpu) return nullptr;
    try {
        return std::make_unique<harness::RealTime>(harness::Schedule::traffic);
    } catch (const harness::Failure&) {
        return nullptr;
    }
}

}  // namespace pktpit::bench::fib
