// SPDX-License-Identifier: BSD-3-Clause
/// What was typed behind `trace` and `capture`. Plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pktpit::router::cli {

struct ObserveOptions {
    std::string filter;                 ///< empty: none
    std::string port;                   ///< empty: all
    std::vector<std::string> verdicts;  ///< trace's
    std::vector<std::string> points;    ///< capture's
    std::string file;                   ///< capture's; "-": the standard output
    std::optional<unsigned> count, seconds, sample, snaplen;
};

}  // namespace pktpit::router::cli
