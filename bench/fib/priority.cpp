#include "bench/fib/priority.h"

#include <sched.h>

#include "bench/harness/failure.h"

namespace pktpit::bench {

void pin_to(unsigned cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0) fail_errno("pin a thread to CPU " + std::to_string(cpu));
}

std::unique_ptr<RealTime> real_time(const Options& options) {
    // On one core, real-time threads that spin would keep each other from ever running.
    if (options.smoke || options.cpu == options.reader_cpu) return nullptr;
    try {
        return std::make_unique<RealTime>(Schedule::traffic);
    } catch (const Failure&) {
        return nullptr;
    }
}

}  // namespace pktpit::bench
