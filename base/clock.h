// SPDX-License-Identifier: BSD-3-Clause
/// The clock that packets, observations and latencies are stamped with. Any thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace pktpit {

/// CLOCK_MONOTONIC, nanoseconds: what bpf_ktime_get_ns() gives a program at a port, too.
inline uint64_t monotonic_nanoseconds() {
    return static_cast<uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace pktpit
