// SPDX-License-Identifier: BSD-3-Clause
#include "config/read_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "base/regular_file.h"

namespace pktpit::config {
namespace {

constexpr size_t max_bytes = 64U << 20;

}  // namespace

Result<std::string> read_file(const std::string& path) {
    const auto file = open_regular_file(path);
    if (!file) return fail(path, file.error().message, "a readable file");
    return read_file(*file, path);
}

Result<std::string> read_file(const Fd& file, const std::string& path) {
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
        ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(path, errno_text(errno), "a readable file");
        text.append(buffer.data(), static_cast<size_t>(got));
        if (text.size() > max_bytes)
            return fail(path, "larger than 64 MiB", "a configuration",
                        "large tables belong into \"routes_files\"");
    }
}

std::string why_unreadable(const std::string& path) {
    const auto file = open_regular_file(path);
    return file ? "" : file.error().message;
}

}  // namespace pktpit::config
