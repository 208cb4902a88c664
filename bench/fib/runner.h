// SPDX-License-Identifier: BSD-3-Clause
/// Google Benchmark, told to measure in random order, round by round, and to hand the samples over instead of
/// printing them. Main thread.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/fib/options.h"

namespace pktpit::bench::fib {

/// Once, before anything is registered.
void initialize_google_benchmark(const Options& options);

/// Times are the benchmark's own (manual): thread_seconds() or wall_seconds().
struct Measurement {
    std::string name;
    int64_t iterations = 1;
    std::function<void(benchmark::State&)> run;
};

/// A measurement's counters; "items_per_second" and "seconds" (of one iteration) among them.
using Sample = std::map<std::string, double>;

/// In every round each group in turn, its members once each in random order: what is compared (a group) is
/// measured within a second, so that what disturbs the machine for longer disturbs all of it. Tells on stderr
/// how far it is. By name, one sample a round; a measurement that --benchmark_filter leaves out has no entry.
/// Throws Failure with what a measurement says went wrong.
std::map<std::string, std::vector<Sample>> run_interleaved(
    const std::vector<std::vector<Measurement>>& groups, unsigned rounds);

}  // namespace pktpit::bench::fib
