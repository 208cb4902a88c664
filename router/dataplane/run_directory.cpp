// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_directory.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

#include "base/errno_text.h"

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

Result<void> make_run_directory() {
    const std::string directory = run_directory();
    if (mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
        return fail(directory, "cannot make the directory: " + errno_text(errno),
                    "permission to write to /run", "run as root");
    return {};
}

}  // namespace pktpit::router
