// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/instance_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/errno_text.h"
#include "router/dataplane/run_directory.h"

namespace pktpit::router {

// The file goes with a clean stop, so a lock may be one on a file that nobody else finds any more: then
// again.
Result<Fd> lock_instance(const std::string& instance) {
    if (auto made = make_run_directory(); !made) return tl::unexpected(made.error());
    const std::string path = run_path(instance, ".lock");
    while (true) {
        // Whoever can open it, can hold it.
        Fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
        if (!lock || fchmod(lock.get(), 0600) != 0)
            return fail(path, "cannot open the lock file: " + errno_text(errno),
                        "permission to write to /run/pktpit", "run as root");
        if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
            return fail(path, "another pktpitd runs the instance \"" + instance + "\"",
                        "one daemon an instance",
                        "stop it first; a daemon that is to run beside it needs another /instance");
        struct stat locked {
        }, named{};
        if (fstat(lock.get(), &locked) == 0 && stat(path.c_str(), &named) == 0 &&
            locked.st_ino == named.st_ino)
            return lock;
    }
}

}  // namespace pktpit::router
