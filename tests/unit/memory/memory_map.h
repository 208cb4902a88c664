// SPDX-License-Identifier: BSD-3-Clause
/// What this process has mapped where, as the kernel tells it.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

namespace pktpit::offload::test {

/// "rw-s" of the mapping that holds this address; empty: none does.
inline std::string protection_of(const void* address) {
    std::ifstream maps("/proc/self/maps");
    const auto wanted = reinterpret_cast<uintptr_t>(address);
    for (std::string line; std::getline(maps, line);) {
        unsigned long long first = 0, end = 0;
        char protection[5] = "";
        if (std::sscanf(line.c_str(), "%llx-%llx %4s", &first, &end, protection) == 3 && wanted >= first &&
            wanted < end)
            return protection;
    }
    return "";
}

/// Lines that name a file.
inline int mappings_of(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);)
        count += line.find(path) != std::string::npos;
    return count;
}

}  // namespace pktpit::offload::test
