// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_directory.h"

#include <cstdlib>

#include "router/dataplane/private_directory.h"

namespace pktpit::router {
namespace {

/// systemd names the unit's RuntimeDirectory in a variable; of several it is the first.
std::string run_directory() {
    const char* named = std::getenv("RUNTIME_DIRECTORY");
    const std::string directory = named ? named : "";
    return directory.starts_with('/') ? directory.substr(0, directory.find(':')) : "/run/pktpit";
}

}  // namespace

std::string run_path(const std::string& instance, std::string_view suffix) {
    return run_directory() + "/" + instance + std::string(suffix);
}

// Whoever may open the directory may lock it, and whoever may read the files sees what the host was before.
Result<void> make_run_directory() {
    const std::string directory = run_directory();
    if (check_given_directory(directory) && !check_directory(directory)) return {};  // the daemon's user's
    return make_private_directory(directory, 0750);
}

}  // namespace pktpit::router
