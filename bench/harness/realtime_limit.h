// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's limit on real-time threads (sched(7), "Limiting the CPU usage of real-time and deadline
/// processes"), out of the way while a benchmark runs. By default it stops them, generator, routers and all,
/// for 50 ms of each second: some windows of measurement have such a gap and others have not, which showed as
/// a spread of 40 %. Put back however the process ends. Create it before any thread.
#pragma once

#include <string>

#include "bench/harness/caretaker.h"

namespace pktpit::bench::harness {

inline constexpr const char* realtime_limit_file = "/proc/sys/kernel/sched_rt_runtime_us";

class NoRealtimeLimit {
  public:
    /// Where that is refused (no root) the limit stays; the report says what it was (describe_machine()).
    explicit NoRealtimeLimit(const std::string& file = realtime_limit_file);

  private:
    Caretaker limit_;  ///< its result: the limit before, -1 for none
};

}  // namespace pktpit::bench::harness
