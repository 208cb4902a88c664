// SPDX-License-Identifier: BSD-3-Clause
/// The machine that figures come from, for the head of a report: figures without it mean nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pktpit::bench::harness {

/// Name and value: processor, kernel, mitigations, load, date and so on.
std::vector<std::pair<std::string, std::string>> describe_machine();

}  // namespace pktpit::bench::harness
