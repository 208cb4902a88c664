// SPDX-License-Identifier: BSD-3-Clause
/// Does forwarding outlive the daemon? Traffic at half the rate that Pktpit forwards at, every frame numbered
/// within its flow; meanwhile the daemon is killed with SIGKILL and started again, several times.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/progress.h"
#include "bench/harness/workload.h"
#include "bench/report/kill_restart_result.h"

namespace pktpit::bench::wire {

struct KillRestartPlan {
    std::string binary;
    unsigned kills = 3;
    std::chrono::milliseconds dead{500};   ///< between kill and restart
    std::chrono::milliseconds alive{500};  ///< before each kill, and at the end
};

report::KillRestartResult test_kill_restart(const harness::Workload& workload, harness::Cores cores,
                                            const harness::Timing& timing, const KillRestartPlan& plan,
                                            harness::Progress& progress);
/// Steps that test_kill_restart() takes of a Progress.
size_t kill_restart_steps(const KillRestartPlan& plan);

}  // namespace pktpit::bench::wire
