// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/kill_restart_result.h"

#include <fmt/format.h>

namespace pktpit::bench::report {

void print_kill_restart(FILE* out, const KillRestartResult& result) {
    fmt::print(out, "\nkill -9 and restart, {}, {}, {}\n", result.family == Family::ipv4 ? "IPv4" : "IPv6",
               harness::name_of(result.cores), result.workload);
    fmt::print(out, "  full rate {:.3f} Mpps; offered meanwhile {:.3f} Mpps ({:.0f} %)\n", result.full_mpps,
               result.offered_mpps, 100 * result.offered_mpps / result.full_mpps);
    fmt::print(out, "  {} kills, {} ms without a daemon, slowest restart {} ms\n", result.kills,
               result.without_daemon.count(), result.longest_start.count());
    fmt::print(
        out,
        "  sent {}, arrived {}, lost {} (router's ring full {}, sink's {}), reordered within a flow {}\n",
        result.sent, result.arrived, result.lost(), result.refused_by_router, result.refused_by_sink,
        result.late);
    if (!result.faults.empty()) fmt::print(out, "  WRONG FRAMES: {}\n", result.faults);
    fmt::print(out, "target {}: nothing lost, nothing reordered\n", result.passed() ? "met" : "MISSED");
}

}  // namespace pktpit::bench::report
