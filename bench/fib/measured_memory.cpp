// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/measured_memory.h"

#include <fstream>
#include <string>

#include "bench/harness/failure.h"

namespace pktpit::bench::fib {

MeasuredMemory::MeasuredMemory(size_t bytes) {
    auto mapped = HugeMemory::map(bytes);
    if (!mapped) throw harness::Failure(mapped.error().to_string());
    memory_ = std::move(*mapped);
    if (bytes > 0) std::memset(memory_.bytes().data(), 0, bytes);
}

size_t bytes_in_huge_pages() {
    std::ifstream file("/proc/self/smaps_rollup");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("AnonHugePages:")) return std::stoull(line.substr(14)) * 1024;
    return 0;
}

}  // namespace pktpit::bench::fib
