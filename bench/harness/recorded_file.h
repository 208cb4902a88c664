// SPDX-License-Identifier: BSD-3-Clause
/// Recorded tables and updates that benchmarks measure with, where somebody has them. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/address.h"

namespace pktpit::bench::harness {

/// The Internet's table of June 2026, by file name.
std::string_view internet_table_file(Family family);

/// The file of this name in `folder`, or, where that is empty, in the folder that PKTPIT_DATA names
/// (fib/tables/data_folder.h). None: who asks generates a table, and tells describe_missing() in its report.
std::optional<std::string> recorded_file(const std::string& folder, std::string_view name);

/// "no FOLDER/NAME", or that PKTPIT_DATA does not lead to it.
std::string describe_missing(const std::string& folder, std::string_view name);

}  // namespace pktpit::bench::harness
