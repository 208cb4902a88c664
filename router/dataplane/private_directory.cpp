// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/private_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr mode_t permissions = 07777;
constexpr mode_t others_write = S_IWGRP | S_IWOTH;

std::string octal(mode_t mode) {
    char text[16];
    std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & permissions));
    return text;
}

}  // namespace

Result<void> check_directory(const std::string& path, bool shared) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0)
        return fail(path, "cannot look at the directory: " + errno_text(errno), "permission to read it",
                    "run as root");
    if (!S_ISDIR(status.st_mode)) return fail(path, "is no directory", "a directory", "remove it");
    const bool others = (status.st_mode & others_write) != 0;
    if ((status.st_uid == 0 || status.st_uid == geteuid()) &&
        (!others || (shared && (status.st_mode & S_ISVTX) != 0)))
        return {};
    return fail(path,
                "belongs to user " + std::to_string(status.st_uid) + " and has mode " +
                    octal(status.st_mode) + ": what lies in it may be anybody's",
                shared ? "a directory of root's that is sticky, or that nobody else writes to"
                       : "a directory of root's that nobody else writes to",
                shared ? "chmod 0755 " + path : "find out who made it, and remove it: rm -r " + path);
}

Result<void> check_given_directory(const std::string& path) {
    struct stat status {};
    const bool there = lstat(path.c_str(), &status) == 0;
    const bool private_one = S_ISDIR(status.st_mode) && (status.st_mode & others_write) == 0;
    if (!there || !private_one || geteuid() != 0) return check_directory(path);
    return check_directory(path.substr(0, path.find_last_of('/')));
}

Result<void> make_private_directory(const std::string& path, unsigned mode) {
    if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
        return fail(path, "cannot make the directory: " + errno_text(errno), "permission to make it",
                    errno == EPERM || errno == EACCES ? "run as root" : "");
    if (auto checked = check_directory(path); !checked) return checked;
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) return {};
    const mode_t now = status.st_mode & permissions;
    if ((now & ~mode) == 0 || chmod(path.c_str(), now & mode) == 0) return {};
    return fail(path, "its mode " + octal(now) + " cannot be narrowed: " + errno_text(errno), octal(mode));
}

}  // namespace pktpit::router
