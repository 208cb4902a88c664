// SPDX-License-Identifier: BSD-3-Clause
/// JSON pointers (RFC 6901) as text. Called by whoever tells somebody where in a document something is wrong.
/// Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pktpit {

/// The pointer to a member of what `base` points to.
inline std::string at(std::string base, std::string_view key) {
    base += '/';
    for (char c : key) {
        if (c == '~')
            base += "~0";
        else if (c == '/')
            base += "~1";
        else
            base += c;
    }
    return base;
}

inline std::string at(std::string base, size_t index) {
    return std::move(base) + '/' + std::to_string(index);
}

/// The pointer's parts, unescaped.
inline std::vector<std::string> tokens(std::string_view pointer) {
    std::vector<std::string> out;
    for (size_t i = 0; i < pointer.size(); i++) {
        if (pointer[i] == '/')
            out.emplace_back();
        else if (pointer[i] == '~' && i + 1 < pointer.size())
            out.back() += pointer[++i] == '0' ? '~' : '/';
        else
            out.back() += pointer[i];
    }
    return out;
}

inline std::string in_quotes(std::string_view text) {
    return '"' + std::string(text) + '"';
}

}  // namespace pktpit
