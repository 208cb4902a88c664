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

/// The end of a target whose input was refused, by an error or by several: each says what is wrong.
template <class Refusal>
int refused(const Refusal& why, int line = __builtin_LINE()) {
    if constexpr (requires { why.message; }) {
        demand(!why.message.empty(), "a refusal has a reason", {}, line);
    } else {
        demand(!why.empty(), "a refusal has reasons", {}, line);
        for (const auto& error : why)
            refused(error, line);
    }
    return 0;
}

}  // namespace pktpit::fuzz
