// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/files.h"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "bench/harness/failure.h"

namespace pktpit::bench::report {

std::string results_stem(const std::string& folder, const std::string& benchmark) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw harness::Failure("make the folder " + folder + ": " + error.message());
    hand_to_user(folder);
    const std::time_t time = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
    return folder + "/" + benchmark + "-" + text;
}

void hand_to_user(const std::string& path) {
    const char* user = getenv("SUDO_UID");
    const char* group = getenv("SUDO_GID");
    if (user && group &&
        chown(path.c_str(), static_cast<uid_t>(atoi(user)), static_cast<gid_t>(atoi(group))) != 0)
        return;  // readable all the same
}

}  // namespace pktpit::bench::report
