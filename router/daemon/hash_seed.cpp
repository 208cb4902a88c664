// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/hash_seed.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <random>

#include "base/errno_text.h"
#include "base/fd.h"

namespace pktpit::router {
namespace {

constexpr size_t digits = 16;
constexpr mode_t ours_alone = 0600;

/// Sixteen hexadecimal digits and a newline, in a regular file of ours that nobody else can write. Not a
/// FIFO, which would be waited for.
std::optional<uint64_t> read_seed(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat found {};
    if (!file || fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_uid != geteuid() ||
        (found.st_mode & 0077) != 0)
        return std::nullopt;
    std::array<char, digits + 2> text{};
    if (::read(file.get(), text.data(), text.size()) != digits + 1 || text[digits] != '\n')
        return std::nullopt;
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + digits, value, 16);
    if (error != std::errc() || end != text.data() + digits) return std::nullopt;
    return value;
}

// Written beside and renamed over: there is the whole of it, or nothing.
Result<void> write_seed(const std::string& path, uint64_t value) {
    const std::string incoming = path + ".incoming";
    ::unlink(incoming.c_str());
    const std::string text = fmt::format("{:016x}\n", value);
    const Fd file(::open(incoming.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, ours_alone));
    const bool written =
        file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    if (written && std::rename(incoming.c_str(), path.c_str()) == 0) return {};
    const int error = errno;
    ::unlink(incoming.c_str());
    return fail(path, "the seed of the flow hash cannot be kept: " + errno_text(error),
                "room and permission to write there", "flows may take other paths after the next start");
}

}  // namespace

HashSeed instance_hash_seed(const std::string& path) {
    if (const auto kept = read_seed(path)) return {*kept, std::nullopt};
    std::random_device random;
    HashSeed drawn{uint64_t{random()} << 32 | random(), std::nullopt};
    if (auto written = write_seed(path, drawn.value); !written) drawn.not_kept = written.error();
    return drawn;
}

}  // namespace pktpit::router
