// SPDX-License-Identifier: BSD-3-Clause
/// Dataplanes that come as shared objects (router/dataplane/plugin.h): found beside the daemon's program, as
/// in a build, or in lib/pktpit of the prefix that it is installed in. The main thread, at the start.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

struct DataplanePlugin;

/// Whether the dataplane is one.
bool is_plugin(const std::string& dataplane);

/// Of this process's program: where its plugins may lie.
std::vector<std::filesystem::path> plugin_folders();

/// Loaded once and for good; asked for again, it is the same. Errors, at /dataplane: it is not installed
/// (which package has it), it cannot be loaded, it is of another build.
Result<const DataplanePlugin*> load_plugin(const std::string& dataplane,
                                           std::span<const std::filesystem::path> folders);

}  // namespace pktpit::router
