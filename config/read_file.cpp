// SPDX-License-Identifier: BSD-3-Clause
#include "config/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace pktpit::config {
namespace {

constexpr size_t max_bytes = 64U << 20;

class Descriptor {
  public:
    // Not blocking: a FIFO that nobody writes to would hang the open.
    explicit Descriptor(const std::string& path)
        : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const { return fd_; }

  private:
    int fd_;
};

std::string fault_of(const Descriptor& file) {
    if (file.get() < 0) return std::strerror(errno);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return std::strerror(errno);
    if (S_ISDIR(status.st_mode)) return std::strerror(EISDIR);
    return "";
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
    Descriptor file(path);
    if (std::string fault = fault_of(file); !fault.empty()) return fail(path, fault, "a readable file");
    std::string text;
    std::array<char, 65536> buffer{};
    while (true) {
        ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(path, std::strerror(errno), "a readable file");
        text.append(buffer.data(), static_cast<size_t>(got));
        if (text.size() > max_bytes)
            return fail(path, "larger than 64 MiB", "a configuration",
                        "large tables belong into \"routes_files\"");
    }
}

std::string why_unreadable(const std::string& path) {
    return fault_of(Descriptor(path));
}

}  // namespace pktpit::config
