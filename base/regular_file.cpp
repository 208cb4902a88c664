// SPDX-License-Identifier: BSD-3-Clause
#include "base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/errno_text.h"

namespace pktpit {
namespace {

const char* kind_of(mode_t mode) {
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    return "something else";
}

}  // namespace

Result<Fd> open_regular_file(const std::string& path) {
    // What is no regular file is not even opened for long: O_NONBLOCK, and no terminal becomes ours.
    Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat status {};
    if (!file || ::fstat(file.get(), &status) != 0) return fail(path, errno_text(errno));
    if (S_ISDIR(status.st_mode)) return fail(path, errno_text(EISDIR));
    if (!S_ISREG(status.st_mode))
        return fail(path, std::string("is ") + kind_of(status.st_mode) + ", not a regular file");
    return file;
}

}  // namespace pktpit
