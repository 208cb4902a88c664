// SPDX-License-Identifier: BSD-3-Clause
/// The command line that DPDK's EAL is started with: what Pktpit needs, then what the configuration adds.
/// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pktpit::router {

struct EalPlan {
    std::string prefix;                ///< of files that EAL may make; one a process
    unsigned cpu = 0;                  ///< EAL's own "main lcore"; no work is done there
    bool hugepages = true;             ///< false: ordinary pages, `memory` of them
    size_t memory = 0;                 ///< bytes, without hugepages: EAL takes them at once
    std::vector<std::string> options;  ///< the configuration's, checked (config/eal_options.h)
};

/// argv of rte_eal_init(), argv[0] included.
std::vector<std::string> eal_arguments(const EalPlan& plan);

/// Bytes of hugepages that nobody uses or has reserved, of all sizes.
size_t free_hugepage_bytes(const std::string& sysfs = "/sys");

}  // namespace pktpit::router
