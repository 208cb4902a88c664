// SPDX-License-Identifier: BSD-3-Clause
/// The CLI as a function: understands the arguments and runs the command. One call a process; tests call it
/// often.
#pragma once

#include <string>
#include <vector>

#include "router/cli/terminal.h"

namespace pktpit::router::cli {

/// `arguments` without the program's name. Returns the exit status.
int run(const std::vector<std::string>& arguments, const Terminal& terminal);

}  // namespace pktpit::router::cli
