/// Does forwarding outlive the daemon? Traffic at half the rate that Pktpit forwards at, every frame numbered
/// within its flow; meanwhile the daemon is killed with SIGKILL and started again, several times.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/progress.h"
#include "bench/harness/workload.h"

namespace pktpit::bench {

struct KillRestartResult {
    Family family = Family::ipv4;
    Cores cores = Cores::one_core;
    std::string workload;
    double full_mpps = 0;     ///< measured just before
    double offered_mpps = 0;  ///< what was then sent, over the whole run
    unsigned kills = 0;
    std::chrono::milliseconds without_daemon{0};  ///< in all
    std::chrono::milliseconds longest_start{0};
    uint64_t sent = 0;
    uint64_t arrived = 0;
    uint64_t late = 0;  ///< reordered or duplicated within their flow
    uint64_t refused_by_router = 0;
    uint64_t refused_by_sink = 0;
    std::string faults;

    [[nodiscard]] uint64_t lost() const { return sent > arrived ? sent - arrived : 0; }
    /// Nothing lost, nothing reordered, nothing wrong with any frame.
    [[nodiscard]] bool passed() const { return sent == arrived && sent > 0 && late == 0 && faults.empty(); }
};

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

void print_kill_restart(FILE* out, const KillRestartResult& result);

}  // namespace pktpit::bench
