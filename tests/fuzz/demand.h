// SPDX-License-Identifier: BSD-3-Clause
/// What must hold of any input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace pktpit::fuzz {

/// Ends the run where something does not hold: prints the caller's line, what should hold and what was
/// `found` instead.
inline void demand(bool holds, const char* what = "", std::string_view found = {},
                   int line = __builtin_LINE()) {
    if (holds) return;
    std::fprintf(stderr, "not so, line %d: %s\n%.*s\n", line, what, static_cast<int>(found.size()),
                 found.data());
    std::abort();
}

}  // namespace pktpit::fuzz
