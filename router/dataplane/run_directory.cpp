// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/run_directory.h"

#include "router/dataplane/private_directory.h"

namespace pktpit::router {
namespace {

constexpr const char* run_directory = "/run/pktpit";

}  // namespace

std::string run_path(const std::string& instance, std::string_view suffix) {
    return std::string(run_directory) + "/" + instance + std::string(suffix);
}

// Whoever may open the directory may lock it, and whoever may read the files sees what the host was before.
Result<void> make_run_directory() {
    return make_private_directory(run_directory, 0750);
}

}  // namespace pktpit::router
