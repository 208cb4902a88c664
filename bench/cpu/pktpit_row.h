// SPDX-License-Identifier: BSD-3-Clause
/// Pktpit's row: the daemon on its dpdk dataplane, on the same virtual devices as DPDK's own programs.
#pragma once

#include <memory>
#include <string>

#include "bench/cpu/rows.h"

namespace pktpit::bench::cpu {

/// Throws Failure, with the daemon's words, where it does not run: a build without the dpdk dataplane.
std::unique_ptr<CpuRow> start_pktpit(const harness::Workload& workload, const CpuSettings& settings);

}  // namespace pktpit::bench::cpu
