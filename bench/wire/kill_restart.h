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

namespace pktpit::bench {

struct KillRestartPlan {
    std::string binary;
    unsigned kills = 3;
    std::chrono::milliseconds dead{500};   ///< between kill and restart
    std::chrono::milliseconds alive{500};  ///< before each kill, and at the end
};

KillRestartResult test_kill_restart(const Workload& workload, Cores cores, const Timing& timing,
                                    const KillRestartPlan& plan, Progress& progress);
/// Steps that test_kill_restart() takes of a Progress.
size_t kill_restart_steps(const KillRestartPlan& plan);

}  // namespace pktpit::bench
