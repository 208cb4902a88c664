// SPDX-License-Identifier: BSD-3-Clause
/// Recorded tables and updates, where somebody has them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pktpit::fib {

/// The file of this name ("internet-ipv4-2026-06.txt.xz") in the folder that the environment variable
/// PKTPIT_DATA names. None without the variable or the file: who asks makes do with generate_table(), and
/// says so.
std::optional<std::string> data_file(std::string_view name);

}  // namespace pktpit::fib
