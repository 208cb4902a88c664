// SPDX-License-Identifier: BSD-3-Clause
/// How the NIC drivers let time pass while a chip resets or comes to rest. Called by the control plane only,
/// never on the packet path; tests put in one that does not wait.
#pragma once

#include <chrono>

namespace pktpit::offload {

class Delay {
  public:
    virtual ~Delay() = default;
    virtual void wait(std::chrono::microseconds time) = 0;
};

/// Sleeps.
Delay& real_delay();

}  // namespace pktpit::offload
