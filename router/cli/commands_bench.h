// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit bench`: finds the benchmark's program and becomes it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "router/cli/terminal.h"

namespace pktpit::router::cli {

/// Their names and what each does.
std::vector<std::pair<std::string, std::string>> bench_commands();

/// `words`: the benchmark and the user's own options for it. Returns only if its program cannot be run.
int bench(const std::vector<std::string>& words, const Terminal& terminal);

}  // namespace pktpit::router::cli
