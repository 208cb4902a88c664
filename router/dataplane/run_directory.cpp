// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_directory.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr const char* run_directory = "/run/pktpit";

}  // namespace

std::string run_path(const std::string& instance, std::string_view suffix) {
    return std::string(run_directory) + "/" + instance + std::string(suffix);
}

Result<void> make_run_directory() {
    if (mkdir(run_directory, 0755) != 0 && errno != EEXIST)
        return fail(run_directory, "cannot make the directory: " + errno_text(errno),
                    "permission to write to /run", "run as root");
    return {};
}

}  // namespace pktpit::router
