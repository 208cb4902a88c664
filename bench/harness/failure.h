// SPDX-License-Identifier: BSD-3-Clause
/// How the harness reports that a measurement cannot be set up: an exception that names the step and errno's
/// text. Everything it built goes away with its owners while the exception passes through.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace pktpit::bench::harness {

class Failure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// `code`: an errno value, of either sign.
[[noreturn]] inline void fail_with(int code, const std::string& what) {
    throw Failure(what + ": " + std::strerror(code < 0 ? -code : code));
}

[[noreturn]] inline void fail_errno(const std::string& what) {
    fail_with(errno, what);
}

}  // namespace pktpit::bench::harness
