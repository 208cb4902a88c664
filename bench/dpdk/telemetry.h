// SPDX-License-Identifier: BSD-3-Clause
/// Counters of a DPDK program, asked for through its telemetry socket. The program needs no change for it.
#pragma once

#include <cstdint>
#include <string>

#include "bench/harness/descriptor.h"

namespace pktpit::bench::dpdk {

struct PortCounters {
    uint64_t received = 0;
    uint64_t sent = 0;
};

class Telemetry {
  public:
    /// `prefix`: the program's --file-prefix. It must be ready. Throws Failure.
    explicit Telemetry(const std::string& prefix);
    PortCounters port(unsigned number);

  private:
    harness::Descriptor socket_;
};

}  // namespace pktpit::bench::dpdk
