// SPDX-License-Identifier: BSD-3-Clause
/// The CPUs that worker threads may be put on. Asked at the daemon's start.
#pragma once

#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace pktpit::router {

/// What this process may run on: the machine's CPUs, less what a cpuset or taskset has taken away.
std::vector<uint16_t> usable_cpus();

/// "0-3,8"
std::string cpu_list(const std::vector<uint16_t>& cpus);

/// Errors: a CPU that there is not, or that this process may not use.
Result<void> check_cpus(const config::Workers& workers, const std::vector<uint16_t>& usable);

}  // namespace pktpit::router
