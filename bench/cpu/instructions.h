// SPDX-License-Identifier: BSD-3-Clause
/// How many instructions a row takes for a packet: the program's own, as it runs, one at a time by ptrace(2).
/// A count that no other load on the machine changes, and that needs neither performance counters nor an
/// emulator, which may lack the vector instructions that the program would choose here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bench/cpu/rows.h"

namespace pktpit::bench::cpu {

struct Instructions {
    uint64_t all = 0;
    uint64_t packets = 0;                     ///< forwarded meanwhile: to within one batch
    std::map<std::string, uint64_t> by_file;  ///< program and shared libraries, by their names
};

/// Of the row's busiest thread, from wherever it is. Wakes the row and lets it rest again. Throws Failure.
Instructions count_instructions(CpuRow& row, uint64_t wanted);

}  // namespace pktpit::bench::cpu
