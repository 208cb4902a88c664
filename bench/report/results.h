// SPDX-License-Identifier: BSD-3-Clause
/// The files that a run leaves: BENCHMARK-TIME.txt (the tables), .json, .svg and .png in one folder.
#pragma once

#include <string>

#include "bench/report/report.h"

namespace pktpit::bench::report {

/// Tables to `out`.
void print_report(FILE* out, const Report& report);
/// All files of a run; says on stdout what they are called.
void write_results(const std::string& folder, const Report& report);

}  // namespace pktpit::bench::report
