// SPDX-License-Identifier: BSD-3-Clause
#include "base/quoted.h"

namespace pktpit {

std::string quoted(std::string_view text) {
    constexpr size_t longest = 80;
    std::string result = "\"";
    for (char c : text.substr(0, longest))
        result += c < 0x20 || c > 0x7e ? '?' : c;
    return result + (text.size() > longest ? "..." : "") + "\"";
}

}  // namespace pktpit
