// SPDX-License-Identifier: BSD-3-Clause
/// What a daemon with split ports and no traffic takes of a CPU, in each way of polling.
#pragma once

#include <chrono>
#include <string>

#include "bench/harness/progress.h"
#include "bench/harness/workload.h"
#include "bench/report/report.h"

namespace pktpit::bench::wire {

/// One row a way of polling: busy, adaptive, interrupt. `time`: observed of each, after a second to settle.
std::vector<report::IdleUse> measure_idle(const std::string& pktpitd, const harness::Workload& workload,
                                          std::chrono::seconds time, harness::Progress& progress);

}  // namespace pktpit::bench::wire
