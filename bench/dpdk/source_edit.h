// SPDX-License-Identifier: BSD-3-Clause
/// Small edits of foreign source text, each of which must find exactly what it replaces: a harness that
/// patches a program must not silently measure another one. Pure.
#pragma once

#include <string>
#include <vector>

namespace pktpit::bench::dpdk {

struct SourceEdit {
    std::string file;   ///< below the source's folder
    std::string find;   ///< occurs there exactly once
    std::string write;  ///< instead of it
    std::string why;
};

/// Applies those edits of `edits` that are for `file`. Throws Failure if a text is not there, or more than
/// once.
std::string apply_edits(const std::string& file, std::string text, const std::vector<SourceEdit>& edits);

}  // namespace pktpit::bench::dpdk
