// SPDX-License-Identifier: BSD-3-Clause
/// What DPDK says goes to the daemon's log, and into the errors of what failed meanwhile. Any thread may make
/// DPDK speak; a flood (a driver that complains of every packet) is cut to a few lines a second.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

/// From here on DPDK writes to the daemon's log. Before rte_eal_init(); again does nothing.
void redirect_eal_log();

/// While it lives, what DPDK says on this thread is kept here. They may be nested; the innermost keeps.
class EalWords {
  public:
    EalWords();
    ~EalWords();
    EalWords(const EalWords&) = delete;
    EalWords& operator=(const EalWords&) = delete;

    /// Warnings and errors, in order, without DPDK's prefixes.
    [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
    /// An error at `where`: what was tried, with the first complaint as its reason and the others as its
    /// hint; without a complaint errno's text for `code` (negative or positive).
    [[nodiscard]] Error error(std::string where, const std::string& tried, int code,
                              std::string expected) const;

  private:
    friend struct EalLogSink;
    EalWords* outer_;
    std::vector<std::string> complaints_;
};

}  // namespace pktpit::router
