// SPDX-License-Identifier: BSD-3-Clause
/// Where the files of a run go.
#pragma once

#include <string>

namespace pktpit::bench::report {

/// FOLDER/BENCHMARK-TIME, with the folder made. Throws Failure if it cannot be.
std::string results_stem(const std::string& folder, const std::string& benchmark);
/// With sudo the files are the user's, not root's.
void hand_to_user(const std::string& path);

}  // namespace pktpit::bench::report
