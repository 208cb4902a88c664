// SPDX-License-Identifier: BSD-3-Clause
#include "config/guard.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace pktpit::config {
namespace {

struct Unit {
    std::string_view name;
    uint64_t bits;
};
// Largest first.
constexpr std::array units{Unit{"Gbit/s", 1'000'000'000}, Unit{"Mbit/s", 1'000'000}, Unit{"kbit/s", 1'000},
                           Unit{"bit/s", 1}};

}  // namespace

std::optional<uint64_t> parse_rate(std::string_view text) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
    std::string_view name = text.substr(static_cast<size_t>(end - text.data()));
    if (name.starts_with(' ')) name.remove_prefix(1);
    const auto unit = std::ranges::find(units, name, &Unit::name);
    if (unit == units.end()) return std::nullopt;
    const double bits = number * static_cast<double>(unit->bits);
    if (bits < static_cast<double>(least_rate) || bits > static_cast<double>(most_rate)) return std::nullopt;
    return static_cast<uint64_t>(std::llround(bits));
}

std::string rate_text(uint64_t bits_per_second) {
    for (const auto& [name, bits] : units) {
        // As it can be read again: three digits behind the point, or a smaller unit.
        if (bits_per_second < bits || bits_per_second * 1000 % bits != 0) continue;
        std::string fraction = std::to_string(1000 + bits_per_second % bits * 1000 / bits).substr(1);
        fraction.erase(fraction.find_last_not_of('0') + 1);
        return std::to_string(bits_per_second / bits) + (fraction.empty() ? "" : "." + fraction) + " " +
               std::string(name);
    }
    return std::to_string(bits_per_second) + " bit/s";
}

uint64_t default_burst(uint64_t bits_per_second) {
    constexpr uint64_t least = 32768;
    return std::clamp(bits_per_second / 8 / 20, least, most_burst);
}

}  // namespace pktpit::config
