// SPDX-License-Identifier: BSD-3-Clause
/// What a test of kill -9 and restart found. Plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "bench/harness/measurement.h"

namespace pktpit::bench::report {

struct KillRestartResult {
    Family family = Family::ipv4;
    harness::Cores cores = harness::Cores::one_core;
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

void print_kill_restart(FILE* out, const KillRestartResult& result);

}  // namespace pktpit::bench::report
