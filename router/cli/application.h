// SPDX-License-Identifier: BSD-3-Clause
/// The CLI as a function: understands the arguments and runs the command. One call a process; tests call it
/// often.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "router/cli/terminal.h"

namespace CLI {
class App;
}

namespace pktpit::router::cli {

/// `arguments` without the program's name. Returns the exit status.
int run(const std::vector<std::string>& arguments, const Terminal& terminal);

/// Shows the commands and options that run() understands, for what is made of them: man page and completion
/// (router/manual).
void describe(const std::function<void(const CLI::App&)>& shown);

}  // namespace pktpit::router::cli
