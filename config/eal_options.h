// SPDX-License-Identifier: BSD-3-Clause
/// The options of DPDK's EAL (22.11), as far as they can be told apart without EAL: it prints its usage and
/// gives up at an unknown one, and ends the process at --help. Internal to config/. Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace pktpit::config {

/// Every problem of the options in a list at the JSON pointer `where`: unknown, set by Pktpit itself, without
/// its value, with one too many.
void check_eal_options(const std::vector<std::string>& options, const std::string& where, Errors& errors);

}  // namespace pktpit::config
