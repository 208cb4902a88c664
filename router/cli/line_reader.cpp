// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace pktpit::router::cli {
namespace {

constexpr size_t longest_line = 64U << 10;
constexpr size_t block = 256U << 10;

}  // namespace

Result<void> read_lines(int descriptor,
                        const std::function<bool(std::string_view line, size_t number)>& visit,
                        const std::function<void()>& drained) {
    std::vector<char> buffer(block + longest_line);
    size_t kept = 0;  // bytes of an unfinished line at the buffer's start
    size_t number = 0;
    for (;;) {
        const ssize_t got = ::read(descriptor, buffer.data() + kept, block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail("standard input", std::strerror(errno));
        if (got == 0) {
            if (kept > 0) visit({buffer.data(), kept}, number + 1);
            drained();
            return {};
        }
        std::string_view rest(buffer.data(), kept + static_cast<size_t>(got));
        for (size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            if (!visit(rest.substr(0, end), ++number)) return {};
            rest.remove_prefix(end + 1);
        }
        if (rest.size() > longest_line) {
            return fail("standard input:" + std::to_string(number + 1), "line longer than 64 KiB",
                        "one address a line");
        }
        kept = rest.size();
        std::memmove(buffer.data(), rest.data(), kept);
        drained();
    }
}

}  // namespace pktpit::router::cli
