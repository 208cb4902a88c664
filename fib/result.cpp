#include "fib/result.h"

#include "fib/quoted.h"

namespace pktpit {

std::string Error::to_string() const {
    std::string text;
    if (!where.empty()) text = where + ": ";
    text += message;
    if (expected.empty() && hint.empty()) return text;
    text += " (";
    if (!expected.empty()) text += "expected " + expected;
    if (!expected.empty() && !hint.empty()) text += "; ";
    return text + hint + ")";
}

std::string quoted(std::string_view text) {
    constexpr size_t longest = 80;
    std::string result = "\"";
    for (char c : text.substr(0, longest))
        result += c < 0x20 || c > 0x7e ? '?' : c;
    return result + (text.size() > longest ? "..." : "") + "\"";
}

}  // namespace pktpit
