// SPDX-License-Identifier: BSD-3-Clause
/// The command line of bench_fib.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/address.h"
#include "bench/fib/workloads.h"
#include "bench/harness/common_options.h"

namespace pktpit::bench::fib {

struct Options : harness::CommonOptions {
    std::vector<Family> families{Family::ipv4, Family::ipv6};
    std::vector<std::string> sections{"lookup", "churn", "load"};
    std::vector<std::string> tables;  ///< route files instead
    size_t routes = 0;                ///< generated: so many; 0: the real table
    uint32_t next_hops = 0;           ///< 0: as in the table
    bool table_set = false;           ///< lookups on every table of the set (bench/fib/table_set.h)
    std::vector<std::string> peers;   ///< empty: all
    std::vector<Traffic> workloads{std::begin(all_traffic), std::end(all_traffic)};
    size_t addresses = 1 << 20;
    size_t buffers = 1 << 14;  ///< 2 MiB of lines touched: more than an L2 cache
    size_t updates = 100'000;
    unsigned rounds = 31;
    unsigned load_rounds = 3;
    double min_seconds = 0.025;
    uint64_t seed = 2544;
    bool hugepages = true;
    bool smoke = false;
    unsigned cpu = 0;
    unsigned reader_cpu = 0;  ///< and the neighbour's
    /// Lookups are measured once beside each: MiB that another core writes to; 0: alone.
    std::vector<size_t> neighbours{0, 128};
    std::vector<std::string> benchmark_flags;  ///< --benchmark_..., for Google Benchmark

    [[nodiscard]] bool wants(const std::string& section) const;
    [[nodiscard]] bool wants_peer(const std::string& name) const;
};

harness::Parsed<Options> parse_options(int argc, char** argv);

}  // namespace pktpit::bench::fib
