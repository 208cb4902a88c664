// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit check FILE`: everything that can be known about a configuration without running it, its routes
/// files read to the end, for people and as JSON. Called by the CLI and by tests. Any thread; changes
/// nothing.
#pragma once

#include <functional>
#include <string>

#include "config/config.h"

namespace pktpit::router::check {

struct CheckReport {
    std::string text;     ///< for people, ends in a newline
    std::string json;     ///< {"file", "valid", "errors": [{"line", "where", "message", "expected", "hint"}],
                          ///< "warnings": as errors, …}
    int exit_status = 0;  ///< 0: valid, 1: not
};

/// Errors and warnings of the configuration come with the line they are on. Warnings leave it valid. Routes
/// files are only read when the configuration itself is right; of each, up to 20 errors are told.
/// `of_machine`: what there is to warn of on the machine that it is for.
using WarningsOfMachine = std::function<config::Errors(const config::Config&)>;
CheckReport check_file(const std::string& path, const config::InterfaceExists& interface_exists = {},
                       const WarningsOfMachine& of_machine = {});

}  // namespace pktpit::router::check
