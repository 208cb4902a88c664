// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/recorded_file.h"

#include <unistd.h>

#include "fib/tables/data_folder.h"

namespace pktpit::bench::harness {

std::string_view internet_table_file(Family family) {
    return family == Family::ipv4 ? "internet-ipv4-2026-06.txt.xz" : "internet-ipv6-2026-06.txt.xz";
}

std::optional<std::string> recorded_file(const std::string& folder, std::string_view name) {
    if (folder.empty()) return pktpit::fib::data_file(name);
    std::string path = folder + "/" + std::string(name);
    if (access(path.c_str(), R_OK) != 0) return std::nullopt;
    return path;
}

std::string describe_missing(const std::string& folder, std::string_view name) {
    if (folder.empty()) return "no " + std::string(name) + " in a folder that PKTPIT_DATA names";
    return "no " + folder + "/" + std::string(name);
}

}  // namespace pktpit::bench::harness
