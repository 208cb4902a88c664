// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/sysctl.h"

#include <fstream>

namespace pktpit::router {

namespace {

constexpr const char* switches = "/proc/sys/net/";

}  // namespace

std::optional<std::string> get_sysctl(const std::string& path) {
    std::string value;
    if (!(std::ifstream(switches + path) >> value)) return std::nullopt;
    return value;
}

std::optional<std::string> set_sysctl(const std::string& path, const std::string& value) {
    auto before = get_sysctl(path);
    if (!before || *before == value) return before;
    std::ofstream out(switches + path);
    out << value << std::flush;
    if (!out) return std::nullopt;
    return before;
}

}  // namespace pktpit::router
