// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/sysctl.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/fd.h"

namespace pktpit::router {
namespace {

std::string path_of(const std::string& path) {
    return "/proc/sys/net/" + path;
}

}  // namespace

std::optional<std::string> get_sysctl(const std::string& path) {
    Fd file(::open(path_of(path).c_str(), O_RDONLY | O_CLOEXEC));
    // Whoever takes a switch for one that is not there leaves it as it is: once more, should memory have been
    // short.
    if (!file && errno != ENOENT) file = Fd(::open(path_of(path).c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 256> text{};
    const ssize_t got = file ? ::read(file.get(), text.data(), text.size()) : -1;
    if (got <= 0) return std::nullopt;
    const std::string value(text.data(), static_cast<size_t>(got));
    return value.substr(0, value.find_first_of(" \t\n"));
}

Result<void> put_sysctl(const std::string& path, const std::string& value) {
    if (get_sysctl(path) == value) return {};
    const Fd file(::open(path_of(path).c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return {};
    if (file && ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size()))
        return {};
    return fail("net/" + path, "cannot be set to " + value + ": " + errno_text(errno),
                "a writable /proc/sys");
}

std::optional<std::string> set_sysctl(const std::string& path, const std::string& value) {
    auto before = get_sysctl(path);
    if (!before || put_sysctl(path, value)) return before;
    return std::nullopt;
}

}  // namespace pktpit::router
