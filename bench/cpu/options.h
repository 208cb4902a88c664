// SPDX-License-Identifier: BSD-3-Clause
/// What the command line of bench_cpu asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cpu/rows.h"
#include "bench/harness/common_options.h"

namespace pktpit::bench::cpu {

struct Options : harness::CommonOptions, harness::RoundOptions {
    std::vector<Family> families{Family::ipv4};
    std::vector<std::string> rows;
    std::vector<size_t> routes{16384};
    std::vector<harness::Traffic> traffic{harness::Traffic::uniform};
    CpuSettings settings;
    uint64_t instructions = 0;  ///< to be counted a row, instead of times; 0: times
};

harness::Parsed<Options> parse_options(int argc, char** argv);

}  // namespace pktpit::bench::cpu
