// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/unix_listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <utility>

namespace pktpit::router {
namespace {

constexpr mode_t socket_mode = 0660;
constexpr int backlog = 64;
// For another daemon that makes its socket at the same moment; who holds the lock for longer is none.
constexpr std::chrono::milliseconds lock_patience{1000};
constexpr std::chrono::milliseconds lock_interval{10};

struct OwnedFd {
    int value;
    explicit OwnedFd(int fd) : value(fd) {}
    OwnedFd(const OwnedFd&) = delete;
    OwnedFd& operator=(const OwnedFd&) = delete;
    ~OwnedFd() {
        if (value >= 0) ::close(value);
    }
    int release() { return std::exchange(value, -1); }
};

tl::unexpected<Error> system_error(const std::string& where, const std::string& doing, int error,
                                   std::string hint = {}) {
    return fail(where, doing + ": " + std::strerror(error), {}, std::move(hint));
}

/// Nothing in the way, or a dead socket that may go: true if there is one to remove.
Result<bool> probe(const std::string& path, const sockaddr_un& address) {
    struct stat status {};
    if (::lstat(path.c_str(), &status) != 0) {
        if (errno == ENOENT) return false;
        return system_error(path, "cannot look at the API socket's place", errno);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return fail(path, "something other than a socket is in the API socket's place", "a socket or nothing",
                    "remove it, or name another instance");
    }
    const OwnedFd probe_socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (probe_socket.value < 0) return system_error(path, "cannot make a socket", errno);
    if (::connect(probe_socket.value, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
        errno == EAGAIN) {  // EAGAIN: its backlog is full, so there is somebody
        return fail(path, "another daemon listens on this socket", {},
                    "stop it, or give this one another `instance`");
    }
    if (errno != ECONNREFUSED) return system_error(path, "cannot tell whether the socket is in use", errno);
    return true;
}

}  // namespace

Result<UnixListener> UnixListener::open(const std::string& path, std::optional<gid_t> group) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof(address.sun_path)) {
        return fail(path, "path of " + std::to_string(path.size()) + " bytes for the API socket",
                    "1 to " + std::to_string(sizeof(address.sun_path) - 1) + " bytes");
    }
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);

    // The directory's lock makes "nobody listens, so replace it" one step: of two daemons that start at once,
    // the second finds the first listening.
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory.empty()) directory = ".";
    const OwnedFd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.value < 0) return system_error(directory, "cannot open the API socket's directory", errno);
    const auto end = std::chrono::steady_clock::now() + lock_patience;
    while (::flock(lock.value, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return system_error(directory, "cannot lock the API socket's directory", errno);
        if (std::chrono::steady_clock::now() > end)
            return fail(directory, "somebody holds a lock on the API socket's directory",
                        "a directory that only the daemon's user can open",
                        "find out who by `fuser -v " + directory + "`, or put the socket elsewhere");
        std::this_thread::sleep_for(lock_interval);
    }

    const auto stale = probe(path, address);
    if (!stale) return tl::unexpected(stale.error());
    if (*stale && ::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return system_error(path, "cannot remove the socket that a dead daemon left", errno);
    }

    OwnedFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.value < 0) return system_error(path, "cannot make a socket", errno);
    // bind() gives the file the socket's own mode less the umask. So the mode is narrow from the first
    // moment, without touching the umask, which belongs to all threads; chmod() then undoes what the umask
    // took.
    if (::fchmod(socket.value, socket_mode) != 0)
        return system_error(path, "cannot set a socket's mode", errno);
    if (::bind(socket.value, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
        return system_error(path, "cannot bind the API socket", errno);
    }
    if (group && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0) {
        const int error = errno;
        ::unlink(path.c_str());
        return system_error(path, "cannot give the API socket to group " + std::to_string(*group), error,
                            "start as root, or as a user who is in the group");
    }
    struct stat status {};
    if (::chmod(path.c_str(), socket_mode) != 0 || ::lstat(path.c_str(), &status) != 0 ||
        ::listen(socket.value, backlog) != 0) {
        const int error = errno;
        ::unlink(path.c_str());
        return system_error(path, "cannot listen on the API socket", error);
    }
    return UnixListener(socket.release(), path, status.st_dev, status.st_ino);
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      device_(other.device_),
      inode_(other.inode_) {}

UnixListener::~UnixListener() {
    if (descriptor_ < 0) return;
    struct stat status {};
    if (::lstat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_) {
        ::unlink(path_.c_str());
    }
    ::close(descriptor_);
}

}  // namespace pktpit::router
