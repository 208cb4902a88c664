// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's EAL in this process. It can be started once, and never again after its end; devices come and go
/// while it runs. The daemon's thread, which keeps the CPUs that it may run on.
#pragma once

#include <memory>

#include "base/result.h"
#include "router/dpdk/eal_arguments.h"

namespace pktpit::router {

class Eal {
  public:
    /// Errors: what EAL said, at /dpdk.
    static Result<std::unique_ptr<Eal>> start(const EalPlan& plan);
    /// All devices are closed. Memory goes back; no file stays.
    ~Eal();
    Eal(const Eal&) = delete;
    Eal& operator=(const Eal&) = delete;

  private:
    explicit Eal(std::string prefix) : prefix_(std::move(prefix)) {}
    std::string prefix_;
};

/// A CPU that this thread may run on.
unsigned a_cpu_of_ours();

}  // namespace pktpit::router
