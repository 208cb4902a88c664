// SPDX-License-Identifier: BSD-3-Clause
/// Where the benchmark's threads run. What was raised falls back when the value goes.
#pragma once

#include <memory>

#include "bench/fib/options.h"
#include "bench/harness/device.h"

namespace pktpit::bench::fib {

/// Pins the calling thread. Throws Failure if there is no such CPU.
void pin_to(unsigned cpu);

/// Real-time, so that nothing else on the machine runs on the measurement's core meanwhile; nullptr where
/// that is not permitted, or not worth it.
std::unique_ptr<harness::RealTime> real_time(const Options& options);

}  // namespace pktpit::bench::fib
