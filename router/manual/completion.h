// SPDX-License-Identifier: BSD-3-Clause
/// Completion of a program's words for shells, made of what it understands. What they complete at run time
/// (interfaces, instances, files) comes from the machine; the daemon is not asked. Build time only.
#pragma once

#include <string>

#include "router/manual/command.h"

namespace pktpit::router::manual {

std::string bash_completion(const Command& program);
std::string zsh_completion(const Command& program);
std::string fish_completion(const Command& program);

}  // namespace pktpit::router::manual
