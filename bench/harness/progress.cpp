// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace pktpit::bench::harness {

Progress::Progress(size_t steps)
    : steps_(steps), terminal_(isatty(STDERR_FILENO)), begin_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
    if (terminal_) fmt::print(stderr, "\r\033[K");
}

void Progress::say(const std::string& what) const {
    if (terminal_)
        fmt::print(stderr, "\r\033[K{}", what);
    else
        fmt::print(stderr, "{}\n", what);
}

void Progress::step(const std::string& what) {
    done_++;
    const auto elapsed = std::chrono::steady_clock::now() - begin_;
    const auto left =
        std::chrono::duration_cast<std::chrono::seconds>(elapsed * (steps_ - done_) / done_).count();
    const std::string line =
        fmt::format("[{:3} %, {}:{:02} left] {}", done_ * 100 / steps_, left / 60, left % 60, what);
    if (terminal_)
        fmt::print(stderr, "\r\033[K{}", line);
    else
        fmt::print(stderr, "{}\n", line);
}

}  // namespace pktpit::bench::harness
