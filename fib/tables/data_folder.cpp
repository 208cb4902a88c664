// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/data_folder.h"

#include <cstdlib>
#include <filesystem>

namespace pktpit::fib {

std::optional<std::string> data_file(std::string_view name) {
    const char* folder = std::getenv("PKTPIT_DATA");
    if (!folder || !*folder) return std::nullopt;
    const auto path = std::filesystem::path(folder) / name;
    std::error_code unreadable;
    if (!std::filesystem::exists(path, unreadable)) return std::nullopt;
    return path.string();
}

}  // namespace pktpit::fib
