// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/unix_time.h"

#include <charconv>

namespace pktpit::fib {
namespace {

// Far beyond any calendar, and in microseconds far below 2^64.
constexpr uint64_t most_seconds = uint64_t{1} << 40;

}  // namespace

std::optional<uint64_t> parse_unix_time(std::string_view text) {
    const char* const last = text.data() + text.size();
    uint64_t seconds = 0;
    auto [end, error] = std::from_chars(text.data(), last, seconds);
    if (error != std::errc{} || seconds > most_seconds) return std::nullopt;
    uint64_t fraction = 0;
    if (end != last) {
        const std::string_view digits = text.substr(static_cast<size_t>(end - text.data()) + 1);
        if (*end != '.' || digits.empty() || digits.size() > 6) return std::nullopt;
        const auto parsed = std::from_chars(digits.data(), last, fraction);
        if (parsed.ec != std::errc{} || parsed.ptr != last) return std::nullopt;
        for (size_t i = digits.size(); i < 6; i++)
            fraction *= 10;
    }
    return seconds * 1'000'000 + fraction;
}

std::string unix_time_text(uint64_t microseconds) {
    std::string text = std::to_string(microseconds / 1'000'000);
    const uint64_t fraction = microseconds % 1'000'000;
    if (fraction == 0) return text;
    std::string digits = std::to_string(fraction);
    digits.insert(0, 6 - digits.size(), '0');
    digits.erase(digits.find_last_not_of('0') + 1);
    return text + "." + digits;
}

}  // namespace pktpit::fib
