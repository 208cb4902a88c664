// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's environment, for its lookup libraries alone: no devices, no files, no telemetry, no words. Started
/// once by main(); its libraries are then called from the measuring thread.
#pragma once

#include <cstddef>
#include <string>

namespace pktpit::bench::fib {

struct EalPlan {
    unsigned cpu = 0;        ///< the calling thread is pinned there
    size_t memory = 0;       ///< bytes the peers take at most
    bool huge_pages = true;  ///< as many are free; false: ordinary memory
};

class Eal {
  public:
    /// Throws Failure with what DPDK said.
    explicit Eal(const EalPlan& plan);
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

    static std::string version();
};

}  // namespace pktpit::bench::fib
