// SPDX-License-Identifier: BSD-3-Clause
/// Blank-separated words of a line. Pure, any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace pktpit::fib {

inline constexpr std::string_view blanks = " \t\r\v\f";

/// Takes the next word off `line`; empty when there is none.
inline std::string_view next_word(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

/// A next-hop id as every format writes it: not empty, no blanks, no '#', no control characters.
inline bool is_next_hop_id(std::string_view text) {
    return !text.empty() && std::ranges::none_of(text, [](char c) {
        return c == ' ' || c == '#' || c == '\x7f' || (c >= 0 && c < ' ');
    });
}

}  // namespace pktpit::fib
